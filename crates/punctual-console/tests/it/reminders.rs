//! The pages of reminders: the list, the editor with its plan, the sources, the calendar, and why.

use std::{collections::BTreeSet, sync::Arc};

use punctual_engine::{
    Event, EventSinks, OwnUnit,
    events::{IncomingEvent, SOURCE_CHANGED},
};
use punctual_model::Reach;
use punctual_store::{
    reminders::settings::{self, SettingRow},
    sources::SourceChange,
};
use punctual_testkit::{TestBed, on_both};
use punctual_wire::keys::Scope;
use punctual_workflows::reminders::{Providers, ReminderSink};
use serde_json::{Value, json};

use crate::{
    client::{Client, Reply, attribute, rows},
    every_figure::count,
    every_form::unescaped,
};

on_both! {
    a_setting_is_planned_before_it_is_saved;
    a_definition_that_is_wrong_keeps_its_text_and_names_the_field;
    a_setting_is_written_and_changed_in_fields;
    rows_are_added_and_nothing_typed_is_lost;
    what_is_wrong_stands_beside_its_field;
    what_the_fields_cannot_say_is_edited_as_text;
    a_setting_is_removed_after_a_look_at_what_that_takes_back;
    the_overview_leaves_out_housekeeping;
    only_those_who_may_write_see_the_buttons;
    sources_and_the_calendar_show_what_is_planned;
    a_setting_lists_what_it_has_sent;
    the_list_goes_on_after_a_page;
}

pub fn definition() -> Value {
    json!({ "name": "First aid", "sourceType": "document", "triggerKey": "first-aid", "kind": "dateBased",
        "date": { "field": "/expiresOn", "offsetsDays": [30, 7, 1] },
        "recipients": { "addresses": ["a@b.example"] }, "delivery": { "channel": "email:default" } })
}

