//! The databases and endpoints that reports may read from, by name.
//!
//! ```toml
//! [reports.connections.warehouse]
//! url = "env:WAREHOUSE_URL"            # postgres://… or sqlite:FILE, or a variable that holds it
//! business_units = ["emea"]            # optional: only reports of these may use it
//!
//! [reports.connections.bi]
//! url = "https://bi.example.org/api/"  # for endpoints below this address …
//! bearer = "env:BI_TOKEN"              # … this is sent along
//! ```
//!
//! `PUNCTUAL_REPORTS_CONNECTION_WAREHOUSE=postgres://…` is a connection `warehouse`, and wins over the file.

use std::{collections::BTreeMap, ffi::OsString};

use anyhow::{Context, Result, anyhow, bail, ensure};
use punctual_model::Secret;
use punctual_reports::{Connection, Connections};
use serde::Deserialize;

const VARIABLE: &str = "PUNCTUAL_REPORTS_CONNECTION_";

/// The section `[reports]` of the file.
#[derive(Deserialize, Default)]
#[serde(deny_unknown_fields)]
pub(super) struct ReportsFile {
    #[serde(default)]
    connections: BTreeMap<String, ConnectionFile>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ConnectionFile {
    url: String,
    bearer: Option<String>,
    business_units: Option<Vec<String>>,
}

/// What the file says and the process was given.
pub(super) fn read(file: Option<ReportsFile>) -> Result<Connections> {
    let readable =
        |(name, value): (OsString, OsString)| Some((name.into_string().ok()?, value.into_string().ok()?));
    joined(file, std::env::vars_os().filter_map(readable))
}

/// File and variables together. No fault shows an address: it may have a password in it.
fn joined(
    file: Option<ReportsFile>,
    variables: impl Iterator<Item = (String, String)>,
) -> Result<Connections> {
    let variables: BTreeMap<String, String> = variables.collect();
    let mut wanted = file.unwrap_or_default().connections;
    for (name, url) in &variables {
        let Some(name) = name.strip_prefix(VARIABLE).filter(|_| !url.is_empty()) else { continue };
        let name = name.to_ascii_lowercase().replace('_', "-");
        let limits = wanted.remove(&name);
        let business_units = limits.and_then(|limits| limits.business_units);
        wanted.insert(name, ConnectionFile { url: url.clone(), bearer: None, business_units });
    }
    let mut connections = Connections::default();
    for (name, one) in wanted {
        let section = || format!("[reports.connections.{name}]");
        let is_name = |name: &str| {
            (1..=64).contains(&name.len())
                && name.bytes().all(|b| b.is_ascii_alphanumeric() || b"-_".contains(&b))
        };
        ensure!(is_name(&name), "{}: a name has letters, digits, - and _", section());
        let connection = Connection {
            url: resolved(&one.url, &variables).with_context(section)?,
            bearer: one.bearer.map(|text| resolved(&text, &variables)).transpose().with_context(section)?,
            business_units: one.business_units,
        };
        connections =
            connections.with(&name, connection).map_err(|fault| anyhow!("{}: {fault}", section()))?;
    }
    Ok(connections)
}

/// The text itself, or what the variable holds that `env:NAME` names.
fn resolved(text: &str, variables: &BTreeMap<String, String>) -> Result<Secret> {
    let Some(name) = text.strip_prefix("env:") else { return Ok(Secret::new(text)) };
    match variables.get(name) {
        Some(value) if !value.is_empty() => Ok(Secret::new(value.as_str())),
        _ => bail!("the variable {name} is not set"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read_toml(text: &str, variables: &[(&str, &str)]) -> Result<Connections> {
        let variables = variables.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        joined(Some(toml::from_str(text)?), variables)
    }

    #[test]
    fn connections_come_from_the_file_and_from_variables() {
        let text = "[connections.warehouse]\nurl = \"env:WAREHOUSE\"\nbusiness_units = [\"emea\"]\n[connections.bi]\nurl = \"https://bi.example.org/\"\nbearer = \"env:TOKEN\"";
        let variables = [
            ("WAREHOUSE", "postgres://u:pw@h/d"),
            ("TOKEN", "t"),
            ("PUNCTUAL_REPORTS_CONNECTION_LOCAL_COPY", "sqlite:a.db"),
        ];
        let connections = read_toml(text, &variables).unwrap();
        assert!(connections.database("warehouse", Some("emea")).is_ok());
        assert_eq!(connections.database("warehouse", None).unwrap_err().code, "connection_forbidden");
        assert!(connections.database("local-copy", None).is_ok());
        assert_eq!(connections.database("bi", None).unwrap_err().code, "connection_unknown");
    }

    #[test]
    fn a_bad_connection_is_named_and_its_password_is_not() {
        let fault = |text: &str| format!("{:#}", read_toml(text, &[]).unwrap_err());
        let missing = fault("[connections.w]\nurl = \"env:NOWHERE\"");
        assert!(
            missing.contains("[reports.connections.w]") && missing.contains("NOWHERE is not set"),
            "{missing}"
        );
        let wrong = fault("[connections.w]\nurl = \"mysql://u:secret@h/d\"");
        assert!(wrong.contains("postgres://") && !wrong.contains("secret"), "{wrong}");
        assert!(fault("[connections.\"a b\"]\nurl = \"sqlite:a\"").contains("a name has"));
    }
}
