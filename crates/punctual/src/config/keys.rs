//! What may be said in the configuration file, for the test of the reference page.

use super::{KNOWN_KEYS, connections, limits, reconcile, reminders, sign_on, telemetry};

/// The key of a flag in the file, where it has one.
pub fn key_in_file(flag: &str) -> Option<String> {
    let nested = [("otlp_endpoint", "telemetry.otlp_endpoint"), ("trace_ratio", "telemetry.trace_ratio")];
    let nested = nested.iter().find(|(name, _)| *name == flag).map(|(_, key)| (*key).to_owned());
    nested.or_else(|| KNOWN_KEYS.contains(&flag).then(|| flag.to_owned()))
}

/// The keys of each section of the file, as the reader itself names them when it is given one that is none.
pub fn section_keys() -> Vec<(&'static str, Vec<String>)> {
    fn keys<T: serde::de::DeserializeOwned>() -> Vec<String> {
        let Err(error) = toml::from_str::<T>("no_such_key = 1") else { panic!("any key is taken") };
        let text = error.message().to_owned();
        let (_, expected) = text.split_once("expected").expect("what is expected");
        expected.split('`').skip(1).step_by(2).map(str::to_owned).collect()
    }
    let mut sections = vec![
        ("limits", keys::<limits::LimitsFile>()),
        ("limits.api", keys::<limits::BudgetFile>()),
        ("sign_on", keys::<sign_on::SignOnFile>()),
        ("sign_on.mappings", keys::<sign_on::MappingFile>()),
        ("reports.connections.NAME", keys::<connections::ConnectionFile>()),
        ("reconcile.NAME", keys::<reconcile::One>()),
        ("reminders.scan.KIND", keys::<reminders::Scan>()),
        ("telemetry", keys::<telemetry::TelemetryFile>()),
    ];
    // These have tables of their own above.
    let own = ["api", "console", "public", "probes", "mappings"];
    for (_, keys) in &mut sections {
        keys.retain(|key| !own.contains(&key.as_str()));
    }
    sections
}
