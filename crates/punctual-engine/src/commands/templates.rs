//! Templates: subjects and bodies with variables, one variant per locale, checked before they are stored.

use jiff::Timestamp;
use std::collections::BTreeMap;

use punctual_boxed::boxed;
use punctual_model::{AuditAction, Fault};
use punctual_store::{
    Lane, Tx,
    templates::{self, TemplateRow},
};
use punctual_templates::{Variant, compile_check};
use serde_json::{Value, json};

use super::{Actor, CommandError, Seen};
use crate::Engine;

/// A template as somebody wants it.
#[derive(Clone, Debug)]
pub struct NewTemplate {
    pub name: String,
    pub default_locale: String,
    pub variants: BTreeMap<String, Variant>,
}

impl Engine {
    /// Makes a template, or puts another version in its place.
    #[boxed]
    pub async fn save_template(&self, by: &Actor, new: NewTemplate) -> Result<TemplateRow, CommandError> {
        self.replace_template(by, Seen::Anything, new).await
    }

    /// The same, for somebody who has seen what they replace.
    #[boxed]
    pub async fn replace_template(
        &self,
        by: &Actor,
        seen: Seen,
        new: NewTemplate,
    ) -> Result<TemplateRow, CommandError> {
        let mut tx = self.store.begin(Lane::Intake).await?;
        let stored = self.save_template_in(&mut tx, by, seen, new).await?;
        tx.commit().await?;
        Ok(stored)
    }

    /// The same in a transaction of the caller's.
    #[boxed]
    pub async fn save_template_in(
        &self,
        tx: &mut Tx,
        by: &Actor,
        seen: Seen,
        new: NewTemplate,
    ) -> Result<TemplateRow, CommandError> {
        let faults = syntax_faults(&new.variants);
        if !faults.is_empty() {
            return Err(CommandError::Invalid(faults));
        }
        let now = self.clock.now();
        let row = TemplateRow {
            variants: as_stored(&new.variants),
            name: new.name,
            default_locale: new.default_locale,
            version: 0,
            updated_at: Timestamp::UNIX_EPOCH,
        };
        let before = templates::by_names(&mut tx.conn(), vec![row.name.clone()]).await?.pop();
        seen.check(before.map(|before| before.version), &row.name)?;
        templates::put(&mut tx.conn(), now, &row).await?;
        by.audit(tx, now, AuditAction::Put, "template", &row.name, None).await?;
        let stored = templates::by_names(&mut tx.conn(), vec![row.name.clone()]).await?.pop().unwrap_or(row);
        seen.check_written(stored.version)?;
        Ok(stored)
    }

    #[boxed]
    pub async fn delete_template(&self, by: &Actor, name: &str) -> Result<(), CommandError> {
        let mut tx = self.store.begin(Lane::Intake).await?;
        self.delete_template_in(&mut tx, by, name).await?;
        Ok(tx.commit().await?)
    }

    #[boxed]
    pub async fn delete_template_in(&self, tx: &mut Tx, by: &Actor, name: &str) -> Result<(), CommandError> {
        if !templates::delete(&mut tx.conn(), name).await? {
            return Err(CommandError::not_found("template", name));
        }
        Ok(by.audit(tx, self.clock.now(), AuditAction::Delete, "template", name, None).await?)
    }
}

fn as_stored(variants: &BTreeMap<String, Variant>) -> String {
    let shaped = variants.iter().map(|(locale, variant)| {
        let mut texts = json!({ "subject": variant.subject, "body": variant.body });
        if let Some(html) = &variant.html {
            texts["html"] = html.as_str().into();
        }
        (locale.clone(), texts)
    });
    Value::Object(shaped.collect()).to_string()
}

fn syntax_faults(variants: &BTreeMap<String, Variant>) -> Vec<Fault> {
    let mut faults = Vec::new();
    for (locale, variant) in variants {
        let texts = [
            ("subject", Some(&variant.subject)),
            ("body", Some(&variant.body)),
            ("html", variant.html.as_ref()),
        ];
        for (field, text) in texts {
            if let Some(fault) = text.and_then(|text| compile_check(text).err()) {
                let detail = format!("Line {}, column {}: {}.", fault.line, fault.column, fault.detail);
                faults.push(Fault::new(format!("/variants/{locale}/{field}"), "template_syntax", detail));
            }
        }
    }
    faults
}
