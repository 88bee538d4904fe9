//! People and organisations: the lists, the forms behind the API's own checks, and the messages of one event.

use punctual_model::Reach;
use punctual_store::operations::{organisations, people, rules};
use punctual_testkit::{TestBed, on_both};
use punctual_wire::keys::Scope;
use serde_json::{Value, json};

use crate::{
    browser::{Stage, on_sqlite, walk},
    client::{Client, rows},
    editors_browser::forgive_refusals,
    operations::{event, put},
};

on_both! {
    a_person_is_made_changed_and_removed;
    what_is_wrong_with_a_person_stands_beside_its_field;
    an_organisation_gives_its_events_their_messages;
    a_message_goes_over_the_channels_of_its_people;
    who_may_only_read_changes_nobody;
    another_business_unit_s_people_are_not_there;
}

async fn stored(bed: &TestBed, id: &str) -> Option<people::PersonRow> {
    people::get(&mut bed.read().await.conn(), &Reach::Everything, id).await.unwrap()
}

pub const ANN: [(&str, &str); 8] = [
    ("known", ""),
    ("id", "ann"),
    ("name", "Ann"),
    ("email", "ann@example.org"),
    ("timeZone", "Europe/Berlin"),
    ("locale", "de"),
    ("channels", "sms, email"),
    ("addresses", "sms: +49301234567"),
];

/// The same form with some fields filled in otherwise.
fn with<'f>(fields: &[(&'f str, &'f str)], other: &[(&'f str, &'f str)]) -> Vec<(&'f str, &'f str)> {
    let mut fields: Vec<_> =
        fields.iter().filter(|(name, _)| other.iter().all(|(wanted, _)| wanted != name)).copied().collect();
    fields.extend(other);
    fields
}

