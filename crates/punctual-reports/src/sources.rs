//! Where the rows of a report come from: a configured database, an HTTP endpoint, or Punctual's own data.
//!
//! A definition names a connection; its address and password are in the server's configuration, and neither leaves
//! it: they are in no answer, no fault and no log.

mod http;

use std::{collections::BTreeMap, sync::Arc};

use futures_util::future::BoxFuture;
use jiff::{Timestamp, tz::TimeZone};
use punctual_channels::{AllowList, Guard, Trust};
use punctual_model::{
    Fault, ReasonCode, Secret, SettingsFault, nearest,
    table::{Cell, Table},
};
use punctual_store::{
    Store,
    foreign::{ForeignDatabase, ForeignFault, ForeignQuery},
};
use serde_json::Value;

use crate::definition::{Definition, PARAMETERS, SourceKind};
use http::Http;

/// For whom and for when a report is made.
#[derive(Clone, Debug)]
pub struct Asked {
    pub period_start: Timestamp,
    pub period_end: Timestamp,
    pub business_unit: Option<String>,
    pub zone: TimeZone,
    pub locale: String,
}

/// Why there is no table.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{detail}")]
pub struct FetchFault {
    /// The same again later may work.
    pub may_pass: bool,
    pub code: &'static str,
    pub detail: String,
}

impl FetchFault {
    pub fn lasting(code: &'static str, detail: impl Into<String>) -> Self {
        Self { may_pass: false, code, detail: detail.into() }
    }

    pub fn passing(code: &'static str, detail: impl Into<String>) -> Self {
        Self { may_pass: true, code, detail: detail.into() }
    }

    /// The reason of a run that ends with this fault. What the fault is about is in its detail.
    pub fn reason(&self) -> ReasonCode {
        match self.code {
            "answer_invalid" => ReasonCode::AnswerInvalid,
            "answer_too_large" => ReasonCode::AnswerTooLarge,
            "builtin_unknown" => ReasonCode::BuiltinUnknown,
            "connection_forbidden" => ReasonCode::ConnectionForbidden,
            "connection_unknown" => ReasonCode::ConnectionUnknown,
            "database_unreachable" => ReasonCode::DatabaseUnreachable,
            "endpoint_failed" => ReasonCode::EndpointFailed,
            "endpoint_refused" => ReasonCode::EndpointRefused,
            "endpoint_unreachable" => ReasonCode::EndpointUnreachable,
            "query_failed" => ReasonCode::QueryFailed,
            "query_not_read_only" => ReasonCode::QueryNotReadOnly,
            "query_parameter" => ReasonCode::QueryParameter,
            "query_timeout" => ReasonCode::QueryTimeout,
            "report_unpresentable" => ReasonCode::ReportUnpresentable,
            "settings_invalid" => ReasonCode::SettingsInvalid,
            "url_forbidden" => ReasonCode::UrlForbidden,
            "url_host" | "url_invalid" | "url_port" | "url_scheme" | "url_userinfo" => ReasonCode::UrlInvalid,
            _ => ReasonCode::SourceUnavailable,
        }
    }
}

impl From<ForeignFault> for FetchFault {
    fn from(fault: ForeignFault) -> Self {
        Self { may_pass: fault.may_pass, code: fault.code, detail: fault.detail }
    }
}

/// A report over Punctual's own data.
pub trait Builtin: Send + Sync {
    /// What a definition calls it, such as `delivery-kpis`.
    fn key(&self) -> &'static str;

    /// What is wrong with what else the source of the definition holds, by pointers from the source; asked when a
    /// report is saved.
    fn check(&self, _settings: &Value) -> Vec<Fault> {
        Vec::new()
    }

    /// `settings` is what else the source of the definition holds.
    fn fetch<'a>(
        &'a self,
        own: &'a Store,
        asked: &'a Asked,
        settings: &'a Value,
    ) -> BoxFuture<'a, Result<Table, FetchFault>>;
}

/// One configured connection.
#[derive(Clone, Debug)]
pub struct Connection {
    /// `postgres://…`, `sqlite:FILE`, or the beginning of the URLs that `bearer` is for.
    pub url: Secret,
    /// Sent to endpoints below an https URL.
    pub bearer: Option<Secret>,
    /// Only reports of these business units may use it; none is for all.
    pub business_units: Option<Vec<String>>,
}

