//! Sample data for the demo: a small company with two sites, some lists, a template, a week of messages, reminders, a
//! choir with a month of events, and two reports.

use std::sync::Arc;

use anyhow::Result;
use jiff::{SignedDuration, Timestamp};
use punctual_engine::{Actor, Engine, Handed, OwnUnit};
use punctual_model::{
    Audience, Cause, NewNotification, NotificationId, NotificationSource, Reach, ids::derive_uuid,
};
use punctual_reports::Sources;
use punctual_store::{
    Lane,
    business_units::{self, BusinessUnitRow},
    facts,
    lists::{self, ListRow},
    site_events::SiteEventRow,
    sites::{self, Contact},
    templates::{self, TemplateRow},
};
use punctual_workflows::{
    messages::{NewMessage, send_at},
    reminders::Providers,
    schedules::NewSchedule,
};
use serde_json::json;

/// Remembered once the samples are there, so that a second start adds nothing.
const FACT: &str = "demo.loaded";

pub async fn load(engine: &Engine, providers: &Arc<Providers>, reports: &Sources) -> Result<()> {
    let now = engine.clock.now();
    let mut reader = engine.store.read().await?;
    let loaded = facts::get(&mut reader.conn(), FACT).await?.is_some();
    drop(reader);
    if loaded {
        return Ok(());
    }
    definitions(engine, now).await?;
    super::channels::load(engine, now).await?;
    super::delivery_policy::load(engine, now).await?;
    sites(engine, now).await?;
    alarms(engine, now).await?;
    messages(engine, now).await?;
    schedules(engine, now).await?;
    super::reminders::load(engine, providers).await?;
    super::operations::load(engine, now).await?;
    super::surveys::load(engine).await?;
    super::reports::load(engine, reports).await?;
    let mut tx = engine.store.begin(Lane::Intake).await?;
    facts::put(&mut tx.conn(), now, FACT, "yes").await?;
    Ok(tx.commit().await?)
}

async fn definitions(engine: &Engine, now: Timestamp) -> Result<()> {
    let mut tx = engine.store.begin(Lane::Intake).await?;
    for (id, name, zone) in [("nz", "New Zealand", "Pacific/Auckland"), ("de", "Germany", "Europe/Berlin")] {
        let unit = BusinessUnitRow {
            id: id.into(),
            name: name.into(),
            time_zone: zone.into(),
            ..BusinessUnitRow::default()
        };
        business_units::put(&mut tx.conn(), now, &unit).await?;
    }
    for (name, targets) in [
        ("ops", json!(["ops@example.org", "night-shift@example.org"])),
        ("management", json!(["board@example.org"])),
    ] {
        let list = ListRow {
            name: name.into(),
            kind: "email".into(),
            channel: "email:default".into(),
            targets: targets.to_string(),
            business_unit: None,
            updated_at: Timestamp::UNIX_EPOCH,
        };
        lists::put(&mut tx.conn(), now, &Reach::Everything, &list).await?;
    }
    let variants = json!({
        "en": { "subject": "{{ document }} expires on {{ date }}",
                "body": "Hello {{ name }},\n\nyour {{ document }} expires on {{ date }}. Please renew it in time.\n" },
        "de": { "subject": "{{ document }} läuft am {{ date }} ab",
                "body": "Guten Tag {{ name }},\n\nIhr Dokument „{{ document }}“ läuft am {{ date }} ab.\n" }
    });
    let template = TemplateRow {
        name: "document-expiry".into(),
        default_locale: "en".into(),
        variants: variants.to_string(),
        version: 1,
        updated_at: Timestamp::UNIX_EPOCH,
    };
    templates::put(&mut tx.conn(), now, &template).await?;
    Ok(tx.commit().await?)
}

