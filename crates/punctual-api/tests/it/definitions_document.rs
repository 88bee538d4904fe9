//! Everything that is defined, as one document: exported, planned, imported whole or not at all.

use std::collections::BTreeSet;

use punctual_testkit::{TestBed, TestBedBuilder, on_both};
use punctual_wire::definitions::DefinitionKind;
use serde_json::{Value, json};

use crate::{
    client::{Client, Reply},
    consumers::with_brokers,
    definitions::with_smtp,
    definitions_samples::{GUID, bad, define_everything, smtp},
    reminders::first_aid,
    reports::weekly,
    secret_references::on_a_machine,
    surveys::csi_gr,
};

on_both! {
    definitions_of_every_kind_arrive_at_another_server_as_they_are with with_every_adapter;
    a_plan_changes_nothing_and_names_each_field with with_every_adapter;
    one_bad_definition_keeps_all_of_them_out with with_every_adapter;
    a_plan_refuses_what_an_import_refuses with with_every_adapter;
    definitions_may_name_others_of_the_same_document with with_every_adapter;
    what_is_not_given_stays_unless_it_is_pruned with with_every_adapter;
    t12_secrets_are_kept_and_never_exported with with_every_adapter;
    a_reference_to_a_secret_is_exported_as_it_is with with_every_adapter;
    each_change_is_in_the_audit_once_and_nothing_else_is with with_every_adapter;
    t11_a_caller_with_a_limit_neither_exports_nor_imports;
    what_is_removed_does_not_come_back_under_its_id;
    messages_that_wait_go_along_with_an_imported_list;
}

fn with_every_adapter(bed: TestBedBuilder) -> TestBedBuilder {
    with_brokers(with_smtp(bed))
}

/// An empty server beside this one, on a database of the same kind.
async fn elsewhere(bed: &TestBed) -> (TestBed, Client) {
    let other = with_every_adapter(TestBedBuilder::new(bed.database())).open().await;
    on_a_machine(&other);
    let client = Client::new(&other).await;
    (other, client)
}

async fn here(bed: &TestBed) -> Client {
    on_a_machine(bed);
    Client::new(bed).await
}

async fn exported(client: &Client) -> (Value, String) {
    let reply = client.get("/api/v1/definitions").await;
    assert_eq!(reply.status, 200, "{}", reply.text);
    (reply.body["definitions"].clone(), reply.text)
}

async fn imported(client: &Client, plan: bool, prune: bool, definitions: &Value) -> Reply {
    let body = json!({ "plan": plan, "prune": prune, "definitions": definitions });
    client.post("/api/v1/definitions", body).await
}

/// What changes, as `action kind/id`.
fn reported(plan: &Value) -> Vec<String> {
    let word = |change: &Value, name: &str| change[name].as_str().unwrap().to_owned();
    plan["changes"]
        .as_array()
        .unwrap_or_else(|| panic!("{plan}"))
        .iter()
        .map(|one| format!("{} {}/{}", word(one, "action"), word(one, "kind"), word(one, "id")))
        .collect()
}

fn places(refused: &Reply) -> Vec<(String, String)> {
    let errors = refused.body["errors"].as_array().unwrap_or_else(|| panic!("{}", refused.text));
    let word = |error: &Value, name: &str| error[name].as_str().unwrap().to_owned();
    errors.iter().map(|error| (word(error, "pointer"), word(error, "code"))).collect()
}

async fn definitions_of_every_kind_arrive_at_another_server_as_they_are(bed: TestBed) {
    let client = here(&bed).await;
    define_everything(&client).await;
    let (definitions, text) = exported(&client).await;
    for kind in DefinitionKind::ALL {
        let of_kind = definitions[kind.name()].as_object();
        assert!(of_kind.is_some_and(|of_kind| !of_kind.is_empty()), "no sample of {}", kind.name());
    }
    assert_eq!(definitions["surveys"]["Visit"]["published"], json!(true));
    assert_eq!(definitions["surveys"]["Draft"].get("published"), None);
    assert_eq!(definitions["surveys"]["Visit~2"]["name"], "Visit");
    assert_eq!(definitions["surveys"]["Moved on"]["published"]["title"]["en"], "How was your visit?");
    assert_eq!(
        reported(&imported(&client, true, true, &definitions).await.expect(200)),
        [""; 0],
        "it is all there"
    );

    let (_other, there) = elsewhere(&bed).await;
    let (empty, _) = exported(&there).await;
    let planned = imported(&there, true, false, &definitions).await.expect(200);
    assert_eq!(planned["applied"], false);
    assert_eq!(exported(&there).await.0, empty, "a plan changes nothing");
    let done = imported(&there, false, false, &definitions).await.expect(200);
    assert_eq!((&done["applied"], &done["changes"]), (&json!(true), &planned["changes"]));
    for plan in [true, false] {
        let again = imported(&there, plan, true, &definitions).await.expect(200);
        assert_eq!((reported(&again), &again["applied"]), (vec![], &json!(false)), "it converges");
    }
    assert_eq!(exported(&there).await.1, text, "byte for byte");
    // What arrived works: the survey takes events, and the site waits for its token.
    let version = there.get("/api/v1/surveys").await.expect(200);
    let published =
        version["items"].as_array().unwrap().iter().filter(|one| !one["publishedVersionNumber"].is_null());
    assert_eq!(published.count(), 2);
    there.post("/api/v1/sites/plant-7/rotate", json!({})).await.expect(200);
}