/// Puts the state of a source, as the API does.
pub async fn put_source(bed: &TestBed, kind: &str, id: &str, state: &Value) {
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

/// The editor's second tab with this definition.
pub fn as_json(text: &str) -> Vec<(&str, &str)> {
    vec![("as", "json"), ("definition", text)]
}

/// Sends the form twice, as a person does: what it would do is shown, and then it is saved.
pub async fn save(client: &Client, fields: &[(&str, &str)]) -> Reply {
    let planned = client.act("/reminders/save", fields).await;
    assert_eq!(planned.status, 200, "{}", planned.text);
    let token = unescaped(&attribute(&planned.text, "name=\"planned\" value=\""));
    let mut fields = fields.to_vec();
    fields.push(("planned", &token));
    client.act("/reminders/save", &fields).await
}

async fn a_setting_is_planned_before_it_is_saved(bed: TestBed) {
    let client = Client::admin(&bed).await;
    assert!(client.page("/reminders").await.contains("No reminders yet"));
    assert!(client.page("/sources").await.contains("No sources yet"));
    put_source(&bed, "document", "42", &json!({ "expiresOn": "2026-06-20" })).await;
    put_source(&bed, "document", "43", &json!({ "expiresOn": "2026-03-01" })).await;
    let text = definition().to_string();
    let planned = client.act("/reminders/save", &as_json(&text)).await;
    assert_eq!(planned.status, 200, "{}", planned.text);
    for expected in [
        "<dt>created</dt><dd>3</dd>",
        "First aid, document 42: 30 days before 20 Jun",
        "3 messages. Computed from the present states of sources",
        "First aid, document 43: 1 day before 1 Mar",
        "Computed from the present states of sources",
        "It applies to 2 of 2 sources of this kind.",
    ] {
        assert!(planned.text.contains(expected), "{expected}: {}", planned.text);
    }
    assert!(client.page("/reminders").await.contains("No reminders yet"), "a plan changes nothing");
    save(&client, &as_json(&text)).await.leads_to("/reminders?saved=yes");
    let list = client.page("/reminders?saved=yes").await;
    assert!(
        list.contains("1 reminder, 1 active.") && list.contains("30, 7 and 1 days before expiresOn"),
        "{list}"
    );
    let id = rows(&list).remove(0);
    let editor = client.page(&format!("/reminders/{id}")).await;
    assert_eq!(attribute(&editor, "name=\"version\" value=\""), "1");
    let mut change = definition();
    change["date"]["offsetsDays"] = json!([14]);
    let (text, base) = (change.to_string(), definition().to_string());
    let mut fields = as_json(&text);
    fields.extend([("known", id.as_str()), ("version", "1"), ("base", base.as_str())]);
    let planned = client.act("/reminders/save", &fields).await;
    assert!(
        planned.text.contains("<dt>created</dt><dd>1</dd>")
            && planned.text.contains("<dt>withdrawn</dt><dd>3</dd>"),
        "{}",
        planned.text
    );
    save(&client, &fields).await.leads_to("/reminders?saved=yes");
    let stale = client.act("/reminders/save", &fields).await;
    assert_eq!(stale.status, 409, "{}", stale.text);
    assert!(
        stale.text.contains("Somebody else has changed this reminder meanwhile")
            && stale.text.contains("Days before: was <code>30, 7, 1</code>, is now <code>14</code>")
            && stale.text.contains("name=\"version\" value=\"2\""),
        "{}",
        stale.text
    );
    let page = client.page("/sources/document/42").await;
    assert!(
        page.contains("1 reminder is planned.") && page.contains("Another date or setting replaced it"),
        "{page}"
    );
    bed.run_for(60 * 86_400).await;
    assert_eq!(bed.sent().len(), 1);
    let expected = bed.audit("reminder-setting", &id).await;
    assert_eq!(expected, ["create", "change"]);
}

async fn a_definition_that_is_wrong_keeps_its_text_and_names_the_field(bed: TestBed) {
    let client = Client::admin(&bed).await;
    let mut wrong = definition();
    wrong["date"]["sendTime"] = json!("25:00");
    let reply = client.act("/reminders/save", &as_json(&wrong.to_string())).await;
    assert_eq!(reply.status, 422, "{}", reply.text);
    assert!(reply.text.contains("/date/sendTime: ") && reply.text.contains("25:00"), "{}", reply.text);
    let reply = client.act("/reminders/save", &as_json("{\"name\": <script>")).await;
    assert_eq!(reply.status, 422, "{}", reply.text);
    assert!(reply.text.contains("aria-invalid") && reply.text.contains("&#60;script&#62;"), "{}", reply.text);
    assert!(client.page("/reminders").await.contains("No reminders yet"));
    client.get("/reminders/none").await.refused(404, "not_found");
}

/// The fields of the form for a new setting, as a browser sends them.
const FIELDS: [(&str, &str); 12] = [
    ("as", "form"),
    ("/kind", "dateBased"),
    ("/name", "First aid"),
    ("/sourceType", "document"),
    ("/date/field", "/expiresOn"),
    ("/date/sendTime", "09:00"),
    ("/date/offsetsDays", "30, 7, 1"),
    ("/recipients/how", "addresses"),
    ("/recipients/addresses", "a@b.example"),
    ("/delivery/channel", "email:default"),
    ("/delivery/subject", "{{ state.kind }} of {{ source.id }}"),
    ("/active", "yes"),
];

fn with<'f>(more: &[(&'f str, &'f str)]) -> Vec<(&'f str, &'f str)> {
    let mut fields: Vec<_> =
        FIELDS.iter().filter(|(name, _)| more.iter().all(|(other, _)| other != name)).copied().collect();
    fields.extend(more);
    fields
}

const ONLY_FIRST_AID: [(&str, &str); 4] = [
    ("/filter/tests?rows", "1"),
    ("/filter/tests/0/questionId", "state.kind"),
    ("/filter/tests/0/op", "=="),
    ("/filter/tests/0/value", "first-aid"),
];

