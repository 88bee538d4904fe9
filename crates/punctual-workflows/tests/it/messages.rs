//! Messages: one message to given people at a given time.

use jiff::Timestamp;
use punctual_engine::{Actor, EngineError, EnsureOutcome, Ensured, Handed};
use punctual_model::Audience;
use punctual_testkit::{TestBed, on_both};
use punctual_workflows::messages::{self, NewMessage};
use serde_json::json;

on_both! {
    a_message_goes_out_at_its_moment;
    everything_it_says_arrives;
    asking_again_changes_nothing_and_another_moment_moves_it;
    other_content_under_the_same_id_is_refused_and_nothing_is_changed;
    two_contents_under_one_id_in_one_set_keep_the_first;
    what_cannot_be_read_is_held_and_not_left_out;
    a_message_to_a_list_goes_to_who_is_on_it_then;
    a_message_to_nobody_is_not_sent_and_says_so;
    a_cancelled_message_stays_cancelled_until_it_is_revived;
    a_sent_message_is_never_sent_again;
    an_id_that_is_too_long_is_refused_and_nothing_is_stored;
}

fn message(bed: &TestBed, id: &str, send_at: Timestamp) -> NewMessage {
    NewMessage {
        id: id.into(),
        send_at,
        revive: false,
        content: Handed::stored(bed.message("a@example.org")),
    }
}

async fn send_at(bed: &TestBed, new: &NewMessage) -> Ensured {
    messages::send_at(&bed.engine, &Actor::named("ann"), std::slice::from_ref(new)).await.unwrap().remove(0)
}

async fn a_message_goes_out_at_its_moment(bed: TestBed) {
    let answer = send_at(&bed, &message(&bed, "m-1", bed.after(60))).await;
    assert_eq!(answer.outcome, EnsureOutcome::Created);
    assert_eq!(bed.run_for(59).await.steps, 0);
    let done = bed.run_for(1).await.done;
    assert_eq!((done.due.completed, done.deliveries.delivered), (1, 1));
    let sent = bed.sent();
    assert_eq!((sent[0].address.as_str(), sent[0].at), ("a@example.org", bed.now()));
    assert_eq!(messages::id_of_key(&bed.work("message:m-1").await.key).as_deref(), Some("m-1"));
}

async fn everything_it_says_arrives(bed: TestBed) {
    bed.template("t", "en", json!({ "en": { "subject": "Hi {{ name }}", "body": "x" }, "ar": { "subject": "{{ name }}", "body": "y" } }))
        .await;
    let mut new = message(&bed, "odd: id/ü", bed.now());
    let mut content = bed.message("a@example.org");
    content.template = Some("t".into());
    content.locale = Some("ar".into());
    content.context = Some(json!({ "name": "Ann" }));
    content.business_unit = Some("nz".into());
    new.content = Handed::stored(content);
    send_at(&bed, &new).await;
    bed.tick().await;
    assert_eq!((bed.sent()[0].subject.as_str(), bed.sent()[0].body.as_str()), ("Ann", "y"));
    assert_eq!(bed.notifications().await[0].business_unit.as_deref(), Some("nz"));
}

/// A context, a file or an envelope that was damaged: the message would say something else without it.
async fn what_cannot_be_read_is_held_and_not_left_out(bed: TestBed) {
    for column in ["targets", "context", "type_data", "attachments", "envelope"] {
        send_at(&bed, &message(&bed, column, bed.after(60))).await;
        // tidy-allow: the product damages no row
        let damage = ["UPDATE messages SET ", column, " = '{' WHERE id = '", column, "'"].concat();
        bed.run_sql(&damage).await.unwrap();
    }
    send_at(&bed, &message(&bed, "whole", bed.after(60))).await;
    bed.run_for(60).await;
    assert_eq!(bed.sent().len(), 1, "its neighbours go on");
    for column in ["targets", "context", "type_data", "attachments", "envelope"] {
        let row = bed.work(&format!("message:{column}")).await;
        assert_eq!((row.on_hold, row.reason_code.as_deref()), (true, Some("input-unreadable")), "{column}");
    }
}

async fn asking_again_changes_nothing_and_another_moment_moves_it(bed: TestBed) {
    let mut new = message(&bed, "m-1", bed.after(60));
    let id = send_at(&bed, &new).await.id;
    assert_eq!(send_at(&bed, &new).await.outcome, EnsureOutcome::Unchanged);
    new.send_at = bed.after(600);
    let moved = send_at(&bed, &new).await;
    assert_eq!((moved.id, moved.outcome), (id, EnsureOutcome::Updated));
    assert_eq!(bed.run_for(599).await.steps, 0);
    bed.run_for(1).await;
    assert_eq!(bed.sent().len(), 1);
}

