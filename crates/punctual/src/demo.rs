//! `punctual demo`: the sandbox with sample data, a flowing clock and the loops on.

mod channels;
mod delivery_policy;
mod operations;
mod reminders;
mod reports;
mod samples;
mod surveys;

use anyhow::Result;
use punctual_console::sign_in_link;
use tokio_util::sync::CancellationToken;

use crate::{
    config::{Config, ServeArgs},
    node::{Node, Time},
    output,
    serve::{admin_key, console_lines, listen, say, until_signal},
};

/// Where the demo keeps its data by default.
const DATA_DIR: &str = "./punctual-data/demo";

pub async fn run(mut args: ServeArgs) -> Result<()> {
    args.sandbox = true;
    let config = Config::read(args, DATA_DIR)?;
    output::start_logging(config.log_format);
    let node = Node::open(&config, Time::Manual).await?;
    let new_key = admin_key(&node, &config, "demo").await?;
    samples::load(&node.engine, &node.reminders, &node.reports).await?;
    let listener = listen(&config).await?;
    let address = format!("http://{}", listener.local_addr()?);
    node.survey_link.set(config.survey_link(listener.local_addr()?));
    node.engine.policy.links_lead_to(config.public_address(listener.local_addr()?));
    node.let_time_flow();
    reports::start_old_scheduler(node.engine.clone(), node.wall.clone());
    let running = node.start_working().await?;
    let kept = std::fs::read_to_string(config.data_dir.join("admin.key")).unwrap_or_default();
    let key = match (new_key, &config.admin_key) {
        (Some(key), _) => key,
        (None, Some(_)) => "the one you gave".to_owned(),
        (None, None) => kept.trim().to_owned(),
    };
    let link = sign_in_link(&node.engine, node.wall.as_ref()).await?;
    let console = console_lines(&address, link.as_deref());
    say(&format!(
        "Punctual listens on {address}\nKey:      {key}\nAPI page: {address}/docs\n{console}\n\
         It is a sandbox: nothing leaves this process, and the clock can be moved. Try\n  \
         curl -H 'Authorization: Bearer {key}' {address}/api/v1/notifications?limit=5\n  \
         curl -X PUT -H 'Authorization: Bearer {key}' -H 'Content-Type: application/json' \\\n       \
         -d '{{\"advance\":\"24h\"}}' {address}/api/v1/sandbox/clock\n"
    ))?;
    let stop = CancellationToken::new();
    let routes = punctual_console::around(punctual_api::router(node.api(true)), node.console(stop.clone()));
    until_signal(config.limits.clone(), listener, &node, routes, stop, Some(running), None).await
}
