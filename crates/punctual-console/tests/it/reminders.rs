//! The pages of reminders: the list, the editor with its plan, the sources, the calendar, and why.

use std::sync::Arc;

use punctual_engine::OwnUnit;
use punctual_engine::{
    Event, EventSinks,
    events::{IncomingEvent, SOURCE_CHANGED},
};
use punctual_store::sources::SourceChange;
use punctual_testkit::{TestBed, on_both};
use punctual_wire::keys::Scope;
use punctual_workflows::reminders::{Providers, ReminderSink};
use serde_json::{Value, json};

use crate::client::{Client, attribute, rows};

on_both! {
    a_setting_is_planned_before_it_is_saved;
    a_definition_that_is_wrong_keeps_its_text_and_names_the_field;
    a_setting_is_written_and_changed_in_fields;
    what_is_wrong_stands_beside_its_field;
    what_the_fields_cannot_say_is_edited_as_text;
    a_setting_is_removed_after_a_look_at_what_that_takes_back;
    the_overview_leaves_out_housekeeping;
    only_those_who_may_write_see_the_buttons;
    sources_and_the_calendar_show_what_is_planned;
}

pub fn definition() -> Value {
    json!({ "name": "First aid", "sourceType": "document", "triggerKey": "first-aid", "kind": "dateBased",
        "date": { "field": "/expiresOn", "offsetsDays": [30, 7, 1] },
        "recipients": { "addresses": ["a@b.example"] }, "delivery": { "channel": "email:default" } })
}

/// Tells the state of a source, as the API does.
pub async fn tell(bed: &TestBed, kind: &str, id: &str, state: &Value) {
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
    bed.engine
        .take_events(&sinks, &[IncomingEvent::of_source(event, OwnUnit::default(), change)])
        .await
        .unwrap();
}

async fn a_setting_is_planned_before_it_is_saved(bed: TestBed) {
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
        page.contains("1 reminder is planned.") && page.contains("Another date or setting replaced it"),
        "{page}"
    );
    bed.run_for(60 * 86_400).await;
    assert_eq!(bed.sent().len(), 1);
    let told = bed.audit("reminder-setting", &id).await;
    assert_eq!(told, ["create", "change"]);
}

async fn a_definition_that_is_wrong_keeps_its_text_and_names_the_field(bed: TestBed) {
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

/// The fields of the form for a new setting, as a browser sends them.
const FIELDS: [(&str, &str); 12] = [
    ("as", "form"),
    ("kind", "dateBased"),
    ("name", "First aid"),
    ("sourceType", "document"),
    ("triggerKey", "first-aid"),
    ("dateField", "/expiresOn"),
    ("dateTime", "09:00"),
    ("offsets", "30, 7, 1"),
    ("recipients", "addresses"),
    ("addresses", "a@b.example"),
    ("channel", "email:default"),
    ("active", "yes"),
];

fn with<'f>(more: &[(&'f str, &'f str)]) -> Vec<(&'f str, &'f str)> {
    let mut fields: Vec<_> =
        FIELDS.iter().filter(|(name, _)| more.iter().all(|(other, _)| other != name)).copied().collect();
    fields.extend(more);
    fields
}

async fn a_setting_is_written_and_changed_in_fields(bed: TestBed) {
    let client = Client::admin(&bed).await;
    for (kind, asks) in
        [("dateBased", "Days before or after"), ("recurring", "Days before each"), ("threshold", "Reaches")]
    {
        let page = client.page(&format!("/reminders/new?kind={kind}")).await;
        assert!(page.contains(asks) && page.contains("name=\"as\" value=\"form\""), "{page}");
    }
    tell(&bed, "document", "42", &json!({ "expiresOn": "2026-06-20", "kind": "first-aid" })).await;
    tell(&bed, "document", "43", &json!({ "expiresOn": "2026-06-20", "kind": "other" })).await;
    let only =
        [("tests", "all"), ("test0Field", "state.kind"), ("test0Op", "=="), ("test0Value", "first-aid")];
    let planned = client.act("/reminders/plan", &with(&only)).await;
    assert!(planned.text.contains("<dt>created</dt><dd>3</dd>"), "{}", planned.text);
    assert!(
        planned.text.contains("value=\"30, 7, 1\"") && planned.text.contains("value=\"first-aid\""),
        "kept"
    );
    client.act("/reminders/save", &with(&only)).await.leads_to("/reminders?saved=yes");
    let id = rows(&client.page("/reminders").await).remove(0);
    let page = client.page(&format!("/reminders/{id}")).await;
    assert!(page.contains("value=\"/expiresOn\"") && page.contains(">a@b.example</textarea>"), "{page}");
    let mut changed = with(&[("offsets", "14"), ("id", &id), ("version", "1")]);
    changed.extend(only);
    let planned = client.act("/reminders/plan", &changed).await;
    assert!(planned.text.contains("<dt>taken back</dt><dd>3</dd>"), "{}", planned.text);
    client.act("/reminders/save", &changed).await.leads_to("/reminders?saved=yes");
    bed.run_for(60 * 86_400).await;
    assert_eq!(bed.sent().len(), 1);
}

