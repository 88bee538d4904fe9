//! The console in a real browser: signing in, finding, acting, the keyboard, what is live, and how it looks.
//!
//! On SQLite alone: the browser sees no database, and the pages are tested on both through the router.

use std::sync::Arc;

use punctual_console::{ConsoleState, router};
use punctual_engine::keys::ensure_admin_key;
use punctual_engine::{Actor, commands::SignOns};
use punctual_model::{NotificationSource, ReasonCode, SendOutcome};
use punctual_reports::Sources;
use punctual_store::{
    site_events::SiteEventRow,
    sites::{self, Contact},
};
use punctual_testkit::{Database, Scripted, TestBed, TestBedBuilder, WallClock, new_work, run};
use punctual_workflows::reports::with_built_ins;
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

use crate::{chromium::Chromium, client::ADMIN, reminders::put_source, settings_browser::follow};

/// A console on real time with a browser in front of it.
pub struct Stage {
    pub bed: TestBed,
    pub address: String,
    pub browser: Chromium,
    stop: CancellationToken,
}

impl Stage {
    pub async fn on(bed: &TestBed) -> Self {
        Self::with_sign_on(bed, SignOns::default()).await
    }

    /// The same where people may come from a provider.
    pub async fn with_sign_on(bed: &TestBed, sign_on: SignOns) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = format!("http://{}", listener.local_addr().unwrap());
        bed.engine.policy.links_lead_to(address.clone());
        let stop = CancellationToken::new();
        let wall = Arc::new(WallClock);
        ensure_admin_key(&bed.store, bed.now(), ADMIN).await.unwrap();
        let state = ConsoleState {
            engine: bed.engine.clone(),
            wall,
            sandbox: Some(bed.clock.clone()),
            surveys: Default::default(),
            public: Default::default(),
            reports: with_built_ins(Sources::default()),
            sign_on: Arc::new(sign_on),
            stop: stop.clone(),
        };
        let server =
            axum::serve(listener, router(state)).with_graceful_shutdown(stop.clone().cancelled_owned());
        tokio::spawn(server.into_future());
        let mut browser = Chromium::start().await;
        browser.size(1280, 860).await;
        browser.prefer("light").await;
        browser.call("Emulation.setTimezoneOverride", json!({ "timezoneId": "Pacific/Auckland" })).await;
        Self { bed: bed.clone(), address, browser, stop }
    }

    pub async fn open(&mut self, path: &str) {
        let address = format!("{}{path}", self.address);
        self.browser.go(&address).await;
    }

    pub async fn sign_in(&mut self) {
        self.open("/sign-in").await;
        // Where there are people, they come first and the key is folded away. The browser serves `autofocus` first: who takes the focus
        // before it is in its way.
        self.browser.until("document.activeElement !== document.body").await;
        if self.browser.eval("document.activeElement.id").await != json!("key") {
            self.browser.eval("document.querySelector('#key').closest('details').open = true").await;
            self.browser.click("#key").await;
        }
        self.browser.until("document.activeElement.id === 'key'").await;
        self.browser.write(ADMIN).await;
        self.browser.enter().await;
        self.browser.until("document.querySelector('h1').textContent === 'Overview'").await;
    }

    pub async fn texts(&mut self, selector: &str) -> Vec<String> {
        let found = self
            .browser
            .eval(&format!("[...document.querySelectorAll({selector:?})].map(e => e.textContent.trim())"))
            .await;
        serde_json::from_value(found).unwrap()
    }

    /// The end: nothing complained, nothing was asked of another host.
    pub fn finish(self) {
        let complaints = self.browser.complaints(&self.address);
        assert!(complaints.is_empty(), "{complaints:#?}");
        self.stop.cancel();
    }
}

