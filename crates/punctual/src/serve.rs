//! `punctual serve`: the API and the workers, until a signal ends them.

use std::{io::Write, path::Path};

use anyhow::{Context, Result};
use punctual_api::{NewKey, create_key, ensure_admin_key, probes, router, serve};
use punctual_console::{LINK_LASTS, sign_in_link};
use punctual_model::Clock;
use punctual_store::api_keys;
use punctual_wire::keys::Scope;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

use crate::{
    config::{Config, Role, ServeArgs},
    node::{Node, Time},
    output,
};

pub async fn run(args: ServeArgs) -> Result<()> {
    let config = Config::read(args, "./punctual-data")?;
    output::start_logging(config.log_format);
    let node = Node::open(&config, if config.sandbox { Time::Manual } else { Time::Real }).await?;
    let key = admin_key(&node, &config, "live").await?;
    let listener = listen(&config).await?;
    let address = listener.local_addr()?;
    // In the sandbox nothing runs by itself: the clock and the tick route are the driver.
    let works = config.role != Role::Api && !config.sandbox;
    let running = if works { Some(node.start_working().await?) } else { None };
    let answers =
        if config.role == Role::Worker { Answers::Probes } else { Answers::Everything { flowing: false } };
    // A node that only works has no console to sign in to.
    let link = match answers {
        Answers::Probes => None,
        Answers::Everything { .. } => sign_in_link(&node.engine, node.wall.as_ref()).await?,
    };
    announce(&config, &format!("http://{address}"), key.as_deref(), link.as_deref())?;
    until_signal(listener, &node, answers, running).await
}

/// What a node answers.
pub enum Answers {
    /// The API and the console; in the demo the sandbox's clock flows.
    Everything {
        flowing: bool,
    },
    Probes,
}

/// Serves until SIGTERM or ctrl-c, then stops in order: no new requests, no new claims, finish or give back.
pub async fn until_signal(
    listener: TcpListener,
    node: &Node,
    answers: Answers,
    running: Option<punctual_engine::Running>,
) -> Result<()> {
    let stop = CancellationToken::new();
    let routes = match answers {
        Answers::Probes => probes(node.api(false)),
        Answers::Everything { flowing } => {
            router(node.api(flowing)).merge(punctual_console::router(node.console(stop.clone())))
        }
    };
    let server = tokio::spawn(serve(listener, routes, stop.clone()));
    signal().await?;
    tracing::info!("stopping");
    stop.cancel();
    let _ = server.await;
    if let Some(running) = running {
        running.stop().await;
    }
    node.engine.store.close().await;
    Ok(())
}

pub async fn listen(config: &Config) -> Result<TcpListener> {
    let listener = TcpListener::bind(config.listen)
        .await
        .with_context(|| format!("cannot listen on {}", config.listen))?;
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
    let mut out = std::io::stdout().lock();
    writeln!(out, "Punctual listens on {address}")?;
    if let Some(key) = new_key {
        writeln!(
            out,
            "Admin key (shown once, kept in {}): {key}",
            config.data_dir.join("admin.key").display()
        )?;
    }
    if config.role == Role::Worker {
        writeln!(out, "Role worker: health, readiness and metrics alone are answered here")?;
    } else {
        writeln!(out, "API page: {address}/docs")?;
        write_console(&mut out, address, link)?;
    }
    if config.sandbox {
        writeln!(out, "Sandbox: the clock stands still until it is moved; nothing leaves this process")?;
    }
    out.flush()?;
    Ok(())
}

/// Where the console is, with a link that signs in once where there is a key for it.
pub fn write_console(out: &mut impl Write, address: &str, link: Option<&str>) -> std::io::Result<()> {
    match link {
        Some(link) => writeln!(
            out,
            "Console:  {address}{link}\n          (signs in once, within {} minutes; later with a key at {address}/)",
            LINK_LASTS.as_mins()
        ),
        None => writeln!(out, "Console:  {address}/"),
    }
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