async fn a_setting_is_written_and_changed_in_fields(bed: TestBed) {
    let client = Client::admin(&bed).await;
    let shown = |page: &str, name: &str| {
        let at = page.find(&format!("name=\"{name}\"")).unwrap_or_else(|| panic!("{name}: {page}"));
        let part = page[..at].rfind("<details class=\"panel part\"").unwrap();
        let end = part + page[part..].find('>').unwrap();
        !page[part..end].contains("hidden")
    };
    for (kind, asks) in [
        ("dateBased", "/date/offsetsDays"),
        ("recurring", "/recurring/every"),
        ("threshold", "/threshold/op"),
    ] {
        let page = client.page(&format!("/reminders/new?kind={kind}")).await;
        for name in ["/date/offsetsDays", "/recurring/every", "/threshold/op"] {
            assert_eq!(shown(&page, name), name == asks, "{kind} {name}");
        }
    }
    put_source(&bed, "document", "42", &json!({ "expiresOn": "2026-06-20", "kind": "first-aid" })).await;
    put_source(&bed, "document", "43", &json!({ "expiresOn": "2026-06-20", "kind": "other" })).await;
    // The fields are picked from a source, with its values.
    let page = client.page("/reminders/new?sourceType=document").await;
    assert!(
        page.contains("<option value=\"/expiresOn\">expiresOn: 2026-06-20</option>")
            && page.contains("document 43"),
        "{page}"
    );
    let fields = with(&ONLY_FIRST_AID);
    let planned = client.act("/reminders/save", &fields).await;
    assert!(planned.text.contains("<dt>created</dt><dd>3</dd>"), "{}", planned.text);
    assert!(
        planned.text.contains("value=\"30, 7, 1\"") && planned.text.contains("value=\"first-aid\""),
        "kept"
    );
    // The message as a real source gets it, and what is not in it.
    assert!(planned.text.contains("first-aid of 42"), "{}", planned.text);
    let previewed = client.act("/reminders/preview", &with(&[("/sample", "43")])).await;
    assert!(previewed.text.contains("other of 43"), "{}", previewed.text);
    let unknown = client.act("/reminders/preview", &with(&[("/delivery/body", "{{ state.number }}")])).await;
    assert!(
        unknown.text.contains("state.number")
            && unknown.text.contains("There are state.expiresOn, state.kind"),
        "{}",
        unknown.text
    );
    save(&client, &fields).await.leads_to("/reminders?saved=yes");
    let id = rows(&client.page("/reminders").await).remove(0);
    let page = client.page(&format!("/reminders/{id}")).await;
    assert!(
        page.contains("<option value=\"/expiresOn\" selected>") && page.contains("a@b.example</textarea>"),
        "{page}"
    );
    let mut changed = with(&[("/date/offsetsDays", "14"), ("known", &id), ("/id", &id), ("version", "1")]);
    changed.extend(ONLY_FIRST_AID);
    let planned = client.act("/reminders/save", &changed).await;
    assert!(planned.text.contains("<dt>withdrawn</dt><dd>3</dd>"), "{}", planned.text);
    save(&client, &changed).await.leads_to("/reminders?saved=yes");
    bed.run_for(60 * 86_400).await;
    assert_eq!(bed.sent().len(), 1);
    assert_eq!(bed.sent()[0].subject, "first-aid of 42");
}

async fn rows_are_added_and_nothing_typed_is_lost(bed: TestBed) {
    let client = Client::admin(&bed).await;
    let mut fields = with(&[("do", "add /filter/tests"), ("/name", "Half done"), ("/date/offsetsDays", "x")]);
    fields.extend([
        ("/filter/tests?rows", "1"),
        ("/filter/tests/0/questionId", "state.a"),
        ("/filter/tests/0/value", "1"),
    ]);
    let page = client.act("/reminders/save", &fields).await;
    assert_eq!(page.status, 200, "{}", page.text);
    for kept in [
        "name=\"/filter/tests?rows\" value=\"2\"",
        "value=\"Half done\"",
        "value=\"x\"",
        "name=\"/filter/tests/1/questionId\"",
        "value=\"state.a\"",
    ] {
        assert!(page.text.contains(kept), "{kept}: {}", page.text);
    }
    // As JSON and back.
    let json = client.act("/reminders/save", &with(&[("do", "as json")])).await;
    let text = json.text.split("name=\"definition\"").nth(1).unwrap().split("\">\n").nth(1).unwrap();
    let text = text.split("</textarea>").next().unwrap().replace("&#34;", "\"");
    assert!(text.contains("\"field\": \"/expiresOn\""), "{text}");
    let back =
        client.act("/reminders/save", &[("as", "json"), ("definition", &text), ("do", "as form")]).await;
    assert!(back.text.contains("value=\"30, 7, 1\""), "{}", back.text);
    let broken =
        client.act("/reminders/save", &[("as", "json"), ("definition", "{"), ("do", "as form")]).await;
    assert_eq!(broken.status, 422, "{}", broken.text);
    assert!(client.page("/reminders").await.contains("No reminders yet"));
}