async fn a_plan_changes_nothing_and_names_each_field(bed: TestBed) {
    let client = here(&bed).await;
    define_everything(&client).await;
    let (mut definitions, before) = exported(&client).await;
    definitions["lists"]["ops"]["targets"] = json!(["b@example.org"]);
    definitions["reminder-settings"]["first-aid"]["date"]["offsetsDays"] = json!([60, 7]);
    definitions["channels"]["email:default"]["settings"]["from"] = json!("c@b.example");
    definitions["channels"]["email:default"]["retry"] = Value::Null;
    definitions["templates"]["new"] = definitions["templates"]["hello"].clone();
    let plan = imported(&client, true, false, &definitions).await.expect(200);
    assert_eq!(
        reported(&plan),
        [
            "create templates/new",
            "update channels/email:default",
            "update lists/ops",
            "update reminder-settings/first-aid"
        ]
    );
    assert_eq!(
        plan["changes"][1]["fields"],
        json!([
            { "pointer": "/retry", "from": { "policy": "steps", "afterSeconds": [60, 300] }, "to": null },
            { "pointer": "/settings/from", "from": "a@b.example", "to": "c@b.example" },
        ])
    );
    let list = json!([{ "pointer": "/targets/0", "from": "a@example.org", "to": "b@example.org" }]);
    assert_eq!(plan["changes"][2]["fields"], list);
    let dates = json!([{ "pointer": "/date/offsetsDays", "from": [30, 7, 1], "to": [60, 7] }]);
    assert_eq!(plan["changes"][3]["fields"], dates);
    assert_eq!(exported(&client).await.1, before);
    let done = imported(&client, false, false, &definitions).await.expect(200);
    assert_eq!(done["changes"], plan["changes"]);
    assert_eq!(reported(&imported(&client, true, false, &definitions).await.expect(200)), [""; 0]);
}

async fn one_bad_definition_keeps_all_of_them_out(bed: TestBed) {
    let client = here(&bed).await;
    let (before, text) = exported(&client).await;
    let audit = client.get("/api/v1/audit").await.text;
    let definitions = json!({ "lists": { "a": { "type": "email", "targets": [] }, "b": { "type": "E", "targets": [] } },
        "business-units": { "fr": { "name": "FR", "timeZone": "Europe/Paris" } },
        "templates": { "t": { "defaultLocale": "en", "variants": {} } } });
    let refused = imported(&client, false, false, &definitions).await;
    assert_eq!(refused.status, 422, "{}", refused.text);
    let expected = [
        ("/definitions/templates/t/variants", "out_of_range"),
        ("/definitions/templates/t/variants/en", "missing_field"),
        ("/definitions/lists/b/type", "out_of_range"),
    ];
    assert_eq!(places(&refused), expected.map(|(at, code)| (at.to_owned(), code.to_owned())), "all of them");
    assert_eq!(exported(&client).await, (before, text));
    assert_eq!(client.get("/api/v1/audit").await.text, audit);
}

async fn a_plan_refuses_what_an_import_refuses(bed: TestBed) {
    let client = here(&bed).await;
    let (before, _) = exported(&client).await;
    for (definitions, pointer, code) in bad() {
        let mut reported = Vec::new();
        for plan in [true, false] {
            let refused = imported(&client, plan, false, &definitions).await;
            assert!((400..500).contains(&refused.status), "{definitions}: {}", refused.text);
            let found = places(&refused);
            let expected = (format!("/definitions{pointer}"), code.to_owned());
            assert!(found.contains(&expected), "{definitions}: {}", refused.text);
            reported.push(found);
        }
        assert_eq!(reported[0], reported[1]);
    }
    assert_eq!(exported(&client).await.0, before);
}

