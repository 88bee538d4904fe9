//! `punctual serve`: the API and the workers, until a signal ends them.

use std::{io::Write, net::SocketAddr, path::Path, time::Duration};

use anyhow::{Context, Result};
use punctual_api::{Limits, behind_proxies, probes, router, serve_within};
use punctual_console::sign_in_link;
use punctual_engine::Running;
use punctual_engine::commands::LINK_LASTS;
use punctual_engine::keys::{NewKey, create_key, ensure_admin_key};
use punctual_model::Clock;
use punctual_store::{api_keys, channels};
use punctual_wire::keys::Scope;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

use crate::{
    config::{Config, Role, ServeArgs},
    node::{Node, Time},
    output,
    presence::Presence,
};

pub async fn run(args: ServeArgs) -> Result<()> {
    let config = Config::read(args, "./punctual-data")?;
    output::start_logging(config.log_format);
    let node = Node::open(&config, if config.sandbox { Time::Manual } else { Time::Real }).await?;
    node.configure_channels().await?;
    let key = admin_key(&node, &config, "live").await?;
    let listener = listen(&config).await?;
    let address = listener.local_addr()?;
    node.survey_link.set(config.survey_link(address));
    node.engine.policy.links_lead_to(config.public_address(address));
    // In the sandbox nothing runs by itself: the clock and the tick route are the driver.
    let works = config.role != Role::Api && !config.sandbox;
    let presence =
        if config.sandbox { None } else { Some(Presence::start(&node.engine, config.role).await?) };
    let running = if works { Some(node.start_working().await?) } else { None };
    // A worker serves no pages either.
    let is_worker = config.role == Role::Worker;
    let link = if is_worker { None } else { sign_in_link(&node.engine, node.wall.as_ref()).await? };
    announce(&config, &format!("http://{address}"), key.as_deref(), link.as_deref())?;
    if !config.sandbox && leads_nowhere(&config, address) && has_mail(&node).await? {
        warn_of_links(&config.public_address(address))?;
    }
    let stop = CancellationToken::new();
    let mut state = node.api(false);
    state.options.body_time = config.limits.body_time;
    let routes = if is_worker {
        probes(state)
    } else {
        punctual_console::around(router(state), node.console(stop.clone()))
    };
    let routes = behind_proxies(routes, config.trusted_proxies.clone());
    until_signal(config.limits.clone(), listener, &node, routes, stop, running, presence).await
}

/// Whether links in messages would only work on this machine.
fn leads_nowhere(config: &Config, address: SocketAddr) -> bool {
    config.public_url.is_none() && (address.ip().is_loopback() || address.ip().is_unspecified())
}

/// Whether mail leaves this installation.
async fn has_mail(node: &Node) -> Result<bool> {
    let mut reader = node.engine.store.read().await?;
    let channels = channels::all(&mut reader.conn()).await?;
    Ok(channels.iter().any(|row| ["smtp", "sendgrid"].contains(&row.adapter.as_str())))
}

/// Says so where it cannot be overlooked: in the log and among the first lines.
fn warn_of_links(address: &str) -> Result<()> {
    tracing::warn!(address, "links in mail point to this machine only; set --public-url");
    say(&format!(
        "WARNING: a mail channel is configured and links in messages would begin with {address},\n         \
         which nobody else can open. Start with --public-url https://punctual.example.org\n"
    ))
}

/// Serves until SIGTERM or ctrl-c, or until the database asks for a newer program. Then it stops in order: no new requests
/// and no new claims from that moment, finish or give back; and ends, whatever hangs.
pub async fn until_signal(
    limits: Limits,
    listener: TcpListener,
    node: &Node,
    routes: axum::Router,
    stop: CancellationToken,
    running: Option<Running>,
    presence: Option<Presence>,
) -> Result<()> {
    let server = tokio::spawn(serve_within(limits, listener, routes, stop.clone()));
    let too_old = async {
        match &presence {
            Some(presence) => presence.until_too_old().await,
            None => std::future::pending().await,
        }
    };
    let ended = tokio::select! {
        signalled = signal() => signalled,
        error = too_old => Err(error.into()),
    };
    tracing::info!("stopping");
    stop.cancel();
    let stopping = async {
        let worked = async {
            if let Some(running) = running {
                running.stop().await;
            }
        };
        let _ = tokio::join!(server, worked);
        if let Some(presence) = &presence {
            presence.leave().await;
        }
        node.engine.store.close().await;
    };
    if tokio::time::timeout(ENDS_WITHIN, stopping).await.is_err() {
        tracing::warn!("the shutdown timed out; claimed rows are taken over when their leases expire");
    }
    if let Some(traces) = &node.traces {
        traces.finish().await;
    }
    ended
}