async fn what_is_wrong_stands_beside_its_field(bed: TestBed) {
    let client = Client::admin(&bed).await;
    for (field, wrong, says) in [
        ("/date/sendTime", "25:00", "25:00"),
        ("/date/offsetsDays", "soon", "Expected whole days"),
        ("/recipients/addresses", "nobody", "nobody"),
        ("/name", "", "name"),
        ("/maxLateness", "1 month", "month"),
        ("/delivery/body", "{{ setting.nothing }}", "setting.nothing"),
    ] {
        let reply = client.act("/reminders/save", &with(&[(field, wrong)])).await;
        assert_eq!(reply.status, 422, "{field}: {}", reply.text);
        let at = reply.text.find(&format!("name=\"{field}\"")).unwrap();
        let control: String = reply.text[at..].chars().take(300).collect();
        assert!(control.contains("aria-invalid") && control.contains("autofocus"), "{field}: {control}");
        assert!(
            reply.text.contains("Nothing was saved") && reply.text.contains(says),
            "{field}: {}",
            reply.text
        );
    }
    assert!(client.page("/reminders").await.contains("No reminders yet"));
}

async fn what_the_fields_cannot_say_is_edited_as_text(bed: TestBed) {
    let client = Client::admin(&bed).await;
    // A nested filter has a field of its own; what has none is shown as JSON.
    let mut deep = definition();
    deep["filter"] = json!({ "not": { "questionId": "state.kind", "op": "==", "value": "x" } });
    save(&client, &as_json(&deep.to_string())).await.leads_to("/reminders?saved=yes");
    let id = rows(&client.page("/reminders").await).remove(0);
    let page = client.page(&format!("/reminders/{id}")).await;
    assert!(page.contains("name=\"/filter/other\"") && page.contains("&#34;not&#34;"), "{page}");
    let mut own = definition();
    own["delivery"]["policy"] = json!("standard");
    save(&client, &as_json(&own.to_string())).await.leads_to("/reminders?saved=yes");
    let other = rows(&client.page("/reminders").await).into_iter().find(|other| *other != id).unwrap();
    let page = client.page(&format!("/reminders/{other}")).await;
    assert!(
        page.contains("The form cannot show all of it") && page.contains("name=\"definition\""),
        "{page}"
    );
}

async fn a_setting_is_removed_after_a_look_at_what_that_takes_back(bed: TestBed) {
    let client = Client::admin(&bed).await;
    save(&client, &FIELDS).await.leads_to("/reminders?saved=yes");
    put_source(&bed, "document", "42", &json!({ "expiresOn": "2026-06-20" })).await;
    let id = rows(&client.page("/reminders").await).remove(0);
    let asked = client.page(&format!("/reminders/{id}/remove")).await;
    assert!(asked.contains("3 planned reminders will be withdrawn"), "{asked}");
    let stale = [("id", id.as_str()), ("version", "7")];
    client.act("/reminders/remove", &stale).await.refused(409, "stale_version");
    let fields = [("id", id.as_str()), ("version", "1"), ("reason", "No longer asked for")];
    client.act("/reminders/remove", &fields).await.leads_to("/reminders?removed=yes");
    assert!(client.page("/reminders?removed=yes").await.contains("The reminder is removed."));
    client.get(&format!("/reminders/{id}")).await.refused(404, "not_found");
    client.act("/reminders/remove", &fields).await.refused(404, "not_found");
    assert_eq!(bed.audit("reminder-setting", &id).await, ["create", "delete", "note:No longer asked for"]);
    bed.run_for(60 * 86_400).await;
    assert!(bed.sent().is_empty());
}