/// The configured connections, by name.
#[derive(Clone, Debug, Default)]
pub struct Connections(BTreeMap<String, Opened>);

#[derive(Clone, Debug)]
struct Opened {
    to: Target,
    business_units: Option<Vec<String>>,
}

#[derive(Clone, Debug)]
enum Target {
    Database(ForeignDatabase),
    Http { prefix: String, bearer: Option<Secret> },
}

impl Connections {
    /// Adds a connection; nothing is opened. A fault says what is wrong with it, without its address.
    pub fn with(mut self, name: &str, connection: Connection) -> Result<Self, String> {
        let url = connection.url.expose();
        let to = if url.starts_with("https://") || url.starts_with("http://") {
            // A credential that is for a host must not go to one whose name begins alike.
            let path = url.split_once("://").and_then(|(_, rest)| rest.split_once('/'));
            if path.is_none() {
                return Err("an https address of a connection ends in a path, if only `/`".to_owned());
            }
            Target::Http { prefix: url.to_owned(), bearer: connection.bearer }
        } else {
            if connection.bearer.is_some() {
                return Err("`bearer` is for connections over https".to_owned());
            }
            Target::Database(ForeignDatabase::parse(&connection.url).map_err(|fault| fault.detail)?)
        };
        self.0.insert(name.to_owned(), Opened { to, business_units: connection.business_units });
        Ok(self)
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The connection names that the author of a report may use, by the author's business units.
    pub fn names(&self, units: Option<&[String]>) -> Vec<&str> {
        let may_use = |opened: &Opened| match units {
            None => true,
            Some(units) => units
                .iter()
                .any(|unit| Author { business_unit: Some(unit), is_limited: true }.may_use(opened)),
        };
        self.0.iter().filter(|(_, opened)| may_use(opened)).map(|(name, _)| name.as_str()).collect()
    }

    /// What is wrong with a connection of this name in a report that somebody writes. One that is not for them is as unknown as
    /// one that nobody has.
    fn fault_of(&self, name: &str, author: Author<'_>) -> Option<String> {
        match self.0.get(name) {
            Some(opened) if author.may_use(opened) || !author.is_limited => {
                self.database(name, author.business_unit).err().map(|fault| fault.detail)
            }
            _ => {
                let known = |(_, opened): &(&String, &Opened)| {
                    matches!(opened.to, Target::Database(_)) && author.may_use(opened)
                };
                let names = self.0.iter().filter(known).map(|(name, _)| name.as_str());
                Some(unknown(name, &names.collect::<Vec<_>>()))
            }
        }
    }

    /// Whether a request to this address would carry a credential that the author of the report may not use.
    fn is_beyond(&self, url: &str, author: Author<'_>) -> bool {
        let sends = |opened: &Opened| match &opened.to {
            Target::Http { prefix, bearer } => bearer.is_some() && url.starts_with(prefix.as_str()),
            Target::Database(_) => false,
        };
        let mut fitting = self.0.values().filter(|opened| sends(opened));
        author.is_limited
            && fitting.any(|opened| {
                allows(opened.business_units.as_deref(), author.business_unit) && !author.may_use(opened)
            })
    }

    /// The database with this name, for other readers. An error says what is configured instead.
    pub fn database(&self, name: &str, business_unit: Option<&str>) -> Result<&ForeignDatabase, FetchFault> {
        let databases = || self.0.iter().filter(|(_, opened)| matches!(opened.to, Target::Database(_)));
        let Some(Opened { to: Target::Database(database), business_units }) = self.0.get(name) else {
            let names: Vec<&str> = databases().map(|(name, _)| name.as_str()).collect();
            return Err(FetchFault::lasting("connection_unknown", unknown(name, &names)));
        };
        if !allows(business_units.as_deref(), business_unit) {
            let detail = format!("the connection `{name}` is not for this business unit");
            return Err(FetchFault::lasting("connection_forbidden", detail));
        }
        Ok(database)
    }

    /// The credential for a URL, where one is configured for where it leads.
    fn bearer(&self, url: &str, business_unit: Option<&str>) -> Option<&Secret> {
        let fitting = self.0.values().filter_map(|opened| match &opened.to {
            Target::Http { prefix, bearer } if allows(opened.business_units.as_deref(), business_unit) => {
                Some((prefix, bearer.as_ref()?))
            }
            _ => None,
        });
        let longest = fitting.filter(|(prefix, _)| url.starts_with(prefix.as_str()));
        longest.max_by_key(|(prefix, _)| prefix.len()).map(|(_, bearer)| bearer)
    }
}

/// The author of a report, and its business unit.
#[derive(Clone, Copy, Debug)]
pub struct Author<'a> {
    pub business_unit: Option<&'a str>,
    /// They are limited to some units. A connection that is for all reaches over all, and is then not for them.
    pub is_limited: bool,
}