/// Two sites in touch, and one that fell silent with something in its buffer.
async fn with_sites(bed: &TestBed) {
    for (site, silent_for, backlog, offset) in
        [("plant-7", 4, 0, 40), ("plant-9", 9, 12, -900), ("depot-2", 7_300, 214, 95_000)]
    {
        let then = bed.now() - jiff::SignedDuration::from_secs(silent_for);
        let mut tx = bed.begin().await;
        sites::insert(&mut tx.conn(), then - jiff::SignedDuration::from_hours(24 * 30), site, None)
            .await
            .unwrap();
        tx.commit().await.unwrap();
        let contact = Contact {
            agent: None,
            version: Some("0.1.0".into()),
            backlog,
            oldest_buffered_age_seconds: (backlog > 0).then_some(silent_for / 10),
            refused: 0,
            clock_offset_ms: Some(offset),
        };
        let failed = SiteEventRow {
            seq: 0,
            site: site.into(),
            id: format!("{site}-1"),
            category: "Notification".into(),
            kind: "forward-failed".into(),
            began_at: then - jiff::SignedDuration::from_mins(10),
            last_at: then,
            count: 54,
            detail: "central did not answer: connection timed out".into(),
        };
        let events = if backlog > 100 { vec![failed] } else { Vec::new() };
        bed.engine.note_contact(then, site, Some((contact, events))).await.unwrap();
    }
}

/// A small company on a bad day: delivered, parked, stuck, waiting and held.
async fn busy(bed: TestBed) -> TestBed {
    let flaky = Scripted::new("flaky", |_| SendOutcome::Transient {
        error: "451 4.7.1 greylisted, try again later".into(),
        retry_after: None,
    });
    let relay = Scripted::new("relay", |message| {
        if message.address.starts_with("old-") {
            SendOutcome::Permanent {
                reason: ReasonCode::MailboxUnavailable,
                error: "550 5.1.1 no such user here".into(),
            }
        } else {
            SendOutcome::Delivered { provider_id: format!("<{}@relay.example.org>", message.address.len()) }
        }
    });
    let bed = bed.with(|bed| bed.adapter(flaky).adapter(relay));
    let often = json!({ "max": 90, "intervalSeconds": 300 });
    bed.channel_with("sms:default", "flaky", often, false).await;
    bed.channel("email:default", "relay").await;
    bed.list("ops", "email:default", &["ops@example.org", "night-shift@example.org"]).await;
    bed.list("management", "email:default", &["board@example.org"]).await;
    bed.list("legacy", "email:default", &["old-pager@example.org"]).await;
    let shown = [
        ("plant-7", "Pump 7: pressure low", "ops"),
        ("plant-7", "Pump 7: pressure back to normal", "ops"),
        ("depot-2", "Nightly backup finished", "ops"),
        ("depot-2", "Freezer 3 is at −11 °C", "legacy"),
        ("plant-9", "Weekly delivery report", "management"),
    ];
    for quarter in 0..44_usize {
        // Three waves a quarter of an hour; now and then one is slow.
        for (wave, slow) in [(0, 31), (1, 7), (2, 13)] {
            let size = 2 + (quarter * 5 + wave * 3) % 7;
            let new =
                shown.iter().cycle().skip(quarter + wave).take(size).filter_map(|(site, subject, list)| {
                    // What goes to the old pager is seldom.
                    if *list == "legacy" && (quarter % 9 > 0 || wave > 0) {
                        return None;
                    }
                    let mut new = bed.message_to_list(list);
                    new.subject = (*subject).into();
                    new.body = format!("{subject}.\n\nSent by watch.sh at {site}.");
                    let (site, script) = (Some((*site).into()), Some("watch.sh".into()));
                    new.source = NotificationSource { site, script, instance: None };
                    Some(new)
                });
            bed.accept(new.collect()).await;
            let late = if quarter % slow == 5 { 900 } else { 9 + (quarter * 7 + wave * 11) % 17 };
            bed.clock.set(bed.now() + jiff::SignedDuration::from_millis(i64::try_from(late).unwrap()));
            bed.tick().await;
        }
        bed.run_for(900).await;
    }
    let mut sms = bed.message_over("sms:default", &["+64 21 555 0199"]);
    sms.subject = "Night shift: call the plant".into();
    bed.accept(vec![sms]).await;
    bed.tick().await;
    bed.run_for(1_500).await;
    let fresh: Vec<_> = shown[..3]
        .iter()
        .map(|(site, subject, list)| {
            let mut new = bed.message_to_list(list);
            new.subject = (*subject).into();
            new.source = NotificationSource { site: Some((*site).into()), script: None, instance: None };
            new
        })
        .collect();
    bed.accept(fresh).await;
    bed.wait(1);
    bed.tick().await;
    bed.wait(19);
    with_sites(&bed).await;
    for (n, name) in ["first-aid", "police-vetting", "forklift-licence", "site-induction"].iter().enumerate()
    {
        let days = i64::try_from(n).unwrap() + 1;
        bed.schedule(&format!("reminder-{name}"), "documents.expiry", bed.after(86_400 * days - 7_200)).await;
    }
    let held = bed.schedule("payroll-export", "payroll.export", bed.after(10_800)).await;
    let mut other = new_work("schedule", "schedule:payroll-export", bed.after(7_200));
    other.key = bed.work_by_id(held).await.key().unwrap();
    bed.ensure_one(other).await;
    bed.leaves_open("a bad day");
    bed
}

