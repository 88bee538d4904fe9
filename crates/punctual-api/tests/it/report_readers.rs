//! People who are known get a report in their own language and zone; it is written once for each way of reading.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use futures_util::future::BoxFuture;
use punctual_model::{
    Decimal,
    table::{Cell, Column, Kind, Table},
};
use punctual_reports::{Asked, Builtin, FetchFault};
use punctual_store::Store;
use punctual_testkit::{TestBed, on_both};
use serde_json::{Value, json};

use crate::{
    client::Client,
    reports::{run, runs, subscribe, weekly, with_sources},
};

on_both! {
    people_get_a_report_as_they_read_and_it_is_written_once_for_each_way;
    a_list_whose_members_read_alike_stays_a_list;
    members_of_a_list_who_read_differently_are_written_to_over_its_channel;
    t11_a_person_of_another_unit_is_read_to_as_a_stranger;
}

/// A table with a number and a time of day; it counts how often it is asked for.
struct Numbers(Arc<AtomicUsize>);

impl Builtin for Numbers {
    fn key(&self) -> &'static str {
        "numbers"
    }

    fn fetch<'a>(
        &'a self,
        _own: &'a Store,
        _asked: &'a Asked,
        _settings: &'a Value,
    ) -> BoxFuture<'a, Result<Table, FetchFault>> {
        self.0.fetch_add(1, Ordering::Relaxed);
        let columns = vec![Column::new("revenue", Kind::Decimal), Column::new("at", Kind::Instant)];
        let at = Cell::Instant("2026-05-17T06:30:00Z".parse().unwrap());
        let rows = vec![vec![Cell::Decimal(Decimal::of_cell("1234.50").unwrap()), at]];
        Box::pin(async move { Ok(Table { columns, rows, truncated: false }) })
    }
}

async fn company(bed: &TestBed) -> (TestBed, Client, Arc<AtomicUsize>) {
    let asked = Arc::new(AtomicUsize::new(0));
    let numbers = Arc::new(Numbers(asked.clone()));
    let (bed, client) = with_sources(bed, |sources| sources.with_builtin(numbers)).await;
    for (id, locale, zone) in [
        ("ada", json!("de"), json!("Europe/Berlin")),
        ("eva", json!("de"), json!("Europe/Berlin")),
        ("ken", json!("en-US"), json!("America/New_York")),
        ("may", json!(null), json!(null)),
    ] {
        let mut person = json!({ "name": id, "email": format!("{id}@b.example") });
        for (name, value) in [("locale", locale), ("timeZone", zone)] {
            if !value.is_null() {
                person[name] = value;
            }
        }
        client.put(&format!("/api/v1/operations/people/{id}"), person).await.expect(200);
    }
    (bed, client, asked)
}

fn numbers(recipients: Value) -> Value {
    weekly(|body| {
        body["report"] = json!({ "source": { "builtin": "numbers" }, "format": ["html", "csv"],
            "chart": { "kind": "bar", "x": "at", "y": ["revenue"] } });
        body["recipients"] = recipients;
    })
}

async fn the_run(client: &Client, guid: &str) -> Value {
    let all = runs(client, guid).await;
    let done = all.iter().find(|run| run["status"] == "completed").unwrap_or_else(|| panic!("{all:?}"));
    run(client, guid, done["key"].as_str().unwrap()).await
}

