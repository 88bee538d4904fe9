//! What lies ahead, and why something was or was not sent.

use std::collections::{BTreeMap, BTreeSet};

use jiff::{ToSpan, civil::Date};
use punctual_testkit::{TestBed, on_both};
use serde_json::{Value, json};

use crate::{
    client::Client,
    reminders::{document, first_aid, put_source, sent_at, setting, unit},
    report_ownership::at_stage,
    reports::{subscribe, weekly},
    surveys::{csi_gr, instance, published, visit},
};

on_both! {
    the_forecast_counts_what_lies_ahead;
    the_same_day_has_the_same_entries_whatever_is_asked_for;
    every_workflow_has_the_same_entries_on_a_day_whatever_is_asked_for;
    why_shows_the_whole_timeline;
    what_is_planned_is_counted_by_what_asked_for_it;
    what_sends_nothing_is_no_message_of_the_forecast;
    quiet_hours_move_a_reminder_and_do_not_make_it_late;
}

async fn the_forecast_counts_what_lies_ahead(bed: TestBed) {
    let client = Client::new(&bed).await;
    unit(&client, "nz", "Pacific/Auckland").await;
    unit(&client, "de", "Europe/Berlin").await;
    setting(&client, first_aid(|_| {})).await;
    put_source(&client, "document/1", document("2026-06-20")).await;
    put_source(&client, "document/2", document("2026-06-20")).await;
    let mut german = document("2026-06-20");
    german["businessUnit"] = json!("de");
    put_source(&client, "document/3", german).await;
    let message = json!({ "id": "m", "sendAt": "2026-06-13T12:00:00Z", "targets": ["x"], "channel": "memory:default",
        "subject": "S", "body": "B" });
    client.post("/api/v1/messages", message).await.expect(201);
    let ahead = client.get("/api/v1/forecast?from=2026-06-01&to=2026-06-15").await.expect(200);
    let days: Vec<(&str, &str, u64)> = ahead["days"]
        .as_array()
        .unwrap()
        .iter()
        .map(|day| {
            (
                day["localDate"].as_str().unwrap(),
                day["timeZone"].as_str().unwrap(),
                day["count"].as_u64().unwrap(),
            )
        })
        .collect();
    let expected =
        [("2026-06-13", "Europe/Berlin", 1), ("2026-06-13", "Pacific/Auckland", 2), ("2026-06-13", "UTC", 1)];
    assert_eq!(days, expected);
    assert_eq!(ahead["days"][1]["byPath"], json!({ "reminder": 2 }));
    assert_eq!(ahead["days"][1]["recipients"], 2, "one address each");
    assert_eq!(ahead["days"][1]["items"][0]["title"], "First aid, document 1: 7 days before 20 Jun");
    assert_eq!(ahead["days"][1]["items"][0]["dueAt"], "2026-06-12T21:00:00Z");
    let germans =
        client.get("/api/v1/forecast?from=2026-06-01&to=2026-06-15&businessUnit=de").await.expect(200);
    assert_eq!(germans["days"].as_array().unwrap().len(), 1);
    client.get("/api/v1/forecast?from=2026-06-15&to=2026-06-01").await.refused(422, "out_of_range");
    client.get("/api/v1/forecast?from=never").await.refused(422, "date_invalid");
    bed.leaves_open("what lies ahead");
}

