//! A source that moves to another business unit: what callers of the old one see of it.

use punctual_testkit::{TestBed, on_both};
use serde_json::{Value, json};

use crate::{
    client::Client,
    reminders::{first_aid, put_source, setting, unit},
};

on_both! {
    t11_what_has_moved_is_neither_repeated_nor_named_in_the_old_unit;
}

fn document(unit: &str) -> Value {
    json!({ "businessUnit": unit, "state": { "kind": "first-aid", "expiresOn": "2026-07-20" } })
}

async fn with_units(bed: &TestBed) -> Client {
    let client = Client::new(bed).await;
    unit(&client, "nz", "Pacific/Auckland").await;
    unit(&client, "de", "Europe/Berlin").await;
    client
}

/// What was sent before stays the old unit's; what has become of the source since is not theirs to see, or to send.
async fn t11_what_has_moved_is_neither_repeated_nor_named_in_the_old_unit(bed: TestBed) {
    let client = with_units(&bed).await;
    setting(&client, first_aid(|_| {})).await;
    let place = "document/0197a3c4-5d6e-7f80-9a1b-2c3d4e5f6071";
    let called = |unit: &str, name: &str| {
        let mut body = document(unit);
        body["state"]["name"] = json!(name);
        body
    };
    put_source(&client, place, called("nz", "before")).await;
    client.advance("40d").await;
    assert_eq!(bed.sent().len(), 1);
    let nz = client.new_key(&["read", "operate"], Some(&["nz"])).await;
    let done =
        async |key: &Client| key.get("/api/v1/work?status=completed").await.expect(200)["items"][0].clone();
    assert_eq!(done(&nz).await["title"], "First aid, document before: 30 days before 20 Jul");
    put_source(&client, place, called("de", "salary-90000")).await;
    let row = done(&nz).await;
    assert_eq!(
        row["title"],
        "First aid, document 0197a3c4-5d6e-7f80-9a1b-2c3d4e5f6071: 30 days before 20 Jul"
    );
    assert_eq!(done(&client).await["title"], "First aid, document salary-90000: 30 days before 20 Jul");
    assert_eq!(nz.get("/api/v1/search?q=salary").await.expect(200)["items"], json!([]));
    let again = nz.post(&format!("/api/v1/work/{}/retry", row["id"]), json!({})).await.expect(200);
    client.advance("1m").await;
    assert_eq!(bed.sent().len(), 1, "nothing is sent for what another unit has now");
    let again = nz.get(&format!("/api/v1/work/{}", again["id"])).await.expect(200);
    assert_eq!(
        (&again["status"], &again["reasonCode"]),
        (&json!("deactivated"), &json!("SourceNoLongerValid"))
    );
    bed.leaves_open("the other two are to come");
}