impl Author<'_> {
    fn may_use(self, opened: &Opened) -> bool {
        match &opened.business_units {
            None => !self.is_limited,
            units => allows(units.as_deref(), self.business_unit),
        }
    }
}

/// That there is no such connection, with those that there are.
fn unknown(name: &str, known: &[&str]) -> String {
    let known = match known {
        [] => "none is configured on this server".to_owned(),
        names => nearest::suggestion(name, names),
    };
    format!("there is no database connection `{}`; {known}", punctual_model::fault::shown(name))
}

fn allows(units: Option<&[String]>, business_unit: Option<&str>) -> bool {
    units.is_none_or(|units| business_unit.is_some_and(|unit| units.iter().any(|one| one == unit)))
}

/// Everything that tables can be fetched from.
pub struct Sources {
    connections: Connections,
    http: Option<Http>,
    builtins: BTreeMap<&'static str, Arc<dyn Builtin>>,
}

impl Default for Sources {
    /// No connections, no built-in reports, and nothing internal can be reached.
    fn default() -> Self {
        let http = Http::open(&Guard::new(AllowList::default()), &Trust::platform()).ok();
        Self { connections: Connections::default(), http, builtins: BTreeMap::new() }
    }
}

impl Sources {
    pub fn new(guard: &Guard, trust: &Trust, connections: Connections) -> Result<Self, SettingsFault> {
        Ok(Self { connections, http: Some(Http::open(guard, trust)?), builtins: BTreeMap::new() })
    }

    #[must_use]
    pub fn with_builtin(mut self, builtin: Arc<dyn Builtin>) -> Self {
        self.builtins.insert(builtin.key(), builtin);
        self
    }

    pub fn connections(&self) -> &Connections {
        &self.connections
    }

    /// The keys of the built-in reports, in order.
    pub fn builtins(&self) -> Vec<&'static str> {
        self.builtins.keys().copied().collect()
    }

    /// What can be known to be wrong before anything is fetched: names that nobody has, addresses that are refused.
    pub fn check(&self, definition: &Definition, author: Author<'_>) -> Vec<Fault> {
        let fault = |pointer: &str, code, detail: String| vec![Fault::new(pointer, code, detail)];
        match &definition.source {
            SourceKind::Builtin { key, settings } => {
                if let Some(builtin) = self.builtins.get(key.as_str()) {
                    let found = builtin.check(settings).into_iter();
                    return found
                        .map(|fault| Fault { pointer: format!("/source{}", fault.pointer), ..fault })
                        .collect();
                }
                let detail = format!(
                    "`{}` is no built-in report; {}",
                    punctual_model::fault::shown(key),
                    nearest::suggestion(key, &self.builtins())
                );
                fault("/source/builtin", "out_of_range", detail)
            }
            SourceKind::Sql { connection, .. } => match self.connections.fault_of(connection, author) {
                None => Vec::new(),
                Some(detail) => fault("/source/sql/connection", "out_of_range", detail),
            },
            SourceKind::Http { url, .. } if self.connections.is_beyond(url, author) => {
                let detail = "a credential of the installation goes along to this address; somebody who is not limited to \
                              business units has to save the report";
                fault("/source/http/url", "out_of_range", detail.to_owned())
            }
            SourceKind::Http { url, .. } => match self.http.as_ref().map(|http| http.check(url)) {
                Some(Err(why)) => fault("/source/http/url", why.code, why.detail),
                Some(Ok(_)) | None => Vec::new(),
            },
        }
    }

    /// The rows of a report, with the columns as its definition says they are.
    pub async fn fetch(
        &self,
        own: &Store,
        definition: &Definition,
        asked: &Asked,
    ) -> Result<Table, FetchFault> {
        let unit = asked.business_unit.as_deref();
        let mut table = match &definition.source {
            SourceKind::Builtin { key, settings } => {
                let builtin = self.builtins.get(key.as_str()).ok_or_else(|| {
                    FetchFault::lasting("builtin_unknown", format!("there is no built-in report `{key}`"))
                })?;
                within(definition, builtin.fetch(own, asked, settings)).await?
            }
            SourceKind::Sql { connection, query } => {
                let query = ForeignQuery {
                    database: self.connections.database(connection, unit)?,
                    sql: query,
                    params: parameters(asked),
                    timeout: definition.timeout,
                    max_rows: definition.row_cap,
                };
                query.run().await?
            }
            SourceKind::Http { url, rows } => {
                let Some(http) = &self.http else {
                    return Err(FetchFault::lasting("settings_invalid", "this server cannot call endpoints"));
                };
                let bearer = self.connections.bearer(url, unit);
                within(definition, http.fetch(url, rows, bearer, asked)).await?
            }
        };
        if table.rows.len() > definition.row_cap {
            table.rows.truncate(definition.row_cap);
            table.truncated = true;
        }
        for look in &definition.columns {
            if let (Some(kind), Some(place)) = (look.kind, table.place(&look.name)) {
                table.set_kind(place, kind);
            }
        }
        Ok(table)
    }
}