async fn the_same_day_has_the_same_entries_whatever_is_asked_for(bed: TestBed) {
    let client = Client::new(&bed).await;
    unit(&client, "nz", "Pacific/Auckland").await;
    // Quiet hours move one from the evening to the next morning, and a yearly one is planned long before.
    setting(
        &client,
        first_aid(|body| {
            body["date"] = json!({ "field": "/expiresOn", "offsetsDays": [1], "sendTime": "23:00" });
            body["delivery"]["quietHours"] = json!({ "from": "22:00", "to": "07:00" });
        }),
    )
    .await;
    setting(
        &client,
        first_aid(|body| {
            body["name"] = json!("Yearly");
            body["triggerKey"] = json!("yearly");
            body["kind"] = json!("recurring");
            body.as_object_mut().unwrap().remove("date");
            body["recurring"] = json!({ "field": "/issuedOn", "every": "year", "sendTime": "09:00" });
        }),
    )
    .await;
    let mut source = document("2027-06-14");
    source["state"]["issuedOn"] = json!("2020-06-14");
    put_source(&client, "document/1", source).await;
    let day = async |query: &str| {
        let found = client.get(&format!("/api/v1/forecast?{query}")).await.expect(200);
        let days = found["days"].as_array().unwrap();
        let day = days.iter().find(|day| day["localDate"] == "2027-06-14");
        day.cloned().unwrap_or_default()
    };
    let whole = day("from=2027-06-01&to=2027-06-30").await;
    let titles: Vec<_> =
        whole["items"].as_array().unwrap().iter().map(|item| item["title"].clone()).collect();
    assert_eq!(titles.len(), 2, "{whole}");
    assert!(whole["items"].as_array().unwrap().iter().all(|item| item["kind"] == "message"));
    for query in [
        "from=2027-06-14&to=2027-06-14",
        "from=2027-06-14T10:00:00Z&to=2027-06-20",
        "from=2026-06-14&to=2027-06-14",
        "from=2027-06-10T00:00:00Z&to=2027-06-14T02:00:00Z",
    ] {
        let mut found = day(query).await;
        let mut expected = whole.clone();
        for day in [&mut found, &mut expected] {
            let items = day["items"].as_array_mut().unwrap();
            items.sort_by_key(|item| item["key"].as_str().unwrap().to_owned());
        }
        assert_eq!(found, expected, "{query}");
    }
    bed.leaves_open("what lies ahead");
}

/// What each day has of every workflow is the same in any stretch that is asked for, by days or by instants.
async fn every_workflow_has_the_same_entries_on_a_day_whatever_is_asked_for(bed: TestBed) {
    let client = Client::new(&bed).await;
    unit(&client, "nz", "Pacific/Auckland").await;
    unit(&client, "de", "America/Los_Angeles").await;
    setting(&client, first_aid(|_| {})).await;
    for (id, unit, expires) in
        [("1", "nz", "2026-06-20"), ("2", "de", "2026-06-21"), ("3", "nz", "2026-07-02")]
    {
        let mut source = document(expires);
        source["businessUnit"] = json!(unit);
        put_source(&client, &format!("document/{id}"), source).await;
    }
    for (id, at) in
        [("a", "2026-06-13T00:00:00Z"), ("b", "2026-06-13T23:59:59Z"), ("c", "2026-06-30T12:00:00Z")]
    {
        let message = json!({ "id": id, "sendAt": at, "targets": ["x"], "channel": "memory:default", "subject": "S", "body": "B" });
        client.post("/api/v1/messages", message).await.expect(201);
    }
    let event = json!({ "title": "T", "startDate": "2026-06-14T06:00:00Z", "endDate": "2026-06-15T06:00:00Z", "creator": "x" });
    client.post("/api/v1/operations/events", event).await.expect(201);
    published(&client, csi_gr()).await;
    instance(&client, visit("1")).await;
    subscribe(&client, weekly(|_| {})).await;
    subscribe(
        &client,
        weekly(|body| body["cadence"] = json!({ "cron": "30 23 * * *", "timeZone": "Pacific/Auckland" })),
    )
    .await;
    type Entries = BTreeMap<(String, String), (Value, Vec<String>)>;
    let asked = async |from: &str, to: &str| -> Entries {
        let found = client.get(&format!("/api/v1/forecast?from={from}&to={to}")).await.expect(200);
        let text = |day: &Value, name: &str| day[name].as_str().unwrap().to_owned();
        let day = |day: &Value| {
            let items = day["items"].as_array().unwrap().iter();
            let mut items: Vec<String> = items.map(ToString::to_string).collect();
            items.sort();
            (
                (text(day, "localDate"), text(day, "timeZone")),
                (json!([day["count"], day["byPath"], day["recipients"]]), items),
            )
        };
        found["days"].as_array().unwrap().iter().map(day).collect()
    };
    let whole = asked("2026-05-14", "2026-07-26").await;
    let kinds: BTreeSet<&str> = whole
        .values()
        .flat_map(|(_, items)| items)
        .filter_map(|item| item.split("\"key\":\"").nth(1)?.split(':').next())
        .collect();
    let known = ["message", "operations", "reminder", "report-subscription", "survey"];
    assert_eq!(kinds.into_iter().collect::<Vec<_>>(), known);
    let first: Date = "2026-05-15".parse().unwrap();
    for start in (0..62).step_by(4) {
        for length in [0, 1, 9] {
            let from = first.checked_add(start.days()).unwrap();
            let to = from.checked_add(length.days()).unwrap();
            let by_days = asked(&from.to_string(), &to.to_string()).await;
            let by_instants = asked(&format!("{from}T13:37:00Z"), &format!("{to}T21:03:00Z")).await;
            for (day, entries) in by_days.iter().chain(&by_instants) {
                assert_eq!(Some(entries), whole.get(day), "{day:?} of {from} to {to}");
            }
            // Every day that was asked for is there.
            let within = |day: &&(String, String)| (from..=to).contains(&day.0.parse::<Date>().unwrap());
            let wanted: Vec<_> = whole.keys().filter(within).collect();
            assert_eq!(by_days.keys().filter(within).collect::<Vec<_>>(), wanted, "{from} to {to}");
        }
    }
    bed.leaves_open("what lies ahead");
}