pub fn on_sqlite<F: Future<Output = ()>>(body: impl FnOnce(TestBed) -> F) {
    run(TestBedBuilder::new(Database::Sqlite), body);
}

#[test]
fn people_sign_in_find_and_act() {
    on_sqlite(async |bed| {
        let bed = busy(bed).await;
        let mut stage = Stage::on(&bed).await;
        stage.sign_in().await;
        stage.browser.follow("nav a[href='/outbox']").await;
        assert!(stage.texts(".pill.stuck").await.len() == 1, "the waiting text message is stuck");

        // Filter by state, then search.
        stage.browser.follow(".tile.bad").await;
        let parked = stage.texts("td.subject a").await;
        assert!(
            parked.len() >= 3 && parked.iter().all(|subject| subject == "Freezer 3 is at −11 °C"),
            "{parked:?}"
        );
        stage.open("/outbox").await;
        stage.browser.press("/").await;
        stage.browser.until("document.activeElement.id === 'search'").await;
        stage.browser.write("night shift").await;
        stage.browser.enter().await;
        assert_eq!(stage.texts("td.subject a").await, ["Night shift: call the plant"]);

        // Retry two of the parked, then discard one, each after a look at what will change.
        stage.open("/outbox?status=parked").await;
        stage.browser.until("document.querySelector('#acts button').disabled").await;
        stage.browser.click("tbody tr:nth-child(1) input").await;
        stage.browser.click("tbody tr:nth-child(2) input").await;
        stage.browser.until("document.querySelector('#selected').textContent === '2 selected'").await;
        stage.browser.follow("button[value=retry]").await;
        assert_eq!(stage.texts("h1").await, ["Retry 2 notifications?"]);
        stage.browser.picture("confirm-1280-light").await;
        stage.browser.follow(".confirm button").await;
        assert_eq!(stage.texts(".notice").await, ["Retrying 2 messages."]);
        bed.tick().await;
        stage.open("/outbox?status=parked").await;
        stage.browser.follow("td.subject a").await;
        stage.browser.follow("button[value=discard]").await;
        stage.browser.click("input[name=reason]").await;
        stage.browser.write("The pager is retired").await;
        stage.browser.follow(".confirm button").await;
        let timeline = stage.texts(".timeline-title").await;
        assert_eq!(timeline.last().map(String::as_str), Some("Noted"), "{timeline:?}");
        assert!(stage.texts("h1 .pill").await == ["discarded"]);

        // Release what is held, and move the clock to the next due row.
        stage.browser.follow("nav a[href='/attention']").await;
        stage.browser.follow("a[href^='/work/']").await;
        stage.browser.follow("button[value=release]").await;
        stage.browser.follow(".confirm button").await;
        assert_eq!(stage.texts(".notice").await, ["1 work row released."]);
        let before = bed.now();
        stage.browser.follow("button[value=hour]").await;
        assert_eq!(bed.now().duration_since(before).as_hours(), 1);
        stage.browser.follow("form[action='/sign-out'] button").await;
        assert_eq!(stage.texts("h1").await, ["Sign in"]);
        stage.finish();
    });
}