async fn people_get_a_report_as_they_read_and_it_is_written_once_for_each_way(bed: TestBed) {
    let (bed, client, asked) = company(&bed).await;
    let addresses = ["ada", "eva", "ken", "may", "who"].map(|name| format!("{name}@b.example"));
    let guid = subscribe(&client, numbers(json!({ "addresses": addresses }))).await;
    bed.run_to("2026-05-18T06:00:00Z").await;
    let sent = bed.sent();
    let html = |name: &str| {
        let own = sent.iter().find(|one| one.address == format!("{name}@b.example")).unwrap();
        assert!(own.subject.ends_with("2026-05-11 – 2026-05-17"), "the period is the subscription's");
        assert!(own.attachments.contains(&"report-2026-05-11.csv".to_owned()), "{:?}", own.attachments);
        own.html.clone().unwrap()
    };
    #[track_caller]
    fn has(html: &str, texts: &[&str]) {
        texts.iter().for_each(|text| assert!(html.contains(text), "{text}: {html}"));
    }
    has(&html("ada"), &["1.234,50", "17.05.2026 08:30", "11.05.2026 – 17.05.2026"]);
    assert_eq!(html("ada"), html("eva"));
    has(&html("ken"), &["1,234.50", "May 17, 2026 2:30\u{a0}AM", "May 11, 2026 – May 17, 2026"]);
    has(&html("who"), &["1,234.50", "17 May 2026 08:30", "11 May 2026 – 17 May 2026"]);
    assert_eq!(html("may"), html("who"), "what a person does not say is as the subscription has it");
    assert_eq!(asked.load(Ordering::Relaxed), 1, "one look at the source");

    let done = the_run(&client, &guid).await;
    assert_eq!(done["notifications"].as_array().unwrap().len(), 3, "{done}");
    assert_eq!(done["coordinates"]["notifications"].as_array().unwrap().len(), 3);
    let mut names: Vec<&str> =
        done["artefacts"].as_array().unwrap().iter().map(|file| file["name"].as_str().unwrap()).collect();
    names.retain(|name| name.ends_with(".csv"));
    names.sort_unstable();
    let tagged = ["report-2026-05-11.csv", "report-2026-05-11.de.Europe-Berlin.csv"];
    assert_eq!(names, [tagged[0], tagged[1], "report-2026-05-11.en-US.America-New_York.csv"]);
    for file in done["artefacts"].as_array().unwrap() {
        assert!(file["locale"].is_string() && file["timeZone"].is_string(), "{file}");
        assert_eq!(client.get(file["href"].as_str().unwrap()).await.status, 200);
    }
}

async fn a_list_whose_members_read_alike_stays_a_list(bed: TestBed) {
    let (bed, client, _) = company(&bed).await;
    bed.list("ops", "email:default", &["ada@b.example", "eva@b.example"]).await;
    let guid = subscribe(&client, numbers(json!({ "list": "ops" }))).await;
    bed.run_to("2026-05-18T06:00:00Z").await;
    assert_eq!(bed.sent_to(), ["ada@b.example", "eva@b.example"]);
    assert!(bed.sent()[0].html.as_ref().unwrap().contains("1.234,50"));
    let done = the_run(&client, &guid).await;
    let id = done["notifications"][0]["id"].as_str().unwrap();
    assert_eq!(done["notifications"].as_array().unwrap().len(), 1);
    let notification = client.get(&format!("/api/v1/notifications/{id}")).await.expect(200);
    assert_eq!(notification["list"], "ops", "{notification}");
}

async fn members_of_a_list_who_read_differently_are_written_to_over_its_channel(bed: TestBed) {
    let (bed, client, _) = company(&bed).await;
    bed.channel("email:second", "memory").await;
    bed.list("ops", "email:second", &["ada@b.example", "who@b.example"]).await;
    let mut body = numbers(json!({ "list": "ops" }));
    body.as_object_mut().unwrap().remove("channel");
    let guid = subscribe(&client, body).await;
    bed.run_to("2026-05-18T06:00:00Z").await;
    let mut to = bed.sent_to();
    to.sort_unstable();
    assert_eq!(to, ["ada@b.example", "who@b.example"]);
    let done = the_run(&client, &guid).await;
    let channels: Vec<&Value> =
        done["notifications"].as_array().unwrap().iter().map(|one| &one["channel"]).collect();
    assert_eq!(channels, ["email:second", "email:second"]);
}

async fn t11_a_person_of_another_unit_is_read_to_as_a_stranger(bed: TestBed) {
    let (bed, client, _) = company(&bed).await;
    let uwe = json!({ "name": "Uwe", "email": "uwe@b.example", "locale": "de", "businessUnit": "de" });
    client
        .put("/api/v1/business-units/de", json!({ "name": "DE", "timeZone": "Europe/Berlin" }))
        .await
        .expect(200);
    client.put("/api/v1/operations/people/uwe", uwe).await.expect(200);
    let addresses = json!({ "addresses": ["uwe@b.example", "who@b.example", "ada@b.example"] });
    subscribe(&client, numbers(addresses)).await;
    bed.run_to("2026-05-18T06:00:00Z").await;
    let sent = bed.sent();
    let html = |name: &str| {
        let own = sent.iter().find(|one| one.address == format!("{name}@b.example"));
        own.unwrap().html.clone().unwrap()
    };
    assert_eq!(html("uwe"), html("who"));
    assert_ne!(html("ada"), html("who"), "one without a unit is known to all");
}