/// A stop takes no longer, also with a database that does not answer: 15 seconds for what is under way, and some to give
/// the rest back.
const ENDS_WITHIN: Duration = Duration::from_secs(19);

pub async fn listen(config: &Config) -> Result<TcpListener> {
    let listener = TcpListener::bind(config.listen)
        .await
        .with_context(|| format!("cannot listen on {}", config.listen))?;
    if !config.report_connections.is_empty() {
        tracing::info!(connections = ?config.report_connections.names(None), "connections that reports can read from");
    }
    if let Some(file) = &config.address_file {
        write_whole(file, &format!("{}\n", listener.local_addr()?))?;
    }
    Ok(listener)
}

/// Whoever waits for the file must never read half of it.
pub fn write_whole(file: &Path, text: &str) -> Result<()> {
    let mut part = file.as_os_str().to_owned();
    part.push(".part");
    std::fs::write(&part, text)
        .and_then(|()| std::fs::rename(&part, file))
        .with_context(|| format!("cannot write {}", file.display()))
}

/// The key for everything: the operator's, or one made at the first start, which is also kept in the data folder.
pub async fn admin_key(node: &Node, config: &Config, env: &str) -> Result<Option<String>> {
    let store = &node.engine.store;
    let now = node.wall.now();
    if let Some(given) = &config.admin_key {
        ensure_admin_key(store, now, given.expose()).await.context("the admin key is not usable")?;
        return Ok(None);
    }
    let mut reader = store.read().await?;
    let keys = api_keys::all(&mut reader.conn()).await?;
    drop(reader);
    if keys.iter().any(|key| key.revoked_at.is_none() && key.scopes.split(' ').any(|scope| scope == "admin"))
    {
        return Ok(None);
    }
    let new = NewKey {
        name: "first admin".into(),
        scopes: vec![Scope::Admin],
        business_units: None,
        expires_at: None,
    };
    let minted = create_key(store, node.engine.random.as_ref(), now, env, &new).await?;
    keep_private(&config.data_dir.join("admin.key"), &minted.text)?;
    Ok(Some(minted.text))
}

fn keep_private(file: &Path, text: &str) -> Result<()> {
    let mut options = std::fs::OpenOptions::new();
    options.write(true).create(true).truncate(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let written = options.open(file).and_then(|mut open| writeln!(open, "{text}"));
    written.with_context(|| format!("cannot write {}", file.display()))
}

fn announce(config: &Config, address: &str, new_key: Option<&str>, link: Option<&str>) -> Result<()> {
    let mut text = format!("Punctual listens on {address}\n");
    if let Some(key) = new_key {
        let file = config.data_dir.join("admin.key");
        text.push_str(&format!("Admin key (shown once, kept in {}): {key}\n", file.display()));
    }
    if config.role == Role::Worker {
        text.push_str("Role worker: serves health, readiness and metrics only\n");
    } else {
        text.push_str(&format!("API page: {address}/docs\n{}", console_lines(address, link)));
    }
    if config.sandbox {
        text.push_str("Sandbox: the clock is stopped until it is moved; nothing leaves this process\n");
    }
    say(&text)
}

/// Where the console is, with a link that signs in once where there is a key for it.
pub fn console_lines(address: &str, link: Option<&str>) -> String {
    let Some(link) = link else { return format!("Console:  {address}/\n") };
    let minutes = LINK_LASTS.as_mins();
    format!(
        "Console:  {address}{link}\n          (signs in once, within {minutes} minutes; later with a key at {address}/)\n"
    )
}

/// Writes it at once: whoever reads the first lines and goes away must not end the server.
pub fn say(text: &str) -> Result<()> {
    let mut out = std::io::stdout().lock();
    out.write_all(text.as_bytes())?;
    out.flush()?;
    Ok(())
}

pub async fn signal() -> Result<()> {
    #[cfg(unix)]
    {
        use tokio::signal::unix::{SignalKind, signal};
        let mut terminate = signal(SignalKind::terminate())?;
        tokio::select! {
            _ = terminate.recv() => {}
            done = tokio::signal::ctrl_c() => done?,
        }
    }
    #[cfg(not(unix))]
    tokio::signal::ctrl_c().await?;
    Ok(())
}
