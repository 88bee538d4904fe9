//! What every page has around it: the navigation with its badges, who looks, the sandbox's clock.

use axum::{
    extract::FromRequestParts,
    http::{HeaderMap, Method, request::Parts},
    response::Response,
};
use jiff::Timestamp;
use punctual_engine::{
    attention::{COUNTED, Kind},
    inbox::person,
};
use punctual_store::inbox;
use punctual_wire::{Problem, keys::Scope};

use crate::{
    App, Shared,
    answer::Refusal,
    assets, cookies,
    form::Fields,
    session::Viewer,
    times::{When, Zone},
    words,
};

/// Counting what is not read stops here.
pub const UNREAD_COUNTED: i64 = 1_000;

/// A page in the navigation. A new page is its module, its routes and one line here.
pub struct NavEntry {
    /// The heading it stands under, together with its neighbours of the same one; none for the first pages.
    group: &'static str,
    pub path: &'static str,
    pub name: &'static str,
    /// What of its own needs attention.
    badge: &'static [Kind],
}

/// Its badge counts what the viewer has not read.
const INBOX: &str = "/inbox";
/// Every page below it belongs to it.
const SETTINGS: &str = "/settings";

pub const NAV: &[NavEntry] = &[
    NavEntry { group: "", path: "/", name: "Overview", badge: &[] },
    NavEntry { group: "", path: "/attention", name: "Attention", badge: &Kind::ALL },
    NavEntry { group: "Messages", path: "/outbox", name: "Outbox", badge: &[Kind::Parked, Kind::Receipt] },
    NavEntry { group: "Messages", path: "/work", name: "Due work", badge: &[Kind::Hold, Kind::RunHeld] },
    NavEntry { group: "Messages", path: "/calendar", name: "Calendar", badge: &[] },
    NavEntry { group: "Messages", path: INBOX, name: "Inbox", badge: &[] },
    NavEntry { group: "Messages", path: "/preferences", name: "Preferences", badge: &[] },
    NavEntry { group: "Workflows", path: "/reminders", name: "Reminders", badge: &[] },
    NavEntry { group: "Workflows", path: "/sources", name: "Sources", badge: &[] },
    NavEntry { group: "Workflows", path: "/surveys", name: "Surveys", badge: &[Kind::Subscriber] },
    NavEntry {
        group: "Workflows",
        path: "/reports",
        name: "Reports",
        badge: &[Kind::RunHeld, Kind::RunFailed, Kind::Orphan],
    },
    NavEntry { group: "Workflows", path: "/operations", name: "Operations", badge: &[Kind::Sync] },
    NavEntry { group: "System", path: "/sites", name: "Sites", badge: &[Kind::Site] },
    NavEntry { group: "System", path: "/channels", name: "Channels", badge: &[] },
    NavEntry { group: "System", path: "/consumers", name: "Consumers", badge: &[Kind::Consumer] },
    NavEntry {
        group: "System",
        path: "/nodes",
        name: "Nodes",
        badge: &[Kind::Node, Kind::Clock, Kind::Locked],
    },
    NavEntry { group: "System", path: "/audit", name: "Audit", badge: &[Kind::Audit] },
    NavEntry { group: "System", path: SETTINGS, name: "Settings", badge: &[] },
];

/// A request for a page: who looks, and how they want things shown.
#[derive(Clone)]
pub struct Visit {
    pub viewer: Viewer,
    pub zone: Zone,
    theme: &'static str,
    /// The address of the page, as far as one can come back to it.
    here: String,
}

impl FromRequestParts<Shared> for Visit {
    type Rejection = Response;

    async fn from_request_parts(parts: &mut Parts, app: &Shared) -> Result<Self, Response> {
        let viewer = Viewer::from_request_parts(parts, app).await?;
        let is_read = parts.method == Method::GET;
        let here = parts.uri.path_and_query().filter(|_| is_read).map_or("/", |path| path.as_str());
        Ok(Self::of(viewer, &parts.headers, here))
    }
}

/// The zone that the viewer chose, else the one that their browser says, else UTC.
fn zone_of(headers: &HeaderMap) -> Zone {
    let name = cookies::zone(headers, cookies::ZONE_CHOSEN).or_else(|| cookies::zone(headers, cookies::ZONE));
    Zone::named(name.as_deref())
}

/// What the viewer chose; empty means as their system has it.
pub fn theme_of(headers: &HeaderMap) -> &'static str {
    match cookies::get(headers, "punctual-theme") {
        Some("dark") => "dark",
        Some("light") => "light",
        _ => "",
    }
}

