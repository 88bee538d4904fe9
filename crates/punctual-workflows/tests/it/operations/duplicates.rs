//! Nobody who has the message gets it again, except where nobody knows whether they have it, and that is marked.

use std::sync::{
    Arc, Mutex,
    atomic::{AtomicUsize, Ordering},
};

use punctual_model::SendOutcome;
use punctual_testkit::{Scripted, TestBed, on_both};

use super::*;

on_both! {
    r11_a_recipient_who_fails_does_not_make_the_others_get_it_twice;
    r11_a_mark_that_cannot_be_written_after_the_yes_sends_nothing_again;
    r11_a_lost_answer_is_repeated_with_the_same_id_and_marked_uncertain;
}

/// A mail channel that keeps who it was asked to send to, and answers as the test says.
async fn mail(
    bed: TestBed,
    answer: impl Fn(usize, &str) -> SendOutcome + Send + Sync + 'static,
) -> (TestBed, Arc<Mutex<Vec<(String, String)>>>) {
    let asked: Arc<Mutex<Vec<(String, String)>>> = Arc::default();
    let (kept, calls) = (asked.clone(), AtomicUsize::new(0));
    let bed = bed.with(|builder| {
        builder.adapter(Scripted::new("mail", move |message| {
            kept.lock().unwrap().push((message.address.clone(), message.message_id.clone()));
            answer(calls.fetch_add(1, Ordering::SeqCst), &message.address)
        }))
    });
    bed.channel("email:default", "mail").await;
    (bed, asked)
}

fn yes() -> SendOutcome {
    SendOutcome::Delivered { provider_id: "1".into() }
}

async fn event_of_three(bed: &TestBed) -> String {
    for id in ["ann", "ben", "cat"] {
        person(bed, id).await;
    }
    let mut new = event(bed, Some(bed.after(60)), None);
    new.people = vec!["ben".into(), "cat".into()];
    create(bed, &new).await
}

async fn r11_a_recipient_who_fails_does_not_make_the_others_get_it_twice(bed: TestBed) {
    let (bed, asked) = mail(bed, |call, address| {
        if call < 3 && address.starts_with("ben") {
            return SendOutcome::Transient { error: "451 later".into(), retry_after: None };
        }
        yes()
    })
    .await;
    let id = event_of_three(&bed).await;
    bed.run_for(60).await;
    assert_eq!(only_rule(&bed, &id).await.last_sent_at, None, "not all have settled");
    bed.run_for(600).await;
    let mut asked: Vec<String> = asked.lock().unwrap().iter().map(|(who, _)| who.clone()).collect();
    asked.sort();
    assert_eq!(asked, ["ann@example.org", "ben@example.org", "ben@example.org", "cat@example.org"]);
    assert!(only_rule(&bed, &id).await.last_sent_at.is_some());
}

async fn r11_a_mark_that_cannot_be_written_after_the_yes_sends_nothing_again(bed: TestBed) {
    let (bed, asked) = mail(bed, |_, _| yes()).await;
    let id = event_of_three(&bed).await;
    // The provider has said yes; writing that down fails once, and once it fails after it has happened.
    bed.faults.fail("operations_rules.mark_sent", false, 1);
    bed.faults.fail("operations_rules.mark_sent", true, 1);
    bed.run_for(60).await;
    bed.run_for(3_600).await;
    assert_eq!(asked.lock().unwrap().len(), 3);
    assert!(only_rule(&bed, &id).await.last_sent_at.is_some());
}

async fn r11_a_lost_answer_is_repeated_with_the_same_id_and_marked_uncertain(bed: TestBed) {
    let (bed, asked) = mail(bed, |call, _| match call {
        0 => SendOutcome::Uncertain { error: "the connection broke after the message".into() },
        _ => yes(),
    })
    .await;
    person(&bed, "ann").await;
    create(&bed, &event(&bed, Some(bed.after(60)), None)).await;
    bed.run_for(600).await;
    let asked = asked.lock().unwrap().clone();
    assert_eq!(asked.len(), 2);
    assert_eq!(asked[0], asked[1], "the same message id: who looks at it sees it once");
    assert_eq!(bed.notifications().await[0].uncertain, 1);
}
