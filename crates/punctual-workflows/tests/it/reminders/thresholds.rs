//! Reminders by threshold: four firing policies over the same series, and measures over fields and children.

use punctual_testkit::{TestBed, on_both};
use serde_json::{Value, json};

use crate::author::{Author, Which, first_aid};

on_both! {
    each_firing_policy_counts_the_series_in_its_own_way;
    a_value_that_falls_back_before_it_is_sent_is_not_sent;
    a_class_is_nearly_full_by_its_bookings;
    a_sum_and_a_share_of_children_are_measured;
    another_threshold_is_another_reminder_unless_once_per_source;
}

fn nearly_full(policy: &str, change: impl FnOnce(&mut Value)) -> Value {
    first_aid(|body| {
        body["name"] = json!("Nearly full");
        body["sourceType"] = json!("class");
        body["triggerKey"] = json!(format!("full-{policy}"));
        body["kind"] = json!("threshold");
        body["date"] = json!(null);
        body["filter"] = json!(null);
        body["recipients"] = json!({ "addresses": [format!("{policy}@b.example")] });
        body["threshold"] = json!({ "metric": { "share": ["/booked", "/capacity"] }, "op": ">=", "value": 0.9,
            "firingPolicy": policy, "scope": "all" });
        change(body);
    })
}

async fn class(author: &Author, booked: i64) {
    author
        .report("class/1", json!({ "businessUnit": "nz", "state": { "booked": booked, "capacity": 10 } }))
        .await;
    author.advance("1m").await;
}

fn notified(bed: &TestBed, policy: &str) -> usize {
    bed.sent_to().iter().filter(|address| **address == format!("{policy}@b.example")).count()
}

/// Below, above, above, below, above: the series of the design, first within a day, then over its end.
async fn each_firing_policy_counts_the_series_in_its_own_way(bed: TestBed) {
    let author = Author::in_auckland(&bed).await;
    let policies = ["OncePerSource", "OncePerThreshold", "OncePerDay", "FalseToTrue"];
    let mut ids = Vec::new();
    for policy in policies {
        ids.push(author.setting(nearly_full(policy, |_| {})).await);
    }
    for booked in [5, 9, 10, 3, 9] {
        class(&author, booked).await;
    }
    assert_eq!(policies.map(|policy| notified(&bed, policy)), [1, 1, 1, 2]);
    let found = author.rows(Which::Source("class", "1")).await;
    let keys: Vec<&str> = found.iter().map(|(key, ..)| key.as_str()).collect();
    let key = |n: usize, scope: &str| {
        let policy = policies[n];
        format!(
            "reminder:{}:class:1:full-{policy}:threshold:share(/booked,/capacity):0.9:{policy}:{scope}",
            ids[n]
        )
    };
    for expected in [key(0, "all"), key(1, "all"), key(2, "all@2026-05-14"), key(3, "all#1"), key(3, "all#2")]
    {
        assert!(keys.contains(&expected.as_str()), "{expected} is not among {keys:?}");
    }
    // The next local day: still met, then below, then met again.
    author.advance("24h").await;
    for booked in [9, 2, 10] {
        class(&author, booked).await;
    }
    assert_eq!(policies.map(|policy| notified(&bed, policy)), [1, 1, 2, 3]);
}

async fn a_value_that_falls_back_before_it_is_sent_is_not_sent(bed: TestBed) {
    let author = Author::in_auckland(&bed).await;
    author.setting(nearly_full("FalseToTrue", |_| {})).await;
    let state = |booked: i64| json!({ "businessUnit": "nz", "state": { "booked": booked, "capacity": 10 } });
    assert_eq!(author.report("class/1", state(9)).await[0], 1);
    assert_eq!(author.report("class/1", state(10)).await[3], 1);
    assert_eq!(author.report("class/1", state(1)).await[2], 1);
    author.advance("1h").await;
    assert!(bed.sent().is_empty());
    assert_eq!(author.rows(Which::All).await[0].2, "threshold-not-met");
    assert_eq!(author.report("class/1", state(9)).await[0], 1);
    // The class is gone before anything is sent.
    author.report_gone("class/1").await;
    author.advance("1h").await;
    assert!(bed.sent().is_empty());
}