/// The frame of one page, for its template.
pub struct Frame {
    pub version: &'static str,
    pub title: String,
    pub theme: &'static str,
    pub nav: Vec<NavItem>,
    pub viewer: String,
    /// The key's name or the email.
    pub signed_in_as: String,
    pub token: String,
    /// The city of the zone that times are in, and the zone's whole name.
    pub zone: String,
    pub zone_name: String,
    /// The address to come back to.
    pub back: String,
    pub sandbox: Option<SandboxBar>,
}

pub struct NavItem {
    /// Set where a group begins.
    pub heading: Option<&'static str>,
    pub path: &'static str,
    pub name: &'static str,
    pub current: bool,
    pub badge: Option<String>,
    pub badge_says: &'static str,
}

/// The clock of the sandbox and what may be done with it.
pub struct SandboxBar {
    pub clock: String,
    pub zone: String,
    /// When the next row is due, where one is.
    pub next: Option<When>,
    pub may_move: bool,
}

impl Visit {
    /// Somebody who looks at the page of this address.
    pub fn of(viewer: Viewer, headers: &HeaderMap, here: &str) -> Self {
        Self { viewer, zone: zone_of(headers), theme: theme_of(headers), here: here.to_owned() }
    }

    /// The path of the page's address.
    pub fn path(&self) -> &str {
        self.here.split('?').next().unwrap_or_default()
    }

    /// The parameters of the page's address.
    pub fn query(&self) -> Fields {
        Fields::read(self.here.split_once('?').map_or("", |(_, query)| query).as_bytes())
    }

    /// The instant that pages show as now: the engine's.
    pub fn now(app: &App) -> Timestamp {
        app.engine.clock.now()
    }

    /// That they may change definitions.
    pub fn must_author(&self) -> Result<(), Refusal> {
        if self.viewer.may_author() {
            return Ok(());
        }
        Err(Problem::scope_missing(Scope::Author.as_str()).into())
    }

    /// That they may change what concerns the installation.
    pub fn must_admin(&self) -> Result<(), Refusal> {
        if self.viewer.may_define() {
            return Ok(());
        }
        Err(Problem::scope_missing(Scope::Admin.as_str()).into())
    }

    /// The frame of a page that is under `path` in the navigation.
    pub async fn frame(&self, app: &App, title: &str, path: &str) -> Result<Frame, Refusal> {
        let counts = app.engine.attention_counts(&self.viewer.by.reach()).await?;
        let badge = |kinds: &[Kind]| {
            let own = counts.iter().filter(|(kind, _)| kinds.contains(kind));
            let count: i64 = own.map(|(_, count)| count).sum();
            let text = if count >= COUNTED {
                format!("{}+", words::grouped(COUNTED))
            } else {
                words::grouped(count)
            };
            (count > 0).then_some(text)
        };
        let unread = self.unread(app).await?;
        let mut group = "";
        let nav = NAV.iter().map(|entry| NavItem {
            heading: (std::mem::replace(&mut group, entry.group) != entry.group).then_some(entry.group),
            path: entry.path,
            name: entry.name,
            current: entry.path == path || (entry.path == SETTINGS && path.starts_with(SETTINGS)),
            badge: if entry.path == INBOX { unread.clone() } else { badge(entry.badge) },
            badge_says: if entry.path == INBOX { "not read" } else { "need attention" },
        });
        Ok(Frame {
            version: assets::version(),
            title: title.to_owned(),
            theme: self.theme,
            nav: nav.collect(),
            viewer: self.viewer.shown.clone(),
            signed_in_as: self.viewer.name.clone(),
            token: self.viewer.form_token(app.engine.random.as_ref()),
            zone: self.zone.name.clone(),
            zone_name: self.zone.whole.clone(),
            back: self.here.clone(),
            sandbox: self.sandbox(app).await?,
        })
    }

    async fn unread(&self, app: &App) -> Result<Option<String>, Refusal> {
        let mut reader = app.engine.store.read_for_people().await?;
        let (whose, reach) = (person(&self.viewer.name), self.viewer.by.reach());
        let count = inbox::count_unread(&mut reader.conn(), &whose, &reach, UNREAD_COUNTED).await?;
        Ok(match count {
            0 => None,
            UNREAD_COUNTED.. => Some(format!("{}+", words::grouped(UNREAD_COUNTED))),
            count => Some(words::grouped(count)),
        })
    }

    async fn sandbox(&self, app: &App) -> Result<Option<SandboxBar>, Refusal> {
        if app.sandbox.is_none() {
            return Ok(None);
        }
        let now = Self::now(app);
        let next = app.engine.next_ready().await?.filter(|next| *next > now);
        Ok(Some(SandboxBar {
            clock: self.zone.wall(now),
            zone: self.zone.name.clone(),
            next: next.map(|next| self.zone.when(next, now)),
            may_move: self.viewer.may_act() && self.viewer.sees_all(),
        }))
    }
}