#[test]
fn what_is_shown_stays_where_it_is_and_stays_true() {
    on_sqlite(async |bed| {
        bed.leaves_open("one stays in line");
        let new = (0..3).map(|n| {
            let mut new = bed.message_over("no:such", &["a@example.org"]);
            new.subject = format!("Row {n}");
            new
        });
        bed.accept(new.collect()).await;
        bed.tick().await;
        let mut stage = Stage::on(&bed).await;
        stage.sign_in().await;
        stage.open("/outbox?status=parked").await;
        stage.browser.until("document.querySelector('#dot').classList.contains('live')").await;
        let before = stage.texts("td.subject a").await;
        let id = bed.notifications().await[0].id.to_string();
        bed.engine.retry_notification(&Actor::named("somebody else"), &id, None).await.unwrap();
        // It no longer matches the filter: it stays in its place and is dimmed; figures and badge follow.
        stage
            .browser
            .until(&format!("document.querySelector('tr[data-row=\"{id}\"]').classList.contains('gone')"))
            .await;
        stage
            .browser
            .until("document.querySelector('nav a[href=\"/outbox\"] .badge').textContent === '2'")
            .await;
        assert_eq!(stage.texts("td.subject a").await, before);

        stage.open("/outbox").await;
        stage.browser.until("document.querySelector('#dot').classList.contains('live')").await;
        let state = format!("document.querySelector('tr[data-row=\"{id}\"] .pill').textContent");
        assert_eq!(stage.browser.eval(&state).await, json!("waiting"));
        let place = format!("document.querySelector('tr[data-row=\"{id}\"]').getBoundingClientRect().top");
        bed.channel("no:such", "memory").await;
        bed.tick().await;
        stage.browser.until(&format!("{state} === 'delivered'")).await;
        // New rows are announced and do not push what is being read.
        let top: Value = stage.browser.eval(&place).await;
        bed.accept_to(&["new@example.org"]).await;
        stage.browser.until("!document.querySelector('#fresh').hidden").await;
        assert_eq!(stage.texts("#fresh a").await, ["1 new row – show it"]);
        assert_eq!(stage.texts("tbody tr").await.len(), 3);
        let moved = stage.browser.eval(&place).await.as_f64().unwrap() - top.as_f64().unwrap();
        assert!(moved.abs() < 40.0, "only the announcement itself takes room: {moved}");
        stage.browser.follow("#fresh a").await;
        assert_eq!(stage.texts("tbody tr").await.len(), 4);
        stage.finish();
    });
}

/// What is live is replaced while people use it: no click is lost to that, and none waits for what is gone.
#[test]
fn a_click_meets_what_is_replaced_under_it() {
    on_sqlite(async |bed| {
        let mut stage = Stage::on(&bed).await;
        stage.sign_in().await;
        // As the live part does it: with what the server sends, which knows of no marks.
        let replace = "(() => { const list = document.querySelector('[data-live=nav]'); const own = list.innerHTML; \
                       setInterval(() => { list.innerHTML = own; }, 20); })()";
        for (name, title) in [("Attention", "Attention"), ("Due work", "Due work"), ("Outbox", "Outbox")] {
            stage.browser.eval(replace).await;
            follow(&mut stage, name).await;
            assert_eq!(stage.texts("h1").await, [title]);
        }
        // What the page itself replaces waits for whoever is pressing it.
        stage.browser.until("document.querySelector('#dot').classList.contains('live')").await;
        let link = "document.querySelector(\"nav a[href='/attention']\")";
        let place = format!(
            "(() => {{ window.pressed = {link}; const r = pressed.getBoundingClientRect(); return [r.x + 20, r.y + 10]; }})()"
        );
        let place = stage.browser.eval(&place).await;
        let press = |kind: &str| json!({ "type": kind, "x": place[0], "y": place[1], "button": "left", "clickCount": 1 });
        stage.browser.call("Input.dispatchMouseEvent", press("mousePressed")).await;
        let seen = "window.asked = performance.getEntriesByType('resource').length";
        stage.browser.eval(seen).await;
        bed.accept(vec![bed.message_over("no:such", &["a@example.org"])]).await;
        bed.tick().await;
        // The page has asked for itself again.
        stage.browser.until("performance.getEntriesByType('resource').length > window.asked").await;
        stage.browser.eval("new Promise((done) => setTimeout(() => done(true), 200))").await;
        assert_eq!(stage.browser.eval(&format!("window.pressed === {link}")).await, json!(true));
        stage.browser.call("Input.dispatchMouseEvent", press("mouseReleased")).await;
        stage.browser.until("document.querySelector('h1').textContent === 'Attention'").await;
        stage.finish();
    });
}