async fn what_is_wrong_stands_beside_its_field(bed: TestBed) {
    let client = Client::admin(&bed).await;
    for (field, wrong, says) in [
        ("dateTime", "25:00", "25:00"),
        ("offsets", "soon", "Expected whole days"),
        ("addresses", "nobody", "nobody"),
        ("name", "", "name"),
        ("maxLateness", "1 month", "month"),
    ] {
        let reply = client.act("/reminders/save", &with(&[(field, wrong)])).await;
        assert_eq!(reply.status, 200, "{}", reply.text);
        assert!(
            reply.text.contains("class=\"fault\"") && reply.text.contains(says),
            "{field}: {}",
            reply.text
        );
    }
    assert!(client.page("/reminders").await.contains("No reminders yet"));
}

async fn what_the_fields_cannot_say_is_edited_as_text(bed: TestBed) {
    let client = Client::admin(&bed).await;
    let mut deep = definition();
    deep["filter"] = json!({ "not": { "questionId": "state.kind", "op": "==", "value": "x" } });
    let fields = [("id", ""), ("version", ""), ("definition", &*deep.to_string())];
    client.act("/reminders/save", &fields).await.leads_to("/reminders?saved=yes");
    let id = rows(&client.page("/reminders").await).remove(0);
    let page = client.page(&format!("/reminders/{id}")).await;
    assert!(page.contains("more than the fields can show") && page.contains("id=\"definition\""), "{page}");
}

async fn a_setting_is_removed_after_a_look_at_what_that_takes_back(bed: TestBed) {
    let client = Client::admin(&bed).await;
    client.act("/reminders/save", &FIELDS).await.leads_to("/reminders?saved=yes");
    tell(&bed, "document", "42", &json!({ "expiresOn": "2026-06-20" })).await;
    let id = rows(&client.page("/reminders").await).remove(0);
    let asked = client.page(&format!("/reminders/{id}/remove")).await;
    assert!(asked.contains("3 planned reminders will be taken back"), "{asked}");
    let stale = [("id", id.as_str()), ("version", "7")];
    client.act("/reminders/remove", &stale).await.refused(409, "stale_version");
    let fields = [("id", id.as_str()), ("version", "1"), ("reason", "No longer asked for")];
    client.act("/reminders/remove", &fields).await.leads_to("/reminders?removed=yes");
    assert!(client.page("/reminders?removed=yes").await.contains("The setting is removed."));
    client.get(&format!("/reminders/{id}")).await.refused(404, "not_found");
    client.act("/reminders/remove", &fields).await.refused(404, "not_found");
    assert_eq!(bed.audit("reminder-setting", &id).await, ["create", "delete", "note:No longer asked for"]);
    bed.run_for(60 * 86_400).await;
    assert!(bed.sent().is_empty());
}

async fn the_overview_leaves_out_housekeeping(bed: TestBed) {
    let client = Client::admin(&bed).await;
    punctual_workflows::reminders::reconcile::start(&bed.engine, &Providers::built_in()).await.unwrap();
    client.act("/reminders/save", &FIELDS).await.leads_to("/reminders?saved=yes");
    tell(&bed, "document", "42", &json!({ "expiresOn": "2026-06-20" })).await;
    let page = client.page("/").await;
    assert!(
        page.contains("First aid, document 42")
            && !page.contains("Reconciliation of")
            && !page.contains("Change of"),
        "{page}"
    );
    bed.leaves_open("what is planned");
}

async fn only_those_who_may_write_see_the_buttons(bed: TestBed) {
    let admin = Client::admin(&bed).await;
    let text = definition().to_string();
    let fields = [("id", ""), ("version", ""), ("definition", text.as_str())];
    admin.act("/reminders/save", &fields).await.leads_to("/reminders?saved=yes");
    let reader = admin.with_key(&[Scope::Read], None).await;
    let list = reader.page("/reminders").await;
    assert!(!list.contains("New reminder"), "{list}");
    let id = rows(&list).remove(0);
    let one = reader.page(&format!("/reminders/{id}")).await;
    assert!(one.contains("<fieldset disabled>") && !one.contains("Show what it would do"), "{one}");
    let text = reader.page(&format!("/reminders/{id}?as=json")).await;
    assert!(text.contains(" readonly>") && !text.contains("Show what it would do"), "{text}");
    reader.get(&format!("/reminders/{id}/remove")).await.refused(403, "scope_missing");
    reader.act("/reminders/remove", &[("id", &id), ("version", "1")]).await.refused(403, "scope_missing");
    reader.act("/reminders/save", &fields).await.refused(403, "scope_missing");
    reader.get("/reminders/new").await.refused(403, "scope_missing");
    let limited = admin.with_key(&[Scope::Read, Scope::Author], Some(&["nz"])).await;
    let mut of_another = definition();
    of_another["businessUnit"] = json!("de");
    let text = of_another.to_string();
    let fields = [("id", ""), ("version", ""), ("definition", text.as_str())];
    let reply = limited.act("/reminders/save", &fields).await;
    assert!(reply.text.contains("<code>/businessUnit</code>"), "{}", reply.text);
}

async fn sources_and_the_calendar_show_what_is_planned(bed: TestBed) {
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
    assert!(day.contains("First aid, document 00"), "{day}");
    assert!(client.page("/calendar?from=nonsense").await.contains("180 messages"));
    let why = client.page("/why?type=document&id=01&date=2026-06-13").await;
    assert!(why.contains("Waits for its moment") && why.contains("Planned"), "{why}");
    let why = client.page("/why?type=document&id=01&date=2026-06-14").await;
    assert!(why.contains("Planned for other days"), "{why}");
    client.get("/why?type=document&id=01&date=x").await.refused(422, "date_invalid");
    client.get("/why?type=document&id=none&date=2026-06-14").await.refused(404, "not_found");
    bed.leaves_open("what is planned");
}
