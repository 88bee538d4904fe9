//! Reminder settings as definitions: every fault names its field, versions count, and keys see only their units.

use punctual_testkit::{TestBed, on_both};
use serde_json::{Value, json};

use crate::{
    client::{Client, Reply},
    reminders::{first_aid, setting, unit},
};

on_both! {
    every_fault_of_a_setting_names_its_field;
    a_setting_is_made_read_changed_and_removed;
    a_change_of_an_older_version_is_refused;
    a_key_sees_and_changes_the_settings_of_its_units_only;
}

async fn every_fault_of_a_setting_names_its_field(bed: TestBed) {
    let client = Client::new(&bed).await;
    let check = async |pointer: &str, code: &str, change: &dyn Fn(&mut Value)| {
        let reply = client.post("/api/v1/reminder-settings", first_aid(|body| change(body))).await;
        let problem = reply.refused(422, code);
        assert_eq!(Reply::pointers(&problem), [pointer], "{problem}");
    };
    check("/kind", "out_of_range", &|body| {
        body["kind"] = json!("datebased");
        body["date"] = json!(null);
    })
    .await;
    check("/date/field", "out_of_range", &|body| body["date"]["field"] = json!("expiresOn")).await;
    check("/date/sendTime", "date_invalid", &|body| body["date"]["sendTime"] = json!("25:00")).await;
    check("/date/offsetsDays/0", "out_of_range", &|body| body["date"]["offsetsDays"] = json!([4_000])).await;
    check("/filter/op", "out_of_range", &|body| body["filter"]["op"] = json!("~")).await;
    check("/maxLateness", "duration_invalid", &|body| body["maxLateness"] = json!("1 month")).await;
    check("/recipients", "field_conflict", &|body| body["recipients"] = json!({})).await;
    check("/recipients/people", "unknown_field", &|body| body["recipients"] = json!({ "people": [] })).await;
    check("/recipients/field", "out_of_range", &|body| body["recipients"] = json!({ "field": "email" }))
        .await;
    check("/recipients/lookup/idField", "missing_field", &|body| {
        body["recipients"] = json!({ "lookup": { "sourceType": "person", "field": "/email" } });
    })
    .await;
    check("/delivery/quietHours/from", "date_invalid", &|body| {
        body["delivery"]["quietHours"] = json!({ "from": "late", "to": "07:00" });
    })
    .await;
    check("/delivery/policy", "out_of_range", &|body| body["delivery"]["policy"] = json!("mine")).await;
    let threshold = |metric: Value| {
        move |body: &mut Value| {
            body["kind"] = json!("threshold");
            body["date"] = json!(null);
            body["threshold"] =
                json!({ "metric": metric, "op": ">=", "value": 0.9, "firingPolicy": "OncePerDay" });
        }
    };
    check("/threshold/metric", "wrong_type", &threshold(json!({ "average": "/x" }))).await;
    check("/threshold/metric/share", "wrong_type", &threshold(json!({ "share": ["/x"] }))).await;
    check("/threshold/metric/field", "out_of_range", &threshold(json!({ "field": "booked" }))).await;
    let count = json!({ "count": { "sourceType": "booking", "parentField": "/classId", "where": { "op": "==", "value": 1 } } });
    check("/threshold/metric/count/where/questionId", "missing_field", &threshold(count)).await;
    let all = client.get("/api/v1/reminder-settings").await.expect(200);
    assert_eq!(all["items"], json!([]), "nothing is stored");
}

async fn a_setting_is_made_read_changed_and_removed(bed: TestBed) {
    let client = Client::new(&bed).await;
    let body = first_aid(|body| body["delivery"]["channel"] = json!("email:later"));
    let made = client.post("/api/v1/reminder-settings", body.clone()).await.expect(201);
    assert_eq!((&made["version"], &made["active"], &made["date"]), (&json!(1), &json!(true), &body["date"]));
    assert_eq!(made["warnings"][0]["code"], "channel_unknown");
    let path = format!("/api/v1/reminder-settings/{}", made["id"].as_str().unwrap());
    let read = client.get(&path).await.expect(200);
    assert_eq!((&read["id"], &read["filter"]), (&made["id"], &body["filter"]));
    let changed = client.patch(&path, json!({ "name": "Renamed", "filter": null })).await.expect(200);
    assert_eq!(
        (&changed["name"], &changed["version"], changed.get("filter")),
        (&json!("Renamed"), &json!(2), None)
    );
    let refused = client.patch(&path, json!({ "sourceType": "person" })).await.refused(422, "field_conflict");
    assert_eq!(Reply::pointers(&refused), ["/sourceType"]);
    let whole = client.put(&path, first_aid(|body| body["active"] = json!(false))).await.expect(200);
    assert_eq!((&whole["name"], &whole["active"]), (&json!("First aid"), &json!(false)));
    // An id of one's own, as files in version control have it.
    client.put("/api/v1/reminder-settings/first-aid", first_aid(|_| {})).await.expect(200);
    assert_eq!(
        client.get("/api/v1/reminder-settings").await.expect(200)["items"].as_array().unwrap().len(),
        2
    );
    client.delete(&path).await.expect(204);
    client.get(&path).await.refused(404, "not_found");
    client.delete(&path).await.refused(404, "not_found");
    client.post(&format!("{path}/plan"), json!({})).await.refused(404, "not_found");
    let reported = bed.audit("reminder-setting", made["id"].as_str().unwrap()).await;
    assert_eq!(reported, ["create", "change", "change", "delete"]);
}

async fn a_change_of_an_older_version_is_refused(bed: TestBed) {
    let client = Client::new(&bed).await;
    let id = setting(&client, first_aid(|_| {})).await;
    let path = format!("/api/v1/reminder-settings/{id}");
    client.patch(&path, json!({ "name": "A", "version": 1 })).await.expect(200);
    client.patch(&path, json!({ "name": "B", "version": 1 })).await.refused(409, "stale_version");
    client.patch(&path, json!({ "name": "B", "version": "2" })).await.refused(422, "wrong_type");
    assert_eq!(client.get(&path).await.expect(200)["name"], "A");
}

async fn a_key_sees_and_changes_the_settings_of_its_units_only(bed: TestBed) {
    let client = Client::new(&bed).await;
    unit(&client, "nz", "Pacific/Auckland").await;
    let own = client.new_key(&["author", "read"], Some(&["nz"])).await;
    let other = client.new_key(&["author", "read"], Some(&["de"])).await;
    let made = own.post("/api/v1/reminder-settings", first_aid(|_| {})).await.expect(201);
    assert_eq!(made["businessUnit"], "nz", "a key of one unit makes settings for it");
    let path = format!("/api/v1/reminder-settings/{}", made["id"].as_str().unwrap());
    own.patch(&path, json!({ "active": false })).await.expect(200);
    other.get(&path).await.refused(404, "not_found");
    other.patch(&path, json!({ "active": true })).await.refused(404, "not_found");
    other.delete(&path).await.refused(404, "not_found");
    assert_eq!(other.get("/api/v1/reminder-settings").await.expect(200)["items"], json!([]));
    let all = client.post("/api/v1/reminder-settings", first_aid(|_| {})).await.expect(201);
    let path = format!("/api/v1/reminder-settings/{}", all["id"].as_str().unwrap());
    own.get(&path).await.expect(200);
    own.patch(&path, json!({ "active": false })).await.refused(403, "scope_missing");
    own.put(&path, first_aid(|_| {})).await.refused(403, "scope_missing");
    own.delete(&path).await.refused(403, "scope_missing");
    client.get(&path).await.expect(200);
}