async fn why_shows_the_whole_timeline(bed: TestBed) {
    let client = Client::new(&bed).await;
    unit(&client, "nz", "Pacific/Auckland").await;
    setting(&client, first_aid(|_| {})).await;
    setting(
        &client,
        first_aid(|body| {
            body["name"] = json!("Police vetting");
            body["triggerKey"] = json!("vetting");
            body["filter"]["value"] = json!("police-vetting");
        }),
    )
    .await;
    put_source(&client, "document/42", document("2026-06-20")).await;
    client.advance("30d").await;
    let why = async |date: &str| {
        let reported =
            client.get(&format!("/api/v1/why?sourceType=document&sourceId=42&date={date}")).await.expect(200);
        let steps = reported["decisions"].as_array().unwrap().clone();
        steps
            .iter()
            .map(|step| {
                let text = |name: &str| step[name].as_str().unwrap_or("-").to_owned();
                format!("{} {} {}", text("setting"), text("outcome"), text("reason"))
            })
            .collect::<Vec<_>>()
    };
    let sent = why("2026-06-13").await;
    assert_eq!(
        sent,
        ["First aid planned -", "First aid completed -", "Police vetting notWanted filter-false"]
    );
    let other = why("2026-06-14").await;
    assert_eq!(other, ["First aid otherDay -", "Police vetting notWanted filter-false"]);
    let reported =
        client.get("/api/v1/why?sourceType=document&sourceId=42&date=2026-06-14").await.expect(200);
    assert_eq!(
        reported["decisions"][0]["values"]["planned"],
        json!(["2026-05-21", "2026-06-13", "2026-06-19"])
    );
    assert_eq!(reported["decisions"][1]["values"]["state.kind"], "first-aid");
    client.delete("/api/v1/sources/document/42").await.expect(204);
    let gone = why("2026-06-19").await;
    assert!(gone.contains(&"First aid deactivate SourceNoLongerValid".to_owned()), "{gone:?}");
    client.get("/api/v1/why?sourceType=document&sourceId=43&date=2026-06-14").await.refused(404, "not_found");
    client.get("/api/v1/why?sourceType=document").await.refused(422, "missing_field");
}

