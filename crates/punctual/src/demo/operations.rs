//! A small organisation with a month of events and a few tasks.

use anyhow::Result;
use jiff::{SignedDuration, Timestamp, ToSpan, civil::Date, tz::TimeZone};
use punctual_engine::{Actor, Engine, OwnUnit};
use punctual_model::{Priority, delivery_policy::Handling, ids::derive_uuid, local_time};
use punctual_store::operations::{organisations::OrganisationRow, people::PersonRow};
use punctual_wire::operations::texts::RuleTexts;
use punctual_workflows::operations::{
    Anchor, RuleSpec, SubjectType,
    commands::{self, DefaultRule, NewSubject},
    directory,
};
use serde_json::json;

const ORGANISATION: &str = "harbour-choir";
const ZONE: &str = "Pacific/Auckland";
const PEOPLE: [(&str, &str, &str); 5] = [
    ("aroha", "Aroha", "Pacific/Auckland"),
    ("mere", "Mere", "Pacific/Auckland"),
    ("tane", "Tāne", "Pacific/Auckland"),
    ("jonas", "Jonas", "Europe/Berlin"),
    ("lina", "Lina", "America/New_York"),
];

pub async fn load(engine: &Engine, now: Timestamp) -> Result<()> {
    define(engine).await?;
    let zone = local_time::zone(ZONE)?;
    let today = zone.to_datetime(now).date();
    let mut new = Vec::new();
    for day in 0..31_i64 {
        let date = today.checked_add(day.days())?;
        new.extend(of_the_day(date, &zone)?);
    }
    commands::create(engine, &Actor::named("demo"), &new).await?;
    Ok(())
}

async fn define(engine: &Engine) -> Result<()> {
    let channels = || vec!["email".to_owned(), "sms".to_owned()];
    let rules = [
        DefaultRule {
            rule: RuleSpec::Relative { anchor: Anchor::Start, offset: "-24h".into() },
            channels: channels(),
            handling: Handling { topic: Some("rehearsals".into()), ..Handling::default() },
            message: RuleTexts {
                subject: Some("Tomorrow: {{ title }}".into()),
                body: Some("{{ title }} starts {{ whenLabel }}. Please bring your scores.\n".into()),
                html: None,
            },
        },
        DefaultRule {
            rule: RuleSpec::AtSubjectDate { anchor: Anchor::Start },
            channels: channels(),
            handling: Handling { priority: Some(Priority::High), ..Handling::default() },
            message: RuleTexts::default(),
        },
    ];
    let organisation = OrganisationRow {
        id: ORGANISATION.into(),
        name: "Harbour Choir".into(),
        time_zone: Some(ZONE.into()),
        all_day_at: Some("09:00".into()),
        rules: Some(serde_json::to_string(&rules)?),
        business_unit: None,
        updated_at: Timestamp::UNIX_EPOCH,
    };
    directory::put_organisation(engine, &Actor::named("demo"), &organisation).await?;
    for (id, name, zone) in PEOPLE {
        let person = PersonRow {
            id: id.into(),
            name: name.into(),
            email: Some(format!("{id}@example.org")),
            time_zone: Some(zone.into()),
            locale: Some("en".into()),
            // Tāne is notified by text message first, and by mail where that does not reach him.
            channels: if id == "tane" { json!(["sms", "email"]) } else { json!(["email"]) }.to_string(),
            addresses: if id == "tane" { json!({"sms": "+6421555010"}) } else { json!({}) }.to_string(),
            business_unit: None,
            updated_at: Timestamp::UNIX_EPOCH,
        };
        directory::put_person(engine, &Actor::named("demo"), &person).await?;
    }
    Ok(())
}

/// What happens on one day: rehearsals, a planning call, a concert, and what has to be done for them.
fn of_the_day(date: Date, zone: &TimeZone) -> Result<Vec<NewSubject>> {
    let at = |hour: i8, minute: i8| local_time::resolve(date, jiff::civil::time(hour, minute, 0, 0), zone).at;
    let whole_day = TimeZone::UTC.to_timestamp(date.to_datetime(jiff::civil::Time::midnight()))?;
    let everybody: Vec<&str> = PEOPLE.iter().map(|(id, _, _)| *id).collect();
    let event = |title: &str, start: Timestamp, hours: i64, people: &[&str]| NewSubject {
        id: derive_uuid(&["demo", title, &date.to_string()]).to_string(),
        subject_type: SubjectType::Event,
        title: title.into(),
        start_at: Some(start),
        end_at: Some(start + SignedDuration::from_hours(hours)),
        is_all_day: false,
        creator: "aroha".into(),
        people: people.iter().map(|id| (*id).to_owned()).collect(),
        organisation: Some(ORGANISATION.into()),
        time_zone: None,
        business_unit: OwnUnit::default(),
        ical_uid: None,
        ical_series: None,
        location: None,
        description: None,
    };
    Ok(match date.weekday() {
        jiff::civil::Weekday::Tuesday => vec![event("Rehearsal", at(19, 0), 2, &everybody)],
        jiff::civil::Weekday::Thursday => {
            vec![event("Planning call", at(8, 30), 1, &["mere", "jonas", "lina"])]
        }
        jiff::civil::Weekday::Saturday if date.day() > 14 => {
            vec![event("Concert at the wharf", at(17, 0), 3, &everybody)]
        }
        jiff::civil::Weekday::Sunday => {
            let mut open = event("Open day", whole_day, 0, &["tane"]);
            open.is_all_day = true;
            vec![open]
        }
        jiff::civil::Weekday::Friday => {
            let mut task = event("Print the programme", at(9, 0), 6, &["tane"]);
            task.subject_type = SubjectType::Task;
            vec![task]
        }
        _ => Vec::new(),
    })
}