#[test]
fn the_keyboard_is_enough() {
    on_sqlite(async |bed| {
        let bed = busy(bed).await;
        let mut stage = Stage::on(&bed).await;
        stage.sign_in().await;
        stage.browser.press("?").await;
        stage.browser.until("document.querySelector('#help').open").await;
        stage.browser.picture("help-1280-light").await;
        stage.browser.press("Escape").await;
        stage.browser.until("!document.querySelector('#help').open").await;
        stage.browser.press("g").await;
        stage.browser.press("3").await;
        stage.browser.until("location.pathname === '/outbox' && document.readyState === 'complete'").await;
        for key in ["j", "j", "k", "j"] {
            stage.browser.press(key).await;
        }
        let subject = stage.texts("tr.here td.subject a").await;
        assert_eq!(subject, [stage.texts("td.subject a").await[1].clone()]);
        stage.browser.enter().await;
        stage.browser.until("location.pathname.startsWith('/notifications/')").await;
        // The palette: what is typed, an arrow, Enter.
        stage.open("/attention").await;
        stage.browser.press_with_control("k").await;
        stage.browser.until("document.querySelector('#palette').open").await;
        stage.browser.until("document.querySelectorAll('#palette [role=option]').length > 10").await;
        stage.browser.write("night shift").await;
        let option = "document.querySelectorAll('#palette [role=option] .item-title')";
        stage.browser.until(&format!("{option}.length === 1")).await;
        stage.browser.picture("palette-1280-light").await;
        stage.browser.enter().await;
        stage.browser.until("location.pathname.startsWith('/notifications/')").await;
        stage.browser.press_with_control("k").await;
        stage.browser.until("document.activeElement.id === 'palette-q'").await;
        stage.browser.write("s").await;
        stage.browser.until("document.querySelectorAll('#palette [aria-selected=true]').length === 1").await;
        stage.browser.press("ArrowDown").await;
        stage
            .browser
            .until("document.querySelectorAll('#palette [role=option]')[1].ariaSelected === 'true'")
            .await;
        stage.browser.press("Escape").await;
        stage.browser.until("!document.querySelector('#palette').open").await;
        // The first stop of Tab is the way past the navigation, and focus is always seen.
        stage.open("/attention").await;
        stage.browser.press("Tab").await;
        stage.browser.until("document.activeElement.className === 'skip'").await;
        stage.browser.press("Tab").await;
        stage.browser.until("getComputedStyle(document.activeElement).outlineStyle === 'solid'").await;
        stage.finish();
    });
}

/// Contrast, names and labels, as far as a script can tell.
pub const RULES: &str = include_str!("rules.js");

#[test]
fn every_page_looks_right_in_light_and_dark_on_a_desk_and_a_phone() {
    on_sqlite(async |bed| {
        let mut stage = Stage::on(&bed).await;
        stage.open("/sign-in").await;
        stage.browser.picture("sign-in-1280-light").await;
        stage.sign_in().await;
        walk(
            &mut stage,
            "empty",
            &[("overview", "/"), ("outbox", "/outbox"), ("attention", "/attention"), ("work", "/work")],
        )
        .await;
        let bed = busy(stage.bed.clone()).await;
        // The engine of the busy day has more adapters; the pages are to see them.
        stage.stop.cancel();
        let mut stage = Stage::on(&bed).await;
        stage.sign_in().await;
        let parked =
            bed.notifications().await.into_iter().find(|row| row.status.as_str() == "parked").unwrap().id;
        let (notification, held) = (
            format!("/notifications/{parked}"),
            format!("/work/{}", bed.work("schedule:payroll-export").await.id),
        );
        let pages = [
            ("overview", "/"),
            ("outbox", "/outbox"),
            ("outbox-filtered", "/outbox?status=parked&site=depot-2"),
            ("attention", "/attention"),
            ("search", "/search?q=fre"),
            ("work", "/work"),
            ("sites", "/sites"),
            ("site", "/sites/depot-2"),
            ("nodes", "/nodes"),
            ("consumers", "/consumers"),
            ("audit", "/audit"),
            ("channels", "/channels"),
            ("preferences", "/preferences"),
            ("notification", notification.as_str()),
            ("work-row", held.as_str()),
        ];
        walk(&mut stage, "busy", &pages).await;
        stage.finish();
    });
}