async fn what_is_planned_is_counted_by_what_asked_for_it(bed: TestBed) {
    let client = Client::new(&bed).await;
    unit(&client, "nz", "Pacific/Auckland").await;
    let id = setting(&client, first_aid(|_| {})).await;
    put_source(&client, "document/42", document("2026-07-20")).await;
    put_source(&client, "document/42", document("2026-08-20")).await;
    let path = format!("/api/v1/reminder-settings/{id}");
    let date = json!({ "field": "/expiresOn", "offsetsDays": [30], "sendTime": "08:00" });
    client.patch(&path, json!({ "date": date })).await.expect(200);
    let reported = client.get("/metrics").await;
    for line in [
        r#"punctual_work_planned_total{by="event",outcome="created"} 6"#,
        r#"punctual_work_planned_total{by="event",outcome="deactivated"} 3"#,
        r#"punctual_work_planned_total{by="reminder-change",outcome="updated"} 1"#,
        r#"punctual_work_planned_total{by="reminder-change",outcome="deactivated"} 2"#,
    ] {
        assert!(reported.text.contains(line), "{line} in {}", reported.text);
    }
    bed.leaves_open("what is planned");
}

/// A link that runs out and a report that the old scheduler still makes are ahead, and are no messages.
async fn what_sends_nothing_is_no_message_of_the_forecast(bed: TestBed) {
    let client = Client::new(&bed).await;
    let mut schema = csi_gr();
    schema["triggers"][0]["schedule"] = json!({ "initialDelay": "0d", "reminders": [] });
    published(&client, schema).await;
    instance(&client, visit("1")).await;
    bed.tick().await;
    let guid = subscribe(&client, weekly(|_| {})).await;
    at_stage(&client, &guid, 1).await;
    let ahead = client.get("/api/v1/forecast?from=2026-05-14&to=2026-08-01").await.expect(200);
    let mut kinds = std::collections::BTreeMap::<String, u64>::new();
    for day in ahead["days"].as_array().unwrap() {
        let items = day["items"].as_array().unwrap();
        let messages =
            items.iter().filter(|item| ["message", "run"].contains(&item["kind"].as_str().unwrap()));
        assert_eq!(day["count"], messages.count(), "{day}");
        for item in items {
            *kinds.entry(item["kind"].as_str().unwrap().to_owned()).or_default() += 1;
        }
    }
    assert!(kinds.contains_key("expiry") && kinds.contains_key("shadow"), "{kinds:?} {ahead}");
    assert!(!kinds.contains_key("message"), "{ahead}");
    bed.leaves_open("what lies ahead");
}

async fn quiet_hours_move_a_reminder_and_do_not_make_it_late(bed: TestBed) {
    let client = Client::new(&bed).await;
    unit(&client, "nz", "Pacific/Auckland").await;
    let id = setting(
        &client,
        first_aid(|body| {
            body["date"] = json!({ "field": "/expiresOn", "offsetsDays": [1], "sendTime": "22:30" });
            body["delivery"]["quietHours"] = json!({ "from": "22:00", "to": "07:00" });
        }),
    )
    .await;
    put_source(&client, "document/42", document("2026-05-20")).await;
    let ahead = client.get("/api/v1/forecast?from=2026-05-14&to=2026-05-30").await.expect(200);
    assert_eq!(ahead["days"][0]["localDate"], "2026-05-20", "{ahead}");
    assert_eq!(ahead["days"][0]["items"][0]["reason"], "quiet-hours");
    client.advance("6d").await;
    // 07:00 in Auckland, on the next local day.
    assert_eq!(sent_at(&bed), ["2026-05-19T19:00:00Z"]);
    assert_eq!(
        bed.work(&format!("reminder:{id}:document:42:first-aid-expiry:2026-05-20:1")).await.status.as_str(),
        "completed"
    );
}