async fn a_person_is_made_changed_and_removed(bed: TestBed) {
    let client = Client::admin(&bed).await;
    assert!(client.page("/operations/people").await.contains("No people yet"));
    client.act("/operations/people/save", &ANN).await.leads_to("/operations/people?done=saved");
    let row = stored(&bed, "ann").await.unwrap();
    assert_eq!(
        (row.channels.as_str(), row.addresses.as_str()),
        (r#"["sms","email"]"#, r#"{"sms":"+49301234567"}"#)
    );
    assert_eq!((row.time_zone.as_deref(), row.locale.as_deref()), (Some("Europe/Berlin"), Some("de")));
    let list = client.page("/operations/people?done=saved").await;
    assert_eq!(rows(&list), ["ann"]);
    assert!(list.contains("sms +49301234567, then email ann@example.org"), "{list}");
    // Somebody else of the same id is not made by mistake.
    let again = client.act("/operations/people/save", &ANN).await;
    assert!(again.text.contains("There is already a person with this id."), "{}", again.text);
    let one = client.page("/operations/people/ann").await;
    assert!(one.contains("Ann is notified over sms") && one.contains("sms: +49301234567"), "{one}");
    let changed = with(&ANN, &[("known", "ann"), ("channels", ""), ("addresses", ""), ("email", "")]);
    client.act("/operations/people/save", &changed).await.leads_to("/operations/people?done=saved");
    assert_eq!(stored(&bed, "ann").await.unwrap().channels, r#"["email"]"#);
    assert!(client.page("/operations/people").await.contains("1 without an address"));
    assert_eq!(bed.audit("person", "ann").await, ["put", "put"]);
    client
        .act("/operations/people/delete", &[("id", "ann")])
        .await
        .leads_to("/operations/people?done=removed");
    client.act("/operations/people/delete", &[("id", "ann")]).await.refused(404, "not_found");
    client.get("/operations/people/ann").await.refused(404, "not_found");
}

async fn what_is_wrong_with_a_person_stands_beside_its_field(bed: TestBed) {
    let client = Client::admin(&bed).await;
    let check = async |field: (&str, &str), says: &str| {
        let reply = client.act("/operations/people/save", &with(&ANN, &[field])).await;
        assert_eq!(reply.status, 422, "{}", reply.text);
        assert!(reply.text.contains(says) && reply.text.contains("aria-invalid"), "{says}: {}", reply.text);
        assert!(reply.text.contains("value=\"Ann\"") || field.0 == "name", "what was entered stays");
    };
    check(("id", ""), "it is empty").await;
    check(("name", ""), "name").await;
    check(("email", "nobody"), "no valid address").await;
    check(("timeZone", "Europe/Berln"), "Europe/Berlin").await;
    check(("channels", "E MAIL"), "a channel is a type such as").await;
    check(("addresses", "sms"), "sms").await;
    assert!(stored(&bed, "ann").await.is_none());
}

async fn an_organisation_gives_its_events_their_messages(bed: TestBed) {
    let client = Client::admin(&bed).await;
    assert!(client.page("/operations/organisations").await.contains("No organisations yet"));
    client.act("/operations/people/save", &ANN).await.leads_to("/operations/people?done=saved");
    let line = |when: &'static str, anchor: &'static str, channels: &'static str| {
        [("when", when), ("anchor", anchor), ("channels", channels)]
    };
    let mut fields = vec![
        ("known", ""),
        ("id", "choir"),
        ("name", "Choir"),
        ("timeZone", "Europe/Berlin"),
        ("allDayAt", "09:00"),
        ("messages", "own"),
    ];
    fields.extend(line("-24h", "start", "sms, email"));
    fields.extend(line("18:00 -1", "end", ""));
    fields.extend(line("", "start", "email"));
    client
        .act("/operations/organisations/save", &fields)
        .await
        .leads_to("/operations/organisations?done=saved");
    let list = client.page("/operations/organisations").await;
    assert!(list.contains("24h before the start; At 18:00 on the day before the end"), "{list}");
    let one = client.page("/operations/organisations/choir").await;
    assert!(one.contains("value=\"18:00 -1\"") && one.contains("value=\"sms, email\""), "{one}");
    let mut new = event(&bed, "Concert", "2026-05-20T18:00:00Z", 2);
    new.organisation = Some("choir".into());
    let id = put(&bed, new).await;
    let own = rules::of_subjects(&mut bed.read().await.conn(), &Reach::Everything, vec![id]).await.unwrap();
    let said: Vec<Value> = own.iter().map(|rule| serde_json::from_str(&rule.rule).unwrap()).collect();
    assert_eq!(said[0], json!({ "type": "relative", "anchor": "start", "offset": "-24h" }));
    assert_eq!(said[1], json!({ "type": "on_day", "anchor": "end", "at": "18:00", "dayOffset": -1 }));
    assert_eq!(own[0].channels, r#"["sms","email"]"#);

    let mut wrong = with(&fields, &[("known", "choir")]);
    wrong.extend(line("soon", "start", "email"));
    let reply = client.act("/operations/organisations/save", &wrong).await;
    assert!(reply.text.contains("Line 3: “soon” is no offset"), "{}", reply.text);
    let ordinary = with(&fields, &[("known", "choir"), ("messages", "ordinary")]);
    client
        .act("/operations/organisations/save", &ordinary)
        .await
        .leads_to("/operations/organisations?done=saved");
    let row = organisations::get(&mut bed.read().await.conn(), &Reach::Everything, "choir").await.unwrap();
    assert_eq!(row.unwrap().rules, None);
    client
        .act("/operations/organisations/delete", &[("id", "choir")])
        .await
        .leads_to("/operations/organisations?done=removed");
    client.get("/operations/organisations/choir").await.refused(404, "not_found");
    bed.leaves_open("the concert is to come");
}

async fn a_message_goes_over_the_channels_of_its_people(bed: TestBed) {
    let client = Client::admin(&bed).await;
    client.act("/operations/people/save", &ANN).await.leads_to("/operations/people?done=saved");
    let id = put(&bed, event(&bed, "Planning", "2026-05-20T07:00:00Z", 1)).await;
    let path = format!("/operations/events/{id}");
    let page = client.page(&path).await;
    assert!(page.contains("value=\"sms\" checked") && page.contains("value=\"email\" checked"), "{page}");
    let add =
        [("id", id.as_str()), ("type", "event"), ("action", "add"), ("when", "-1h"), ("anchor", "start")];
    let fields = with(&add, &[("channels", "sms")]);
    client.act("/operations/rule", &fields).await.leads_to(&format!("{path}?done=added"));
    let fields = with(&add, &[("channels", "S M S")]);
    client.act("/operations/rule", &fields).await.refused(422, "key_invalid");
    let own = rules::of_subjects(&mut bed.read().await.conn(), &Reach::Everything, vec![id]).await.unwrap();
    let added = own.iter().find(|rule| rule.rule.contains("-1h")).unwrap();
    assert_eq!(added.channels, r#"["sms"]"#);
    bed.leaves_open("the planning is to come");
}

async fn who_may_only_read_changes_nobody(bed: TestBed) {
    let admin = Client::admin(&bed).await;
    admin.act("/operations/people/save", &ANN).await.leads_to("/operations/people?done=saved");
    let reader = admin.with_key(&[Scope::Read], None).await;
    assert!(!reader.page("/operations/people").await.contains("New person"));
    let one = reader.page("/operations/people/ann").await;
    assert!(one.contains("<fieldset disabled>") && !one.contains("/operations/people/delete"), "{one}");
    reader.get("/operations/people/new").await.refused(403, "scope_missing");
    reader.get("/operations/organisations/new").await.refused(403, "scope_missing");
    reader.act("/operations/people/save", &ANN).await.refused(403, "scope_missing");
    reader.act("/operations/people/delete", &[("id", "ann")]).await.refused(403, "scope_missing");
    reader.act("/operations/organisations/save", &[("id", "x")]).await.refused(403, "scope_missing");
    reader.act("/operations/organisations/delete", &[("id", "x")]).await.refused(403, "scope_missing");
}

async fn another_business_unit_s_people_are_not_there(bed: TestBed) {
    let admin = Client::admin(&bed).await;
    let fields = with(&ANN, &[("businessUnit", "nz")]);
    admin.act("/operations/people/save", &fields).await.leads_to("/operations/people?done=saved");
    let other = admin.with_key(&[Scope::Read, Scope::Author], Some(&["de"])).await;
    other.get("/operations/people/ann").await.refused(404, "not_found");
    assert!(rows(&other.page("/operations/people").await).is_empty());
    other.act("/operations/people/delete", &[("id", "ann")]).await.refused(404, "not_found");
    // The id is taken: nothing is overwritten, and nothing of who has it is shown.
    other.act("/operations/people/save", &ANN).await.refused(409, "id_reused");
    let reply = other.act("/operations/people/save", &with(&fields, &[("id", "ben")])).await;
    assert!(reply.text.contains("There is no business unit"), "{}", reply.text);
    let mine = with(&ANN, &[("id", "ben")]);
    other.act("/operations/people/save", &mine).await.leads_to("/operations/people?done=saved");
    assert_eq!(stored(&bed, "ben").await.unwrap().business_unit.as_deref(), Some("de"));
}

/// On SQLite alone: the browser sees no database.
#[test]
fn people_and_organisations_are_kept_in_a_browser() {
    on_sqlite(async |bed| {
        let client = Client::admin(&bed).await;
        client.act("/operations/people/save", &ANN).await.leads_to("/operations/people?done=saved");
        put(&bed, event(&bed, "Planning", "2026-05-20T07:00:00Z", 1)).await;
        bed.leaves_open("the planning is to come");
        let mut stage = Stage::on(&bed).await;
        stage.sign_in().await;

        // Made by hand: an organisation, then a person whose zone is mistyped at first.
        stage.open("/operations").await;
        stage.browser.follow(".tabs a[href='/operations/organisations']").await;
        stage.browser.follow("a[href='/operations/organisations/new']").await;
        stage.browser.click("input[name=name]").await;
        stage.browser.write("Harbour Choir").await;
        stage.browser.click("input[name=id]").await;
        stage.browser.write("choir").await;
        // The lines of messages are there for who wants some of its own.
        let lines = "document.querySelector('input[name=when]').checkVisibility()";
        assert_eq!(stage.browser.eval(lines).await, Value::Bool(false));
        stage.browser.click("input[value=own]").await;
        stage.browser.click("input[name=when]").await;
        stage.browser.write("-24h").await;
        stage.browser.follow(".form button.primary").await;
        assert!(stage.texts("td").await.iter().any(|cell| cell == "24h before the start"));
        stage.browser.follow(".tabs a[href='/operations/people']").await;
        stage.browser.follow("a[href='/operations/people/new']").await;
        stage.browser.click("input[name=name]").await;
        stage.browser.write("Ben").await;
        stage.browser.click("input[name=id]").await;
        stage.browser.write("ben").await;
        stage.browser.click("input[name=timeZone]").await;
        // The browser's zones are offered.
        let offered = "[...document.activeElement.list.options].some((one) => one.value === 'Europe/Berlin')";
        assert_eq!(stage.browser.eval(offered).await, Value::Bool(true));
        stage.browser.write("Europe/Berln").await;
        stage.browser.follow(".form button.primary").await;
        assert!(stage.texts(".fault").await[0].contains("Europe/Berlin"));
        forgive_refusals(&mut stage);
        stage.browser.eval("document.querySelector('input[name=timeZone]').value = 'Europe/Berlin'").await;
        stage.browser.follow(".form button.primary").await;
        assert_eq!(stage.texts(".notice").await, ["Saved. It applies from the next message on."]);
        let pages = [
            ("people", "/operations/people"),
            ("person", "/operations/people/ann"),
            ("organisations", "/operations/organisations"),
            ("organisation", "/operations/organisations/choir"),
        ];
        walk(&mut stage, "busy", &pages).await;

        // Removed only after being asked.
        stage.open("/operations/people/ben").await;
        stage.browser.click(".ask summary").await;
        stage.browser.follow(".ask button").await;
        assert_eq!(stage.texts("td.subject a").await, ["Ann"]);
        stage.finish();
    });
}