async fn definitions_may_name_others_of_the_same_document(bed: TestBed) {
    let client = here(&bed).await;
    let unit = |name: &str| {
        json!({ "business-units": { "fr": { "name": "FR", "timeZone": "Europe/Paris" } },
        "lists": { "l": { "type": "memory", "targets": [], "businessUnit": name } },
        "organisations": { "o": { "name": "O", "businessUnit": name } },
        "people": { "p": { "name": "P", "businessUnit": name } },
        "reminder-settings": { "r": first_aid(|body| body["businessUnit"] = json!(name)) },
        "surveys": { "S": { "name": "S", "schema": csi_gr(), "published": true, "businessUnit": name } },
        "report-subscriptions": { GUID: weekly(|body| body["businessUnit"] = json!(name)) },
        "sites": { "s": { "businessUnit": name } } })
    };
    let refused = imported(&client, false, false, &unit("mars")).await;
    let found = places(&refused);
    assert_eq!(found.len(), 7, "{found:?}");
    assert!(
        found.iter().all(|(at, code)| at.ends_with("/businessUnit") && code == "unit_unknown"),
        "{found:?}"
    );
    assert_eq!(reported(&imported(&client, true, false, &unit("fr")).await.expect(200)).len(), 8);
    assert_eq!(reported(&imported(&client, false, false, &unit("fr")).await.expect(200)).len(), 8);
    assert_eq!(reported(&imported(&client, true, false, &unit("fr")).await.expect(200)), [""; 0]);
    bed.leaves_open("the next run is planned");
    // The next run is in the zone of the unit that came with it.
    let report = client.get(&format!("/api/v1/report-subscriptions/{GUID}")).await.expect(200);
    assert!(report["nextRunAt"].is_string(), "{report}");
}

async fn what_is_not_given_stays_unless_it_is_pruned(bed: TestBed) {
    let client = here(&bed).await;
    define_everything(&client).await;
    let (before, _) = exported(&client).await;
    let some = json!({ "lists": { "ops": before["lists"]["ops"].clone() } });
    assert_eq!(reported(&imported(&client, false, false, &some).await.expect(200)), [""; 0]);
    let pruned = imported(&client, true, true, &some).await.expect(200);
    assert_eq!(reported(&pruned), ["delete lists/a/b ~ c"], "only of the kinds that are given");
    assert_eq!(exported(&client).await.0, before);
    let mut nothing = json!({});
    for kind in DefinitionKind::ALL {
        nothing[kind.name()] = json!({});
    }
    let done = imported(&client, false, true, &nothing).await.expect(200);
    let surveys: BTreeSet<&str> =
        done["kept"].as_array().unwrap().iter().map(|one| one["id"].as_str().unwrap()).collect();
    assert_eq!(surveys, BTreeSet::from(["Draft", "Moved on", "Visit", "Visit~2"]), "{done}");
    let (after, _) = exported(&client).await;
    for kind in DefinitionKind::ALL.iter().filter(|kind| **kind != DefinitionKind::Survey) {
        assert_eq!(after[kind.name()], json!({}), "{}", kind.name());
    }
    assert_eq!(reported(&imported(&client, true, true, &nothing).await.expect(200)), [""; 0]);
    let site = client.get("/api/v1/sites/plant-7").await.expect(200);
    assert!(site["revokedAt"].is_string(), "{site}");
}

async fn t12_secrets_are_kept_and_never_exported(bed: TestBed) {
    let client = here(&bed).await;
    client.put("/api/v1/channels/email:default", smtp(json!("canary-1"))).await.expect(200);
    let (mut definitions, text) = exported(&client).await;
    assert_eq!(definitions["channels"]["email:default"]["settings"]["password"], json!({ "set": true }));
    definitions["channels"]["email:default"]["settings"]["from"] = json!("c@b.example");
    let mut texts = vec![text];
    let done = imported(&client, false, false, &definitions).await;
    texts.push(done.text.clone());
    assert_eq!(done.expect(200)["changes"][0]["fields"].as_array().unwrap().len(), 1);
    let stored = bed.engine.channels.opened_settings(&channel(&bed).await);
    assert_eq!(stored["password"], "canary-1", "it was kept");
    // Another one is a change, which shows neither.
    definitions["channels"]["email:default"]["settings"]["password"] = json!("canary-2");
    for (plan, changes) in [(true, 1), (false, 1), (true, 0), (false, 0)] {
        let reply = imported(&client, plan, false, &definitions).await;
        texts.push(reply.text.clone());
        assert_eq!(reported(&reply.expect(200)).len(), changes);
    }
    assert_eq!(bed.engine.channels.opened_settings(&channel(&bed).await)["password"], "canary-2");
    // It goes to no other place than it was given for.
    definitions["channels"]["email:default"]["settings"]["password"] = json!({ "set": true });
    definitions["channels"]["email:default"]["settings"]["host"] = json!("127.0.0.2");
    let refused = imported(&client, true, false, &definitions).await;
    assert_eq!(places(&refused)[0].1, "secret_required", "{}", refused.text);
    texts.push(refused.text);
    let (_other, there) = elsewhere(&bed).await;
    let refused = imported(&there, false, false, &definitions).await;
    let place = "/definitions/channels/email:default/settings/password".to_owned();
    assert_eq!(places(&refused), [(place, "secret_required".to_owned())], "it did not come along");
    texts.push(client.get("/api/v1/audit").await.text);
    assert!(texts.iter().all(|text| !text.contains("canary")), "{texts:?}");
}

