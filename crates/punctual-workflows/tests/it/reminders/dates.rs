//! Reminders by date: what is planned when a source is reported late, changed, taken back or put into a clock change.

use punctual_model::WorkStatus;
use punctual_testkit::{TestBed, on_both};
use punctual_workflows::reminders::evaluate::Plan;
use serde_json::json;

use crate::author::{Author, Which, document, first_aid, sent_at};

on_both! {
    what_is_entered_late_gets_only_what_is_left;
    a_changed_date_replaces_what_was_planned;
    a_source_that_no_longer_counts_is_not_reminded_of;
    local_times_in_a_gap_or_an_overlap_follow_the_one_rule;
}

async fn what_is_entered_late_gets_only_what_is_left(bed: TestBed) {
    let author = Author::in_auckland(&bed).await;
    author.setting(first_aid(|_| {})).await;
    let work = author.report("document/42", document("2026-05-19")).await;
    assert_eq!(work, [1, 0, 2, 0]);
    let reasons: Vec<(String, String)> =
        author.rows(Which::All).await.into_iter().map(|(_, status, reason)| (status, reason)).collect();
    let over = ("deactivated".to_owned(), "due-in-past".to_owned());
    assert_eq!(reasons, [("pending".to_owned(), String::new()), over.clone(), over]);
    let again = author.report("document/42", document("2026-05-19")).await;
    assert_eq!(again, [0, 0, 0, 3]);
    author.advance("30d").await;
    assert_eq!(sent_at(&bed), ["2026-05-17T21:00:00Z"]);
    // Still the same local day: late, and sent at once. In Auckland it is 17:00 on 13 June.
    let work = author.report("document/43", document("2026-06-20")).await;
    assert_eq!(work[0], 2);
    author.advance("1s").await;
    assert_eq!(bed.sent().len(), 2);
    // What was down for days comes back with nothing to send for them.
    bed.wait(20 * 86_400);
    bed.tick().await;
    assert_eq!(bed.sent().len(), 2);
    let late = author.rows(Which::Source("document", "43")).await;
    assert!(
        late.iter().any(|(key, status, reason)| key.ends_with(":1")
            && status == "deactivated"
            && reason == "due-in-past"),
        "{late:?}"
    );
}

async fn a_changed_date_replaces_what_was_planned(bed: TestBed) {
    let author = Author::in_auckland(&bed).await;
    author.setting(first_aid(|_| {})).await;
    author.report("document/42", document("2026-07-20")).await;
    author.advance("40d").await;
    assert_eq!(bed.sent().len(), 1);
    let work = author.report("document/42", document("2026-08-20")).await;
    assert_eq!(work, [3, 0, 2, 0]);
    // Back again: what was sent stays sent, what was taken back is planned again.
    let work = author.report("document/42", document("2026-07-20")).await;
    assert_eq!(work, [0, 2, 3, 1]);
    let work = author.report("document/42", document("soon")).await;
    assert_eq!(work[2], 2);
    assert!(author.rows(Which::Status(WorkStatus::Pending)).await.is_empty());
    author.advance("120d").await;
    assert_eq!(bed.sent().len(), 1);
    let reasons: Vec<String> =
        author.rows(Which::Status(WorkStatus::Deactivated)).await.into_iter().map(|(.., why)| why).collect();
    assert_eq!(reasons.iter().filter(|why| *why == "date-unreadable").count(), 2, "{reasons:?}");
}

async fn a_source_that_no_longer_counts_is_not_reminded_of(bed: TestBed) {
    let author = Author::in_auckland(&bed).await;
    author.setting(first_aid(|_| {})).await;
    for id in ["inactive", "gone", "other"] {
        assert_eq!(author.report(&format!("document/{id}"), document("2026-07-20")).await[0], 3);
    }
    let mut inactive = document("2026-07-20");
    inactive["active"] = json!(false);
    assert_eq!(author.report("document/inactive", inactive).await[2], 3);
    author.report_gone("document/gone").await;
    let mut other = document("2026-07-20");
    other["state"]["kind"] = json!("police-vetting");
    assert_eq!(author.report("document/other", other).await[2], 3);
    let reason = async |id: &str| author.rows(Which::Source("document", id)).await[0].2.clone();
    assert_eq!(reason("inactive").await, "SourceNoLongerValid");
    assert_eq!(reason("gone").await, "SourceNoLongerValid");
    assert_eq!(reason("other").await, "filter-false");
    assert_eq!(author.report("document/inactive", document("2026-07-20")).await[1], 3);
    author.advance("120d").await;
    assert_eq!(bed.sent().len(), 3);
}

async fn local_times_in_a_gap_or_an_overlap_follow_the_one_rule(bed: TestBed) {
    let author = Author::new(&bed);
    author.unit("de", "Europe/Berlin").await;
    let plan = json!({ "field": "/on", "offsetsDays": [0], "sendTime": "02:30" });
    let body = first_aid(|body| {
        body["date"] = plan;
        body["filter"] = json!(null);
    });
    let planned = author.plan_new(body.clone()).await;
    assert_eq!(planned.create, 0);
    // 25 October 2026 has 02:30 twice, 28 March 2027 has none.
    for (id, on) in [("overlap", "2026-10-25"), ("gap", "2027-03-28"), ("plain", "2026-11-01")] {
        let state = json!({ "businessUnit": "de", "state": { "on": on } });
        author.report(&format!("document/{id}"), state).await;
    }
    let planned = author.plan_new(body.clone()).await;
    assert_eq!(planned, Plan { create: 3, gap: 1, overlap: 1, ..Plan::default() });
    author.setting(body).await;
    author.advance("365d").await;
    // The first 02:30 of two; 03:30 where there is none.
    assert_eq!(sent_at(&bed), ["2026-10-25T00:30:00Z", "2026-11-01T01:30:00Z", "2027-03-28T01:30:00Z"]);
}
