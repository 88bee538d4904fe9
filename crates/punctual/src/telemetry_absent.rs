//! A build without the feature `otlp`: traces stay where they are.

use std::sync::Arc;

use anyhow::Result;
use punctual_engine::Engine;
use punctual_model::Clock;

use crate::config::Config;

pub struct Exporting;

/// Says that nothing will be exported; the variable may be set for all programs of a machine, so this is no reason to end.
pub fn start(config: &Config, _engine: &Engine, _wall: Arc<dyn Clock>) -> Result<Option<Exporting>> {
    if let Some(wanted) = &config.traces {
        tracing::warn!(url = wanted.url, "this build cannot export traces: it has no feature `otlp`");
    }
    Ok(None)
}

impl Exporting {
    pub async fn finish(&self) {}
}