/// Two sites: one in touch, one that fell silent with a few rows in its buffer.
async fn sites(engine: &Engine, now: Timestamp) -> Result<()> {
    let silent_for = SignedDuration::from_hours(26);
    for (id, silent, backlog, offset) in
        [("plant-7", SignedDuration::ZERO, 0, 40), ("depot-2", silent_for, 3, -2_300)]
    {
        let then = now - silent;
        let mut tx = engine.store.begin(Lane::Intake).await?;
        sites::insert(&mut tx.conn(), now - SignedDuration::from_hours(24 * 30), id, None).await?;
        tx.commit().await?;
        let contact = Contact {
            agent: None,
            version: Some(env!("CARGO_PKG_VERSION").into()),
            backlog,
            oldest_buffered_age_seconds: (backlog > 0).then_some(540),
            refused: 0,
            clock_offset_ms: Some(offset),
        };
        let events = if backlog > 0 {
            vec![SiteEventRow {
                id: derive_uuid(&["demo", id, "event"]).to_string(),
                category: "Notification".into(),
                kind: "forward-failed".into(),
                began_at: then - SignedDuration::from_mins(9),
                last_at: then,
                count: 54,
                detail: "central did not answer: connection timed out".into(),
                seq: 0,
                site: id.into(),
            }]
        } else {
            Vec::new()
        };
        engine.note_contact(then, id, Some((contact, events))).await?;
    }
    Ok(())
}

/// What two remote sites had to say, one of it to a list that nobody has made: it ends up parked.
async fn alarms(engine: &Engine, now: Timestamp) -> Result<()> {
    let reported = [
        ("plant-7", "ops", "Pump 7: pressure low", "1.8 bar, expected 2.5 to 3.0"),
        ("plant-7", "ops", "Pump 7: pressure back to normal", "2.7 bar"),
        ("depot-2", "ops", "Nightly backup finished", "412 GB in 3 h 12 min"),
        ("depot-2", "cold-chain", "Freezer 3 is at −11 °C", "The door was open for 14 minutes."),
    ];
    let items: Vec<NewNotification> = reported
        .into_iter()
        .map(|(site, list, subject, body)| {
            let id = NotificationId(derive_uuid(&["demo", site, subject]));
            let mut item = NewNotification::new(id, Audience::List(list.into()), subject, body);
            item.source = NotificationSource {
                site: Some(site.into()),
                instance: Some("1".into()),
                script: Some("watch.sh".into()),
            };
            item.site_enqueued_at = Some(now - SignedDuration::from_secs(40));
            item
        })
        .collect();
    engine.accept(items.into_iter().map(Handed::stored).collect()).await?;
    Ok(())
}

async fn messages(engine: &Engine, now: Timestamp) -> Result<()> {
    let people = [
        ("Aroha", "First aid certificate", "en"),
        ("Jonas", "Staplerschein", "de"),
        ("Mere", "Police vetting", "en"),
    ];
    let new: Vec<NewMessage> = people
        .into_iter()
        .zip(1_i64..)
        .map(|((name, document, locale), days)| {
            let address = format!("{}@example.org", name.to_lowercase());
            let id = NotificationId(Default::default());
            let mut content = NewNotification::new(id, Audience::Targets(vec![address]), "", "");
            content.template = Some("document-expiry".into());
            content.locale = Some(locale.into());
            let day = (now + SignedDuration::from_hours(24 * (days + 7))).strftime("%Y-%m-%d").to_string();
            content.context = Some(json!({ "name": name, "document": document, "date": day }));
            let send_at = now + SignedDuration::from_hours(24 * days);
            let content = Handed::stored(content);
            NewMessage { id: format!("demo-{}", name.to_lowercase()), send_at, content, revive: false }
        })
        .collect();
    send_at(engine, &Actor::named("demo"), &new).await?;
    Ok(())
}

async fn schedules(engine: &Engine, now: Timestamp) -> Result<()> {
    let mut rows = Vec::new();
    for day in 1..=7 {
        let new = NewSchedule {
            key: format!("demo-daily-{day}"),
            topic: "demo.daily-close".into(),
            run_at: now + SignedDuration::from_hours(24 * day),
            time_zone: None,
            payload: json!({ "day": day }),
            business_unit: OwnUnit::stored(Some("nz".into())),
        };
        rows.push(new.into_work()?);
    }
    engine.ensure(&rows, Cause::Machine).await?;
    Ok(())
}
