//! The pages of reminders: the list, the editor with its plan, the sources, the calendar, and why.

use std::sync::Arc;

use punctual_engine::{
    Event, EventSinks,
    events::{SOURCE_CHANGED, Told},
};
use punctual_paths::reminders::{Providers, ReminderSink};
use punctual_store::sources::SourceChange;
use punctual_testkit::{Bed, on_both};
use punctual_wire::keys::Scope;
use serde_json::{Value, json};

use crate::client::{Client, attribute, rows};

on_both! {
    a_setting_is_planned_before_it_is_saved;
    a_definition_that_is_wrong_keeps_its_text_and_names_the_field;
    only_those_who_may_write_see_the_buttons;
    sources_and_the_calendar_show_what_is_planned;
}

pub fn definition() -> Value {
    json!({ "name": "First aid", "sourceType": "document", "triggerKey": "first-aid", "kind": "dateBased",
        "date": { "field": "/expiresOn", "offsetsDays": [30, 7, 1] },
        "recipients": { "addresses": ["a@b.example"] }, "delivery": { "channel": "email:default" } })
}

/// Tells the state of a source, as the API does.
pub async fn tell(bed: &Bed, kind: &str, id: &str, state: &Value) {
    let event = Event {
        id: "1".into(),
        source: "/test".into(),
        kind: SOURCE_CHANGED.into(),
        subject: Some(format!("{kind}/{id}")),
        sequence: None,
        time: bed.now(),
        data: Value::Null,
        business_units: None,
    };
    let change = SourceChange {
        source_type: kind.into(),
        source_id: id.into(),
        business_unit: None,
        active: true,
        deleted: false,
        state: state.to_string(),
        sequence: None,
        occurred_at: bed.now(),
    };
    let mut sinks = EventSinks::default();
    sinks.add(Arc::new(ReminderSink::new(Arc::new(Providers::built_in()))));
    bed.engine.take_events(&sinks, &[Told { event, change: Some(change) }]).await.unwrap();
}

async fn a_setting_is_planned_before_it_is_saved(bed: Bed) {
    let client = Client::admin(&bed).await;
    assert!(client.page("/reminders").await.contains("No reminders yet"));
    assert!(client.page("/sources").await.contains("No sources yet"));
    tell(&bed, "document", "42", &json!({ "expiresOn": "2026-06-20" })).await;
    let text = definition().to_string();
    let planned = client.act("/reminders/plan", &[("id", ""), ("version", ""), ("definition", &text)]).await;
    assert_eq!(planned.status, 200, "{}", planned.text);
    assert!(planned.text.contains("<dt>created</dt><dd>3</dd>"), "{}", planned.text);
    assert!(client.page("/reminders").await.contains("No reminders yet"), "a plan changes nothing");
    let saved = client.act("/reminders/save", &[("id", ""), ("version", ""), ("definition", &text)]).await;
    saved.leads_to("/reminders?saved=yes");
    let list = client.page("/reminders?saved=yes").await;
    assert!(
        list.contains("1 setting, 1 active.") && list.contains("30 days before, 7 days before, 1 day before"),
        "{list}"
    );
    let id = rows(&list).remove(0);
    let editor = client.page(&format!("/reminders/{id}")).await;
    assert_eq!(attribute(&editor, "name=\"version\" value=\""), "1");
    let mut change = definition();
    change["date"]["offsetsDays"] = json!([14]);
    let fields = [("id", id.as_str()), ("version", "1"), ("definition", &change.to_string())];
    let planned = client.act("/reminders/plan", &fields).await;
    assert!(
        planned.text.contains("<dt>created</dt><dd>1</dd>")
            && planned.text.contains("<dt>taken back</dt><dd>3</dd>"),
        "{}",
        planned.text
    );
    client.act("/reminders/save", &fields).await.leads_to("/reminders?saved=yes");
    client.act("/reminders/save", &fields).await.refused(409, "stale_version");
    let page = client.page("/sources/document/42").await;
    assert!(
        page.contains("1 reminder is planned.") && page.contains("Another date or setting took its place"),
        "{page}"
    );
    bed.run_for(60 * 86_400).await;
    assert_eq!(bed.sent().len(), 1);
    let told = bed.audit("reminder-setting", &id).await;
    assert_eq!(told, ["create", "change"]);
}