async fn channel(bed: &TestBed) -> punctual_store::channels::ChannelRow {
    let mut reader = bed.store.read().await.unwrap();
    punctual_store::channels::get(&mut reader.conn(), "email:default").await.unwrap().unwrap()
}

async fn a_reference_to_a_secret_is_exported_as_it_is(bed: TestBed) {
    let client = here(&bed).await;
    for reference in ["env:SMTP", "file:smtp"] {
        client.put("/api/v1/channels/email:default", smtp(json!(reference))).await.expect(200);
        let (definitions, _) = exported(&client).await;
        assert_eq!(definitions["channels"]["email:default"]["settings"]["password"], reference);
    }
    let (mut definitions, _) = exported(&client).await;
    definitions["channels"]["email:default"]["settings"]["password"] = json!("env:SMTP");
    let done = imported(&client, false, false, &definitions).await.expect(200);
    let fields = json!([{ "pointer": "/settings/password", "from": "file:smtp", "to": "env:SMTP" }]);
    assert_eq!(done["changes"][0]["fields"], fields);
}

async fn each_change_is_in_the_audit_once_and_nothing_else_is(bed: TestBed) {
    let client = here(&bed).await;
    define_everything(&client).await;
    let (mut definitions, _) = exported(&client).await;
    let newest =
        async || client.get("/api/v1/audit?limit=10").await.expect(200)["items"].as_array().unwrap().clone();
    let before = newest().await[0]["seq"].as_i64().unwrap();
    // A field that has its default is the same with and without it: nothing is written for it.
    definitions["people"]["ann"].as_object_mut().unwrap().remove("channels");
    definitions["lists"]["ops"]["targets"] = json!([]);
    definitions["templates"].as_object_mut().unwrap().remove("hello");
    let done = imported(&client, false, true, &definitions).await.expect(200);
    assert_eq!(reported(&done), ["delete templates/hello", "update lists/ops"]);
    let items = newest().await;
    let new: Vec<String> = items
        .iter()
        .filter(|entry| entry["seq"].as_i64().unwrap() > before)
        .map(|entry| format!("{} {}", entry["action"].as_str().unwrap(), entry["subject"]))
        .collect();
    assert_eq!(new.len(), 2, "{items:?}");
    assert!(new[0].contains("delete") && new[0].contains("hello") && new[1].contains("ops"), "{new:?}");
}

async fn t11_a_caller_with_a_limit_neither_exports_nor_imports(bed: TestBed) {
    let client = Client::new(&bed).await;
    let limited = client.new_key(&["admin", "author", "read"], Some(&["nz"])).await;
    assert_eq!(limited.get("/api/v1/definitions").await.status, 403);
    assert_eq!(imported(&limited, true, false, &json!({})).await.status, 403);
    let author = client.new_key(&["author", "read"], None).await;
    author.get("/api/v1/definitions").await.expect(200);
    assert_eq!(imported(&author, true, false, &json!({})).await.status, 403);
}

async fn what_is_removed_does_not_come_back_under_its_id(bed: TestBed) {
    let client = here(&bed).await;
    client.put("/api/v1/reminder-settings/first-aid", first_aid(|_| {})).await.expect(200);
    client.put(&format!("/api/v1/report-subscriptions/{GUID}"), weekly(|_| {})).await.expect(200);
    let (definitions, _) = exported(&client).await;
    imported(&client, false, true, &json!({ "reminder-settings": {}, "report-subscriptions": {} }))
        .await
        .expect(200);
    let refused = imported(&client, false, false, &definitions).await;
    assert!(places(&refused).iter().all(|(_, code)| code == "id_reused"), "{}", refused.text);
    assert_eq!(places(&refused).len(), 2);
}

async fn messages_that_wait_go_along_with_an_imported_list(bed: TestBed) {
    let client = here(&bed).await;
    client
        .put("/api/v1/lists/ops", json!({ "type": "memory", "targets": ["1"], "channel": "memory:none" }))
        .await
        .expect(200);
    client
        .post("/api/v1/notifications", json!({ "list": "ops", "subject": "S", "body": "B" }))
        .await
        .expect(201);
    let definitions =
        json!({ "lists": { "ops": { "type": "memory", "targets": ["1"], "channel": "memory:default" } } });
    imported(&client, true, false, &definitions).await.expect(200);
    imported(&client, false, false, &definitions).await.expect(200);
    bed.tick().await;
    assert_eq!(bed.sent_to(), ["1"]);
}