async fn a_class_is_nearly_full_by_its_bookings(bed: TestBed) {
    let author = Author::in_auckland(&bed).await;
    let count = json!({ "count": { "sourceType": "booking", "parentField": "/classId",
        "where": { "questionId": "state.status", "op": "!=", "value": "cancelled" } } });
    for class in ["1", "2"] {
        author.report(&format!("class/{class}"), json!({ "businessUnit": "nz", "state": {} })).await;
    }
    let book = async |id: i64, class: &str, status: &str| {
        let state = json!({ "businessUnit": "nz", "state": { "classId": class, "status": status } });
        let work = author.report(&format!("booking/{id}"), state).await;
        author.advance("1m").await;
        work
    };
    book(1, "1", "booked").await;
    // The setting comes when there are bookings already: they are counted as it is applied.
    let id = author
        .setting(nearly_full("FalseToTrue", |body| {
            body["threshold"]["metric"] = count;
            body["threshold"]["value"] = json!(3);
        }))
        .await;
    book(2, "1", "booked").await;
    assert!(bed.sent().is_empty());
    let work = book(3, "1", "booked").await;
    assert_eq!(work[0], 1, "the parent's row counts for the booking that made it");
    assert_eq!(bed.sent().len(), 1);
    // The filter is part of what is measured.
    let found = author.rows(Which::Source("class", "1")).await;
    let own = format!("reminder:{id}:class:1:full-FalseToTrue:threshold:count(booking)?");
    assert!(
        found.iter().any(|(key, ..)| key.starts_with(&own) && key.ends_with(":3:FalseToTrue:all#1")),
        "{found:?}"
    );
    // One is cancelled, one moves to another class, and one comes back.
    book(3, "1", "cancelled").await;
    book(2, "2", "booked").await;
    book(3, "1", "booked").await;
    assert_eq!(bed.sent().len(), 1);
    book(2, "1", "booked").await;
    assert_eq!(bed.sent().len(), 2);
    author.report_gone("booking/2").await;
    book(4, "1", "booked").await;
    assert_eq!(bed.sent().len(), 3);
}

async fn a_sum_and_a_share_of_children_are_measured(bed: TestBed) {
    let author = Author::new(&bed);
    let sum = json!({ "sum": { "sourceType": "order", "field": "/amount", "parentField": "/customer" } });
    let share = json!({ "share": [sum, "/limit"] });
    author
        .setting(nearly_full("OncePerThreshold", |body| {
            body["threshold"]["metric"] = share;
            body["threshold"]["value"] = json!(0.8);
        }))
        .await;
    author.report("class/c", json!({ "state": { "limit": 100 } })).await;
    let order = async |id: &str, amount: Value| {
        author
            .report(&format!("order/{id}"), json!({ "state": { "customer": "c", "amount": amount } }))
            .await;
        author.advance("1m").await;
    };
    order("a", json!(40.25)).await;
    order("b", json!("39.7")).await;
    assert!(bed.sent().is_empty());
    order("c", json!(0.05)).await;
    assert_eq!(bed.sent().len(), 1);
}

async fn another_threshold_is_another_reminder_unless_once_per_source(bed: TestBed) {
    let author = Author::in_auckland(&bed).await;
    let mut ids = Vec::new();
    for policy in ["OncePerSource", "OncePerThreshold"] {
        ids.push(author.setting(nearly_full(policy, |_| {})).await);
    }
    class(&author, 9).await;
    assert_eq!((notified(&bed, "OncePerSource"), notified(&bed, "OncePerThreshold")), (1, 1));
    for (id, policy) in ids.iter().zip(["OncePerSource", "OncePerThreshold"]) {
        let threshold = json!({ "metric": { "share": ["/booked", "/capacity"] }, "op": ">=", "value": 0.5,
            "firingPolicy": policy, "scope": "all" });
        author.change(id, json!({ "threshold": threshold })).await;
    }
    author.advance("1m").await;
    assert_eq!((notified(&bed, "OncePerSource"), notified(&bed, "OncePerThreshold")), (1, 2));
}