async fn a_definition_that_is_wrong_keeps_its_text_and_names_the_field(bed: Bed) {
    let client = Client::admin(&bed).await;
    let mut wrong = definition();
    wrong["date"]["sendTime"] = json!("25:00");
    let fields = [("id", ""), ("version", ""), ("definition", &*wrong.to_string())];
    for path in ["/reminders/plan", "/reminders/save"] {
        let reply = client.act(path, &fields).await;
        assert_eq!(reply.status, 200, "{}", reply.text);
        assert!(
            reply.text.contains("<code>/date/sendTime</code>") && reply.text.contains("25:00"),
            "{}",
            reply.text
        );
    }
    let fields = [("id", ""), ("version", ""), ("definition", "{\"name\": <script>")];
    let reply = client.act("/reminders/plan", &fields).await;
    assert!(reply.text.contains("json_syntax") && reply.text.contains("&#60;script&#62;"), "{}", reply.text);
    assert!(client.page("/reminders").await.contains("No reminders yet"));
    client.get("/reminders/none").await.refused(404, "not_found");
}

async fn only_those_who_may_write_see_the_buttons(bed: Bed) {
    let admin = Client::admin(&bed).await;
    let text = definition().to_string();
    let fields = [("id", ""), ("version", ""), ("definition", text.as_str())];
    admin.act("/reminders/save", &fields).await.leads_to("/reminders?saved=yes");
    let reader = admin.with_key(&[Scope::Read], None).await;
    let list = reader.page("/reminders").await;
    assert!(!list.contains("New reminder"), "{list}");
    let id = rows(&list).remove(0);
    let one = reader.page(&format!("/reminders/{id}")).await;
    assert!(one.contains("readonly") && !one.contains("Show what it would do"), "{one}");
    reader.act("/reminders/save", &fields).await.refused(403, "scope_missing");
    reader.get("/reminders/new").await.refused(403, "scope_missing");
    let limited = admin.with_key(&[Scope::Read, Scope::Author], Some(&["nz"])).await;
    let reply = limited.act("/reminders/save", &fields).await;
    assert!(reply.text.contains("<code>/businessUnit</code>"), "{}", reply.text);
}

async fn sources_and_the_calendar_show_what_is_planned(bed: Bed) {
    let client = Client::admin(&bed).await;
    let text = definition().to_string();
    client
        .act("/reminders/save", &[("id", ""), ("version", ""), ("definition", &text)])
        .await
        .leads_to("/reminders?saved=yes");
    for id in 0..60 {
        tell(&bed, "document", &format!("{id:02}"), &json!({ "expiresOn": "2026-06-20" })).await;
    }
    let list = client.page("/sources?type=document").await;
    assert_eq!(rows(&list).len(), 50);
    assert!(list.contains("/sources?type=document&#38;after=49"), "{list}");
    let calendar = client.page("/calendar").await;
    assert!(calendar.contains("180 messages are to be sent in these six weeks"), "{calendar}");
    assert!(calendar.contains("aria-label=\"21 May: 60\""), "{calendar}");
    let day = client.page("/calendar?from=2026-05-11&day=2026-06-13").await;
    assert!(day.contains("First aid: document/00"), "{day}");
    assert!(client.page("/calendar?from=nonsense").await.contains("180 messages"));
    let why = client.page("/why?type=document&id=01&date=2026-06-13").await;
    assert!(why.contains("Waits for its moment") && why.contains("Planned"), "{why}");
    let why = client.page("/why?type=document&id=01&date=2026-06-14").await;
    assert!(why.contains("Planned for other days"), "{why}");
    client.get("/why?type=document&id=01&date=x").await.refused(422, "date_invalid");
    client.get("/why?type=document&id=none&date=2026-06-14").await.refused(404, "not_found");
    bed.leaves_open("what is planned");
}