async fn the_overview_leaves_out_housekeeping(bed: TestBed) {
    let client = Client::admin(&bed).await;
    punctual_workflows::reminders::reconcile::start(&bed.engine, &Providers::built_in()).await.unwrap();
    save(&client, &FIELDS).await.leads_to("/reminders?saved=yes");
    put_source(&bed, "document", "42", &json!({ "expiresOn": "2026-06-20" })).await;
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
    let fields = as_json(&text);
    save(&admin, &fields).await.leads_to("/reminders?saved=yes");
    let reader = admin.with_key(&[Scope::Read], None).await;
    let list = reader.page("/reminders").await;
    assert!(!list.contains("New reminder"), "{list}");
    let id = rows(&list).remove(0);
    let one = reader.page(&format!("/reminders/{id}")).await;
    assert!(one.contains("<fieldset disabled") && !one.contains("Show what it would do"), "{one}");
    reader.get(&format!("/reminders/{id}/remove")).await.refused(403, "scope_missing");
    reader.act("/reminders/remove", &[("id", &id), ("version", "1")]).await.refused(403, "scope_missing");
    reader.act("/reminders/save", &fields).await.refused(403, "scope_missing");
    reader.get("/reminders/new").await.refused(403, "scope_missing");
    let limited = admin.with_key(&[Scope::Read, Scope::Author], Some(&["nz"])).await;
    let mut of_another = definition();
    of_another["businessUnit"] = json!("de");
    let text = of_another.to_string();
    let reply = limited.act("/reminders/save", &as_json(&text)).await;
    assert!(reply.text.contains("/businessUnit: "), "{}", reply.text);
}

async fn sources_and_the_calendar_show_what_is_planned(bed: TestBed) {
    let client = Client::admin(&bed).await;
    let text = definition().to_string();
    save(&client, &as_json(&text)).await.leads_to("/reminders?saved=yes");
    for id in 0..60 {
        put_source(&bed, "document", &format!("{id:02}"), &json!({ "expiresOn": "2026-06-20" })).await;
    }
    let list = client.page("/sources?type=document").await;
    assert_eq!(rows(&list).len(), 50);
    assert!(list.contains("/sources?type=document&#38;after=49"), "{list}");
    // Found by the beginning of their ids, over pages too.
    let found = rows(&client.page("/sources?type=document&q=1").await);
    assert_eq!((found.len(), found[0].as_str(), found[9].as_str()), (10, "10", "19"));
    assert_eq!(rows(&client.page("/sources?type=document&q=07").await), ["07"]);
    let none = client.page("/sources?type=document&q=7x").await;
    assert!(none.contains("No document has an id that begins with “7x”"), "{none}");
    assert!(none.contains("href=\"/search?q=7x\""), "{none}");
    for id in 0..120 {
        put_source(&bed, "visit", &format!("a{id:03}"), &json!({ "on": "2026-06-20" })).await;
    }
    put_source(&bed, "visit", "b", &json!({ "on": "2026-06-20" })).await;
    assert_eq!(count(&client, "/sources?type=visit&q=a").await, 120);
    assert_eq!(count(&client, "/sources?type=visit").await, 121);
    let calendar = client.page("/calendar").await;
    assert!(calendar.contains("180 messages are to be sent in these six weeks"), "{calendar}");
    assert!(calendar.contains("aria-label=\"21 May: 60\""), "{calendar}");
    let day = client.page("/calendar?from=2026-05-11&day=2026-06-13").await;
    assert!(day.contains("First aid, document 00"), "{day}");
    assert_eq!(day.matches("<li data-row><a href=\"/work/").count(), 60, "each leads to its row: {day}");
    assert!(client.page("/calendar?from=nonsense").await.contains("180 messages"));
    let why = client.page("/why?type=document&id=01&date=2026-06-13").await;
    assert!(why.contains("Waits for its due time") && why.contains("Planned"), "{why}");
    let why = client.page("/why?type=document&id=01&date=2026-06-14").await;
    assert!(why.contains("Planned for other days"), "{why}");
    client.get("/why?type=document&id=01&date=x").await.refused(422, "date_invalid");
    client.get("/why?type=document&id=none&date=2026-06-14").await.refused(404, "not_found");
    bed.leaves_open("what is planned");
}

