//! What reminders use beside their own source is of their own business unit.

use jiff::Timestamp;
use punctual_model::Reach;
use punctual_store::lists::{self, ListRow};
use punctual_testkit::{TestBed, on_both};
use serde_json::{Value, json};

use crate::author::{Author, first_aid};

on_both! {
    s0_81_no_input_of_a_reminder_reaches_into_another_unit;
}

/// A list of one address, of a business unit.
async fn list(bed: &TestBed, name: &str, target: &str, unit: &str) {
    let row = ListRow {
        name: name.into(),
        kind: "memory".into(),
        channel: "memory:default".into(),
        targets: json!([target]).to_string(),
        business_unit: Some(unit.into()),
        updated_at: Timestamp::UNIX_EPOCH,
    };
    let mut tx = bed.begin().await;
    lists::put(&mut tx.conn(), bed.now(), &Reach::Everything, &row).await.unwrap();
    tx.commit().await.unwrap();
}

/// The four inputs that a reminder has beside its own source, each once of another unit and once of its own.
async fn s0_81_no_input_of_a_reminder_reaches_into_another_unit(bed: TestBed) {
    let author = Author::new(&bed);
    for name in ["nz", "de"] {
        author.unit(name, "UTC").await;
    }
    let of_nz = |key: &str, change: &dyn Fn(&mut Value)| {
        first_aid(|body| {
            body["businessUnit"] = json!("nz");
            body["sourceType"] = json!(key);
            body["triggerKey"] = json!(key);
            body["filter"] = json!(null);
            body["date"]["offsetsDays"] = json!([1]);
            body["delivery"] = json!({ "channel": "memory:default" });
            change(body);
        })
    };
    let measured = |metric: Value| {
        move |body: &mut Value| {
            body["kind"] = json!("threshold");
            body["date"] = json!(null);
            body["recipients"] = json!({ "addresses": ["x"] });
            body["threshold"] =
                json!({ "metric": metric, "op": ">=", "value": 3, "firingPolicy": "FalseToTrue" });
        }
    };
    let children = json!({ "sourceType": "child", "parentField": "/parent" });
    let mut added = children.clone();
    added["field"] = json!("/amount");
    let by_list = |body: &mut Value| {
        body["recipients"] = json!({ "list": "ops" });
        body["delivery"] = json!({});
    };
    let by_lookup = |body: &mut Value| {
        body["recipients"] =
            json!({ "lookup": { "sourceType": "person", "idField": "/owner", "field": "/email" } });
    };
    author.setting(of_nz("lookup", &by_lookup)).await;
    author.setting(of_nz("list", &by_list)).await;
    author.setting(of_nz("count", &measured(json!({ "count": children })))).await;
    author.setting(of_nz("sum", &measured(json!({ "sum": added })))).await;
    // Whatever they name belongs to `de` at first.
    let has = async |unit: &str| {
        let name = if unit == "de" { "ops" } else { "ops-own" };
        list(&bed, name, &format!("list-of-{unit}"), unit).await;
        let person = json!({ "businessUnit": unit, "state": { "email": format!("person-of-{unit}") } });
        author.report(&format!("person/{unit}"), person).await;
        for n in 0..3 {
            let state = json!({ "parent": "1", "amount": 2 });
            let child = json!({ "businessUnit": unit, "state": state });
            author.report(&format!("child/{unit}-{n}"), child).await;
        }
    };
    has("de").await;
    for source in ["lookup", "list", "count", "sum"] {
        let state = json!({ "expiresOn": "2026-05-20", "owner": "de" });
        author.report(&format!("{source}/1"), json!({ "businessUnit": "nz", "state": state })).await;
    }
    author.advance("10d").await;
    assert!(bed.sent().is_empty(), "{:?}", bed.sent_to());
    // The same of its own unit is found.
    has("nz").await;
    let own_list = |body: &mut Value| {
        by_list(body);
        body["triggerKey"] = json!("own-list");
        body["recipients"] = json!({ "list": "ops-own" });
    };
    author.setting(of_nz("list", &own_list)).await;
    for source in ["lookup", "list"] {
        let state = json!({ "expiresOn": "2026-06-20", "owner": "nz" });
        author.report(&format!("{source}/2"), json!({ "businessUnit": "nz", "state": state })).await;
    }
    author.advance("40d").await;
    let mut reached = bed.sent_to();
    reached.sort();
    assert_eq!(reached, ["list-of-nz", "person-of-nz", "x", "x"]);
}
