//! Secret references in settings: their lookup, and the references of earlier versions.
//!
//! Earlier versions accepted any path and any variable. Such references work for one more start of each node, so that an
//! upgrade stops no delivery; the node logs their replacements.

use std::collections::HashSet;

use jiff::{SignedDuration, Timestamp};
use punctual_boxed::boxed;
use punctual_model::{Secret, SecretReference};
use punctual_store::{Lane, StoreError, channels::ChannelRow, facts};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::{
    Engine,
    channels::{CONSUMERS, Channels, SUBSCRIBERS, Written, defined, written},
};

/// The fact that says when references of an earlier version were resolved, and on which nodes.
const FACT: &str = "old-secret-references";
/// How long after the first node the others may have their one start: an upgrade starts them one after the other.
const OTHER_NODES_WITHIN: SignedDuration = SignedDuration::from_hours(1);

/// The refusal of a file where there is no directory for them.
pub const NO_SECRETS_DIR: &str =
    "This server has no directory for secrets; start it with `--secrets-dir DIR`, or use `env:NAME`.";

/// Looks up secrets that settings refer to. The binary has the one that ships.
pub trait SecretSource: Send + Sync {
    /// The error text for references that cannot be used on this node.
    fn refusal(&self, reference: &SecretReference) -> Option<String>;

    /// The secret, if it is there.
    fn look_up(&self, reference: &SecretReference) -> Option<Secret>;

    /// What a text meant as a reference meant in an earlier version. It applies only to what was stored then.
    fn look_up_old(&self, _text: &str) -> Option<Secret> {
        None
    }
}

/// A stored reference that does not work any more, or not after this run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OldReference {
    /// `channel email:default` or `subscriber webhook:bi`.
    pub owner: String,
    pub field: String,
    pub stored: String,
    /// What to do instead, as a sentence without its full stop.
    pub instead: String,
}

/// What was found at start.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OldReferences {
    pub found: Vec<OldReference>,
    /// They are resolved the old way until this process ends.
    pub work_in_this_run: bool,
}

/// Which nodes have had their start with old references.
#[derive(Serialize, Deserialize)]
struct Starts {
    first_at: Timestamp,
    nodes: Vec<String>,
}

impl Engine {
    /// At start: finds references of an earlier version and lets them work if `node` has not started with them before.
    /// A definition that is saved from now on is no longer among them, whatever it refers to.
    #[boxed]
    pub async fn adopt_references(&self, now: Timestamp, node: &str) -> Result<OldReferences, StoreError> {
        let mut tx = self.store.begin(Lane::Intake).await?;
        let rows = defined(&mut tx.conn()).await?;
        let mut old = OldReferences::default();
        let mut allowed: HashSet<(String, Written)> = HashSet::new();
        for row in &rows {
            let found = self.channels.old_references(row);
            if !found.is_empty() {
                allowed.insert((row.key.clone(), written(row)));
            }
            old.found.extend(found);
        }
        let before = facts::get(&mut tx.conn(), FACT).await?;
        let before = before.as_deref().map(serde_json::from_str::<Starts>);
        let starts = match before {
            None => Some(Starts { first_at: now, nodes: vec![node.to_owned()] }),
            Some(Ok(mut starts))
                if !starts.nodes.iter().any(|one| one == node)
                    && now.duration_since(starts.first_at) < OTHER_NODES_WITHIN =>
            {
                starts.nodes.push(node.to_owned());
                Some(starts)
            }
            Some(_) => None,
        };
        old.work_in_this_run = starts.is_some();
        if let Some(starts) = starts {
            let starts = serde_json::to_string(&starts).unwrap_or_default();
            facts::put(&mut tx.conn(), now, FACT, &starts).await?;
            self.channels.allow_old_references(allowed);
        }
        tx.commit().await?;
        Ok(old)
    }
}

impl Channels {
    /// The references of a definition that only an earlier version resolved.
    fn old_references(&self, row: &ChannelRow) -> Vec<OldReference> {
        let Some(adapter) = self.adapter(&row.adapter) else { return Vec::new() };
        let settings: Map<String, Value> = serde_json::from_str(&row.settings).unwrap_or_default();
        let is_old = |text: &str| match SecretReference::parse(text) {
            None => false,
            Some(Err(_)) => true,
            Some(Ok(reference)) => self.look_up(&reference).is_none() && self.look_up_old(text).is_some(),
        };
        let fields = adapter.secret_fields().into_iter();
        fields
            .filter_map(|field| Some((field, settings.get(field)?.as_str()?)))
            .filter(|(_, text)| is_old(text))
            .map(|(field, text)| OldReference {
                owner: match (row.key.strip_prefix(SUBSCRIBERS), row.key.strip_prefix(CONSUMERS)) {
                    (Some(subscriber), _) => format!("subscriber {subscriber}"),
                    (_, Some(consumer)) => format!("consumer {consumer}"),
                    _ => format!("channel {}", row.key),
                },
                field: field.to_owned(),
                stored: text.to_owned(),
                instead: instead(text),
            })
            .collect()
    }
}

/// What to do about a reference of an earlier version.
fn instead(old: &str) -> String {
    let Some(new) = SecretReference::instead_of(old) else {
        return "write `file:NAME` or `env:NAME`".to_owned();
    };
    let place = match (new.file_name(), new.variable()) {
        (Some(name), _) => format!("put the file into the directory of --secrets-dir as `{name}`"),
        (None, variable) => format!("set the variable {}", variable.unwrap_or_default()),
    };
    let new = new.to_string();
    if new == old { format!("{place} and keep `{new}`") } else { format!("{place} and write `{new}`") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_old_reference_is_named_with_what_to_do_instead() {
        for (old, expected) in [
            (
                "file:/run/secrets/smtp",
                "put the file into the directory of --secrets-dir as `smtp` and write `file:smtp`",
            ),
            (
                "env:SMTP_PASSWORD",
                "set the variable PUNCTUAL_SECRET_SMTP_PASSWORD and keep `env:SMTP_PASSWORD`",
            ),
            ("env:A-B", "set the variable PUNCTUAL_SECRET_A_B and write `env:A_B`"),
            ("file:/", "write `file:NAME` or `env:NAME`"),
        ] {
            assert_eq!(instead(old), expected);
        }
    }
}