async fn a_setting_lists_what_it_has_sent(bed: TestBed) {
    bed.leaves_open("the later reminders are planned");
    let client = Client::admin(&bed).await;
    let text = definition().to_string();
    assert_eq!(save(&client, &as_json(&text)).await.status, 303);
    let id = rows(&client.page("/reminders").await).remove(0);
    let editor = format!("/reminders/{id}");
    let all = format!("/reminders/{id}/sent");
    assert!(client.page(&editor).await.contains("Nothing was sent yet"));
    assert!(client.page(&all).await.contains("Nothing was sent yet"));
    // 55 sources, a day apart by threes: each sends one reminder 30 days before it expires.
    let first: jiff::civil::Date = "2026-06-20".parse().unwrap();
    for n in 0..55 {
        let expires = first.checked_add(jiff::Span::new().days(n / 3)).unwrap();
        put_source(&bed, "document", &n.to_string(), &json!({ "expiresOn": expires.to_string() })).await;
    }
    bed.run_for(32 * 86_400).await;
    let titles = async |path: &str| {
        let page = client.page(path).await;
        let parts = page.split("data-row><span class=\"item-title\">").skip(1);
        let found: Vec<String> = parts.map(|part| part.split('<').next().unwrap().to_owned()).collect();
        (found, page)
    };
    let (newest, page) = titles(&editor).await;
    assert_eq!(newest.len(), 5, "{page}");
    assert!(page.contains(&format!("href=\"{all}\"")), "{page}");
    let (mut found, mut path) = (Vec::new(), Some(all.clone()));
    while let Some(at) = path {
        let (more, page) = titles(&at).await;
        assert!(more.len() <= 50 && page.matches("delivered").count() >= more.len(), "{page}");
        found.extend(more);
        path =
            page.split("rel=\"next\" href=\"").nth(1).map(|rest| rest.split('"').next().unwrap().to_owned());
    }
    let mut once = found.clone();
    once.sort();
    once.dedup();
    assert_eq!(once.len(), found.len(), "{found:?}");
    assert!(found.len() > 55, "{found:?}");
    assert_eq!(&found[..5], &newest[..]);
    assert!(found[0].starts_with("First aid, document "), "{found:?}");
    let days = found.iter().filter(|title| title.contains(": 30 days before ")).count();
    assert_eq!(days, 55, "{found:?}");
    // Newest first: what is sent 1 day before the first date came after all that is sent 30 days before.
    let at = |text: &str| found.iter().position(|title| title.ends_with(text));
    assert!(at(": 7 days before 20 Jun") < at(": 30 days before 20 Jun"), "{found:?}");
    // What belongs to no business unit is the installation's: a caller with a limit sees none of it.
    let limited = client.with_key(&[Scope::Read], Some(&["nz"])).await;
    let reply = limited.get(&all).await;
    assert!(!reply.text.contains("document 1:"), "{}", reply.text);
}

async fn the_list_goes_on_after_a_page(bed: TestBed) {
    let client = Client::admin(&bed).await;
    save(&client, &as_json(&definition().to_string())).await.leads_to("/reminders?saved=yes");
    let id = rows(&client.page("/reminders").await).remove(0);
    let mut tx = bed.begin().await;
    let row = settings::by_ids(&mut tx.conn(), &Reach::Everything, vec![id]).await.unwrap().remove(0);
    for n in 0..230 {
        let (id, name) = (format!("{}-{n:03}", row.id), format!("Reminder {n:03}"));
        let another = SettingRow { id, name, ..row.clone() };
        assert!(settings::insert(&mut tx.conn(), bed.now(), &another).await.unwrap());
    }
    tx.commit().await.unwrap();
    let first = client.page("/reminders").await;
    assert!(first.contains("200 reminders on this page, 200 active."), "{first}");
    let next = attribute(&first, "rel=\"next\" href=\"");
    let second = client.page(&next).await;
    assert!(second.contains("31 reminders on this page") && !second.contains("rel=\"next\""), "{second}");
    let all: BTreeSet<String> = rows(&first).into_iter().chain(rows(&second)).collect();
    assert_eq!(all.len(), 231);
}