/// Waits for a table as long as the definition allows.
async fn within(
    definition: &Definition,
    fetching: impl Future<Output = Result<Table, FetchFault>>,
) -> Result<Table, FetchFault> {
    match tokio::time::timeout(definition.timeout, fetching).await {
        Ok(outcome) => outcome,
        Err(_) => {
            let after = punctual_model::durations::format(definition.timeout);
            let detail = format!("the source gave no answer within {after}");
            Err(FetchFault::passing("query_timeout", detail))
        }
    }
}

/// The values that a query can name.
fn parameters(asked: &Asked) -> Vec<(&'static str, Cell)> {
    let unit = asked.business_unit.as_deref().map_or(Cell::Null, Cell::text);
    let values = [Cell::Instant(asked.period_start), Cell::Instant(asked.period_end), unit];
    PARAMETERS.into_iter().zip(values).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn connection(url: &str) -> Connection {
        Connection { url: Secret::new(url), bearer: None, business_units: None }
    }

    fn definition(source: Value) -> Definition {
        Definition::read(&json!({"source": source})).unwrap()
    }

    #[test]
    fn t11_a_connection_that_is_not_for_an_author_is_as_unknown_as_none() {
        let of = |url: &str, units: Option<&[&str]>, bearer: Option<&str>| Connection {
            url: Secret::new(url),
            bearer: bearer.map(Secret::new),
            business_units: units.map(|units| units.iter().map(|unit| (*unit).to_owned()).collect()),
        };
        let connections = Connections::default()
            .with("of-all", of("sqlite:a.db", None, None))
            .and_then(|all| all.with("of-de", of("sqlite:b.db", Some(&["de"]), None)))
            .and_then(|all| all.with("of-nz", of("sqlite:c.db", Some(&["nz"]), None)))
            .and_then(|all| all.with("api", of("https://api.example.org/", None, Some("t"))))
            .and_then(|all| all.with("api-nz", of("https://nz.example.org/", Some(&["nz"]), Some("t"))))
            .unwrap();
        let sources =
            Sources::new(&Guard::new(AllowList::default()), &Trust::platform(), connections).unwrap();
        let nz = Author { business_unit: Some("nz"), is_limited: true };
        // tidy-allow: a user's query
        let sql = |name: &str| definition(json!({"sql": {"connection": name, "query": "SELECT 1"}}));
        let http = |url: &str| definition(json!({"http": {"url": url}}));
        let detail = |name: &str, author| {
            let fault = sources.check(&sql(name), author).pop();
            fault.map(|fault| fault.detail.replace(name, "NAME"))
        };
        assert_eq!(detail("of-nz", nz), None);
        for foreign in ["of-all", "of-de"] {
            let reported = detail(foreign, nz);
            assert!(
                reported.is_some() && reported == detail("of-xx", nz),
                "{reported:?} and {:?}",
                detail("of-xx", nz)
            );
        }
        assert_eq!(sources.connections().names(Some(&["nz".to_owned()])), ["api-nz", "of-nz"]);
        assert_eq!(sources.connections().names(None).len(), 5);
        assert!(sources.check(&http("https://nz.example.org/a"), nz).is_empty());
        assert!(sources.check(&http("https://other.example.org/a"), nz).is_empty());
        assert_eq!(sources.check(&http("https://api.example.org/a"), nz)[0].pointer, "/source/http/url");
        let anybody = Author { is_limited: false, ..nz };
        assert_eq!(detail("of-all", anybody), None);
        assert!(detail("of-de", anybody).unwrap().contains("not for this business unit"));
        assert!(sources.check(&http("https://api.example.org/a"), anybody).is_empty());
    }

    #[test]
    fn what_is_wrong_is_found_when_a_definition_is_saved() {
        let connections = Connections::default()
            .with("warehouse", connection("postgres://reader:s3cret@db/x"))
            .and_then(|all| {
                let limited =
                    Connection { business_units: Some(vec!["emea".to_owned()]), ..connection("sqlite:a.db") };
                all.with("emea-only", limited)
            })
            .unwrap();
        let sources =
            Sources::new(&Guard::new(AllowList::default()), &Trust::platform(), connections).unwrap();
        let check = |source: Value, unit: Option<&str>| {
            let faults =
                sources.check(&definition(source), Author { business_unit: unit, is_limited: false });
            faults
                .into_iter()
                .map(|fault| format!("{} {} {}", fault.pointer, fault.code, fault.detail))
                .collect::<String>()
        };
        let sql = |name: &str| json!({"sql": {"connection": name, "query": "…"}});
        assert_eq!(check(sql("warehouse"), None), "");
        let unknown = check(sql("warehose"), None);
        assert!(
            unknown.starts_with("/source/sql/connection out_of_range")
                && unknown.contains("did you mean `warehouse`?"),
            "{unknown}"
        );
        assert_eq!(check(sql("emea-only"), Some("emea")), "");
        assert!(check(sql("emea-only"), Some("apac")).contains("not for this business unit"));
        assert!(check(sql("emea-only"), None).contains("not for this business unit"));
        assert!(check(json!({"builtin": "nothing"}), None).starts_with("/source/builtin out_of_range"));
        assert!(
            check(json!({"http": {"url": "http://169.254.169.254/latest"}}), None)
                .starts_with("/source/http/url url_")
        );
        assert_eq!(check(json!({"http": {"url": "https://bi.example.org/kpis"}}), None), "");
    }

    #[test]
    fn a_password_is_printed_nowhere() {
        let connections =
            Connections::default().with("w", connection("postgres://reader:s3cret@db.internal/x")).unwrap();
        let shown = format!("{connections:?}");
        assert!(!shown.contains("s3cret") && !shown.contains("db.internal"), "{shown}");
        for url in [
            "postgres//reader:s3cret@db/x",
            "mysql://s3cret@db",
            "postgres://s3cret:99999999@:99999999",
            "sqlite:",
            "https://s3cret.example",
        ] {
            let fault = Connections::default().with("w", connection(url)).unwrap_err();
            assert!(!fault.contains("s3cret"), "{fault}");
        }
    }

    #[test]
    fn a_credential_goes_only_where_it_is_for() {
        let bearer = |token: &str| Some(Secret::new(token));
        let connections = Connections::default()
            .with("bi", Connection { bearer: bearer("all"), ..connection("https://bi.example.org/") })
            .and_then(|all| {
                all.with(
                    "kpis",
                    Connection { bearer: bearer("kpis"), ..connection("https://bi.example.org/kpis/") },
                )
            })
            .unwrap();
        let found = |url: &str| connections.bearer(url, None).map(|secret| secret.expose().to_owned());
        assert_eq!(found("https://bi.example.org/other").as_deref(), Some("all"));
        assert_eq!(found("https://bi.example.org/kpis/1").as_deref(), Some("kpis"));
        assert_eq!(found("https://bi.example.org.evil.example/kpis/1"), None);
        assert_eq!(found("http://bi.example.org/"), None);
    }
}