pub async fn walk(stage: &mut Stage, day: &str, pages: &[(&str, &str)]) {
    for (width, height) in [(1280, 860), (390, 844)] {
        stage.browser.size(width, height).await;
        for scheme in ["light", "dark"] {
            stage.browser.prefer(scheme).await;
            for (name, path) in pages {
                stage.open(path).await;
                stage.browser.until("document.querySelector('#dot').classList.contains('live')").await;
                let wide = stage.browser.eval("document.documentElement.scrollWidth").await;
                assert_eq!(wide, json!(width), "{name} is wider than {width}");
                let faults = stage.browser.eval(RULES).await;
                assert_eq!(faults, json!([]), "{name} {width} {scheme}");
                stage.browser.picture(&format!("{name}-{width}-{scheme}-{day}")).await;
            }
        }
    }
    stage.browser.size(360, 740).await;
    for (name, path) in pages {
        stage.open(path).await;
        assert_eq!(
            stage.browser.eval("document.documentElement.scrollWidth").await,
            json!(360),
            "{name} at 360"
        );
    }
    stage.browser.size(1280, 860).await;
    stage.browser.prefer("light").await;
}

#[test]
fn a_reminder_is_planned_saved_and_explained() {
    on_sqlite(async |bed| {
        for id in ["1", "2", "3"] {
            let state =
                json!({ "kind": "first-aid", "expiresOn": "2026-06-20", "email": "aroha@example.org" });
            put_source(&bed, "document", id, &state).await;
        }
        let mut stage = Stage::on(&bed).await;
        stage.sign_in().await;
        stage.open("/reminders").await;
        stage.browser.follow("a[href='/reminders/new']").await;
        stage.browser.click("[name='/name']").await;
        stage.browser.write("First aid").await;
        let choose = "(() => { document.querySelector('[name=\"/sourceType\"]').value = 'document'; window.before = true; \
                      document.querySelector('[name=\"/sourceType\"]').dispatchEvent(new Event('change', { bubbles: true })); })()";
        stage.browser.eval(choose).await;
        stage
            .browser
            .until("window.before === undefined && document.querySelector('select[name=\"/date/field\"]')")
            .await;
        for (name, value) in [("/date/field", "/expiresOn"), ("/recipients/field", "/email")] {
            stage
                .browser
                .eval(&format!("document.querySelector('[name=\"{name}\"]').value = '{value}'"))
                .await;
        }
        stage.browser.follow("#edit .form-acts .primary").await;
        assert_eq!(stage.texts("#plan dd").await, ["9"]);
        stage.browser.picture("reminder-plan-1280-light").await;
        stage.browser.follow("#edit .form-acts .primary").await;
        assert!(stage.texts(".notice").await[0].starts_with("The reminder is saved"));
        stage.browser.follow("nav a[href='/calendar']").await;
        assert_eq!(stage.texts("a.many").await, ["3", "3", "3"]);
        stage.browser.follow("a.many").await;
        assert_eq!(stage.texts(".items .item-title").await.len(), 3);
        let pages = [
            ("reminders", "/reminders"),
            ("reminder", "/reminders/new"),
            ("reminder-threshold", "/reminders/new?kind=threshold"),
            ("calendar", "/calendar?from=2026-05-18&day=2026-05-21"),
            ("sources", "/sources"),
            ("source", "/sources/document/1"),
            ("why", "/why?type=document&id=1&date=2026-06-14"),
        ];
        walk(&mut stage, "reminders", &pages).await;

        // Removed after a look at what that takes back.
        stage.open("/reminders").await;
        stage.browser.follow("td.subject a").await;
        stage.browser.follow(".row-acts a.button").await;
        assert!(stage.texts(".sentence").await[0].starts_with("9 planned reminders will be withdrawn"));
        stage.browser.picture("reminder-remove-1280-light").await;
        stage.browser.follow("button.danger").await;
        assert!(stage.texts(".notice").await[0].starts_with("The reminder is removed."));
        stage.finish();
    });
}