async fn other_content_under_the_same_id_is_refused_and_nothing_is_changed(bed: TestBed) {
    let new = message(&bed, "m-1", bed.after(60));
    send_at(&bed, &new).await;
    let mut other = new.clone();
    other.content = other.content.with(|content| content.body = "Other".into());
    let answer = send_at(&bed, &other).await;
    assert_eq!(answer.outcome, EnsureOutcome::Reused);
    bed.run_for(60).await;
    assert_eq!(bed.sent()[0].body, new.content.body, "the good one is sent, on time");
    assert_eq!(send_at(&bed, &other).await.outcome, EnsureOutcome::Reused, "also when it is over");
}

async fn two_contents_under_one_id_in_one_set_keep_the_first(bed: TestBed) {
    let first = message(&bed, "m-1", bed.now());
    let mut second = first.clone();
    second.content = second.content.with(|content| content.body = "Other".into());
    let by = Actor::named("ann");
    let answers = messages::send_at(&bed.engine, &by, &[first.clone(), second]).await.unwrap();
    let outcomes: Vec<&str> = answers.iter().map(|answer| answer.outcome.as_str()).collect();
    assert_eq!(outcomes, ["created", "rejected"]);
    bed.tick().await;
    assert_eq!(bed.sent()[0].body, first.content.body);
}

async fn a_message_to_a_list_goes_to_who_is_on_it_then(bed: TestBed) {
    bed.list("ops", "memory:default", &["old@example.org"]).await;
    let content = Handed::stored(bed.message_to_list("ops"));
    let new = NewMessage { content, ..message(&bed, "m-1", bed.after(60)) };
    send_at(&bed, &new).await;
    bed.list("ops", "memory:default", &["new@example.org"]).await;
    bed.run_for(60).await;
    assert_eq!(bed.sent_to(), ["new@example.org"]);
}

async fn a_message_to_nobody_is_not_sent_and_says_so(bed: TestBed) {
    let mut new = message(&bed, "m-1", bed.now());
    new.content = new.content.with(|content| content.audience = Audience::Targets(Vec::new()));
    send_at(&bed, &new).await;
    assert_eq!(bed.tick().await.due.deactivated, 1);
    assert_eq!(bed.work("message:m-1").await.reason_code.as_deref(), Some("no-recipients"));
}

async fn a_cancelled_message_stays_cancelled_until_it_is_revived(bed: TestBed) {
    let new = message(&bed, "m-1", bed.after(60));
    let id = send_at(&bed, &new).await.id;
    bed.engine.cancel_work(&Actor::named("ann"), id, None).await.unwrap();
    bed.run_for(600).await;
    assert!(bed.sent().is_empty());
    let again = NewMessage { send_at: bed.after(60), ..new };
    assert_eq!(send_at(&bed, &again).await.outcome, EnsureOutcome::LeftCancelled);
    bed.run_for(600).await;
    assert!(bed.sent().is_empty());
    let again = NewMessage { send_at: bed.after(60), revive: true, ..again };
    assert_eq!(send_at(&bed, &again).await.outcome, EnsureOutcome::Revived);
    assert_eq!(send_at(&bed, &again).await.outcome, EnsureOutcome::Unchanged, "it has no effect on others");
    bed.run_for(60).await;
    assert_eq!(bed.sent().len(), 1);
}

async fn a_sent_message_is_never_sent_again(bed: TestBed) {
    let new = message(&bed, "m-1", bed.now());
    send_at(&bed, &new).await;
    bed.tick().await;
    let again = NewMessage { send_at: bed.after(60), ..new };
    let answer = send_at(&bed, &again).await;
    assert_eq!(answer.outcome, EnsureOutcome::Completed);
    let reported: serde_json::Value = serde_json::from_str(answer.result.as_deref().unwrap()).unwrap();
    assert_eq!(
        reported["notifications"][0],
        bed.notifications().await[0].id.to_string(),
        "its first coordinates"
    );
    bed.run_for(600).await;
    assert_eq!(bed.sent().len(), 1);
}

async fn an_id_that_is_too_long_is_refused_and_nothing_is_stored(bed: TestBed) {
    let good = message(&bed, "m-1", bed.now());
    let content = Handed::stored(bed.message("b@example.org"));
    let long = NewMessage { id: "%".repeat(300), send_at: bed.now(), revive: false, content };
    let refused = messages::send_at(&bed.engine, &Actor::named("ann"), &[good, long]).await;
    assert!(matches!(refused, Err(EngineError::StateNotAllowed { .. })), "{refused:?}");
    assert_eq!(bed.tick().await.due.claimed, 0);
}
