//! What people do: first a page that says what will change, then the change, then what it did.

use punctual_engine::Actor;
use punctual_testkit::{TestBed, new_work, on_both};
use punctual_wire::keys::Scope;

use crate::{
    client::{Client, attribute, rows},
    every_form::unescaped,
};

on_both! {
    parked_messages_are_repaired_by_their_cause;
    a_selection_is_confirmed_with_counts_and_then_retried;
    what_changed_meanwhile_is_left_alone;
    one_notification_is_discarded_with_its_reason;
    held_work_is_released;
    work_is_released_and_cancelled_in_bulk_by_its_cause;
    planned_work_is_cancelled_and_brought_back;
    the_sandbox_s_clock_moves_and_what_is_due_runs;
    a_test_message_leaves_at_once_and_only_for_those_who_may;
}

async fn a_test_message_leaves_at_once_and_only_for_those_who_may(bed: TestBed) {
    let client = Client::admin(&bed).await;
    let fields = [("channel", "email:default"), ("address", "you@example.org")];
    let page = client.act("/channels/test", &fields).await;
    assert_eq!(page.status, 200, "{}", page.text);
    assert!(
        page.text.contains("accepted</span> Test message over") && page.text.contains("as mem-1."),
        "{}",
        page.text
    );
    assert_eq!(bed.sent_to(), ["you@example.org"]);
    for (channel, address, shown) in [
        ("email:default", "you", "no “@”"),
        ("email:none", "you@example.org", "There is no such channel."),
        ("nonsense", "you@example.org", "There is no such channel."),
        ("sms:x", "030", "no valid phone number"),
    ] {
        let page = client.act("/channels/test", &[("channel", channel), ("address", address)]).await;
        assert!(
            page.text.contains("not sent</span>") && page.text.contains(shown),
            "{channel}: {}",
            page.text
        );
        assert!(page.text.contains(&format!("value=\"{address}\"")), "what was entered stays");
    }
    let page = client.act("/channels/test", &[("channel", "<b>"), ("address", "\"><script>")]).await;
    assert!(!page.text.contains("<script>alert") && !page.text.contains("\"><script>"), "{}", page.text);
    client.post("/channels/test", &fields).await.refused(403, "csrf");
    let operator = client.with_key(&[Scope::Read, Scope::Operate], None).await;
    assert!(!operator.page("/channels").await.contains("Send a test message"));
    operator.act("/channels/test", &fields).await.refused(403, "scope_missing");
    assert_eq!(bed.sent_to().len(), 1);
}

async fn parked(bed: &TestBed, count: usize) -> Vec<String> {
    let new: Vec<_> = (0..count).map(|_| bed.message_over("no:such", &["a@example.org"])).collect();
    let ids = new.iter().map(|new| new.id.to_string()).collect();
    bed.accept(new).await;
    bed.tick().await;
    ids
}

async fn row(bed: &TestBed, id: &str) -> String {
    format!("{id}:{}", bed.notification(id).await.version)
}

async fn a_selection_is_confirmed_with_counts_and_then_retried(bed: TestBed) {
    let ids = parked(&bed, 3).await;
    let client = Client::admin(&bed).await;
    let chosen = [row(&bed, &ids[0]).await, row(&bed, &ids[1]).await, row(&bed, &ids[2]).await];
    bed.engine.discard_notification(&Actor::named("somebody else"), &ids[2], None).await.unwrap();
    let mut fields = vec![("action", "retry"), ("back", "/outbox?status=parked")];
    fields.extend(chosen.iter().map(|row| ("row", row.as_str())));
    let page = client.act("/outbox/confirm", &fields).await;
    assert_eq!(page.status, 200);
    assert!(page.text.contains("<h1>Retry 2 notifications?</h1>"), "{}", page.text);
    assert!(page.text.contains("1 of those you chose is not parked any more"), "{}", page.text);
    assert!(ids[..2].iter().all(|id| page.text.contains(&format!("/notifications/{id}\""))));
    // Nothing has changed yet.
    assert_eq!(bed.notification(&ids[0]).await.status.as_str(), "parked");
    bed.channel("no:such", "memory").await;
    client.act("/outbox/act", &fields).await.leads_to("/outbox?status=parked&done=retry.2.1");
    bed.tick().await;
    assert_eq!(bed.notification(&ids[0]).await.status.as_str(), "delivered");
    let shown = client.page("/outbox?status=parked&done=retry.2.1").await;
    assert!(shown.contains("Retrying 2 messages. 1 row was left alone"), "{shown}");
    // No row was chosen: back to where it came from.
    client
        .act("/outbox/confirm", &[("action", "retry"), ("back", "/outbox?q=x")])
        .await
        .leads_to("/outbox?q=x");
}

async fn what_changed_meanwhile_is_left_alone(bed: TestBed) {
    let ids = parked(&bed, 1).await;
    let client = Client::admin(&bed).await;
    let seen = row(&bed, &ids[0]).await;
    bed.engine.retry_notification(&Actor::named("somebody else"), &ids[0], None).await.unwrap();
    bed.tick().await;
    // It is parked again, but not as the page showed it.
    client
        .act("/outbox/act", &[("action", "discard"), ("row", &seen)])
        .await
        .leads_to("/outbox?done=discard.0.1");
    assert_eq!(bed.notification(&ids[0]).await.status.as_str(), "parked");
    let nonsense = [("action", "discard"), ("row", "none:1"), ("row", "x"), ("row", ":7")];
    client.act("/outbox/act", &nonsense).await.leads_to("/outbox?done=discard.0.2");
    client.act("/outbox/act", &[("action", "deliver"), ("row", &seen)]).await.refused(422, "out_of_range");
}

async fn one_notification_is_discarded_with_its_reason(bed: TestBed) {
    let ids = parked(&bed, 1).await;
    let client = Client::admin(&bed).await;
    let path = format!("/notifications/{}", ids[0]);
    let page = client.page(&path).await;
    assert!(page.contains("The channel does not exist") && page.contains("Discard…"), "{page}");
    let row = attribute(&page, "name=\"row\" value=\"");
    let fields =
        [("action", "discard"), ("row", row.as_str()), ("back", &path), ("reason", "Old news & gone")];
    client.act("/outbox/act", &fields).await.leads_to(&format!("{path}?done=discard.1.0"));
    let page = client.page(&path).await;
    assert!(page.contains("Discarded") && page.contains("“Old news &#38; gone” — operator"), "{page}");
    assert_eq!(
        bed.audit("notification", &ids[0]).await,
        ["park:no-channel", "discard:no-channel", "note:Old news & gone"]
    );
}

async fn held_work_is_released(bed: TestBed) {
    let id = bed.schedule("s1", "t", bed.after(3600)).await;
    let mut other = new_work("schedule", "schedule:s1", bed.after(7200));
    other.key = bed.work_by_id(id).await.key().unwrap();
    bed.ensure_one(other).await;
    let row = bed.work_by_id(id).await;
    assert!(row.on_hold, "{row:?}");
    let client = Client::admin(&bed).await;
    assert!(client.page("/attention").await.contains("The same key was scheduled with different inputs"));
    assert!(client.page("/work?list=held").await.contains(&format!("/work/{id}\"")));
    let page = client.page(&format!("/work/{id}")).await;
    assert!(page.contains("Needs attention") && page.contains("Release…"), "{page}");
    let (id_text, version) = (id.to_string(), row.version.to_string());
    let confirm = client.act("/work/confirm", &[("action", "release"), ("id", &id_text)]).await;
    assert!(confirm.text.contains("Release 1 work row?"), "{}", confirm.text);
    let fields = [("action", "release"), ("id", id_text.as_str()), ("version", "999")];
    client.act("/work/act", &fields).await.refused(409, "stale_version");
    let fields = [("action", "release"), ("id", id_text.as_str()), ("version", version.as_str())];
    client.act("/work/act", &fields).await.leads_to(&format!("/work/{id}?done=release.1.0"));
    assert!(!bed.work_by_id(id).await.on_hold);
    assert!(client.page(&format!("/work/{id}?done=release.1.0")).await.contains("1 work row released."));
    bed.leaves_open("it is due in an hour");
}

async fn work_is_released_and_cancelled_in_bulk_by_its_cause(bed: TestBed) {
    let mut ids = Vec::new();
    for name in ["s1", "s2", "s3"] {
        let id = bed.schedule(name, "t", bed.after(3600)).await;
        let mut other = new_work("schedule", &format!("schedule:{name}"), bed.after(7200));
        other.key = bed.work_by_id(id).await.key().unwrap();
        bed.ensure_one(other).await;
        ids.push(id);
    }
    let client = Client::admin(&bed).await;
    let said = "The same key was scheduled with different inputs (schedule): 3 work rows.";
    let page = client.page("/attention").await;
    assert!(page.contains(said) && page.contains("Release 3 work rows…"), "{page}");
    let list = unescaped(&attribute(&page, "name=\"matching\" value=\""));
    let held = client.page(&list).await;
    assert_eq!(rows(&held), ids.iter().rev().map(i64::to_string).collect::<Vec<_>>(), "{held}");
    assert!(held.contains("Only The same key was scheduled with different inputs (schedule)"), "{held}");
    assert!(rows(&client.page("/work?list=held&cause=none").await).is_empty());
    assert!(rows(&client.page("/work?list=held&kind=reminder").await).is_empty());

    // A selection is planned by name; what has changed since is left alone.
    let seen = |text: &str| -> Vec<String> {
        let values = text.split("name=\"row\" value=\"").skip(1);
        values.map(|rest| rest.split('"').next().unwrap().to_owned()).collect()
    };
    let chosen = seen(&held);
    let cancel = [("action", "cancel"), ("back", list.as_str()), ("row", &chosen[0]), ("row", &chosen[1])];
    let plan = client.act("/work/confirm", &cancel).await.text;
    assert!(plan.contains("Cancel 2 work rows?") && plan.contains("Cancel 2 work rows</button>"), "{plan}");
    assert!(plan.contains("Schedule s3") && !plan.contains("Schedule s1"), "{plan}");
    let stale = format!("{}:999", ids[1]);
    let some = [("action", "release"), ("back", list.as_str()), ("row", &chosen[0]), ("row", &stale)];
    let after = format!("{list}&done=release.1.1");
    client.act("/work/act", &some).await.leads_to(&after);
    let page = client.page(&after).await;
    assert!(page.contains("1 work row released. 1 row was left alone: changed in the meantime."), "{page}");

    // All of the cause, from Attention, after a plan that names them.
    let all = [("action", "release"), ("back", "/attention"), ("matching", list.as_str())];
    let plan = client.act("/work/confirm", &all).await.text;
    assert!(plan.contains("Release 2 work rows?") && plan.contains("Schedule s1"), "{plan}");
    let planned = seen(&plan);
    let mut fields = vec![("action", "release"), ("back", "/attention"), ("reason", "checked")];
    fields.extend(planned.iter().map(|row| ("row", row.as_str())));
    client.act("/work/act", &fields).await.leads_to("/attention?done=release.2.0");
    assert!(!bed.work_by_id(ids[0]).await.on_hold && !bed.work_by_id(ids[1]).await.on_hold);
    assert!(!client.page("/attention").await.contains("work rows."));
    let viewer = client.with_key(&[Scope::Read], None).await;
    assert!(!viewer.page("/work?list=held").await.contains("action=\"/work/confirm\""));
    bed.leaves_open("they are due in an hour");
}

async fn planned_work_is_cancelled_and_brought_back(bed: TestBed) {
    let id = bed.schedule("s1", "t", bed.after(3600)).await;
    let client = Client::admin(&bed).await;
    let act = async |action: &str| {
        let version = bed.work_by_id(id).await.version.to_string();
        let id = id.to_string();
        client.act("/work/act", &[("action", action), ("id", &id), ("version", &version)]).await
    };
    assert!(client.page("/work").await.contains(&format!("/work/{id}\"")));
    act("release").await.refused(409, "state_not_allowed");
    act("cancel").await.leads_to(&format!("/work/{id}?done=cancel.1.0"));
    assert_eq!(bed.work_by_id(id).await.status.as_str(), "cancelled");
    assert!(!client.page("/work").await.contains(&format!("/work/{id}\"")));
    assert!(client.page("/work?list=all").await.contains(&format!("/work/{id}\"")));
    act("retry").await.leads_to(&format!("/work/{id}?done=repeat.1.0"));
    bed.tick().await;
    let page = client.page(&format!("/work/{id}")).await;
    assert!(page.contains("Repeat…") && page.contains("Completed"), "{page}");
    let reader = client.with_key(&[Scope::Read], None).await;
    assert!(!reader.page(&format!("/work/{id}")).await.contains("Repeat…"));
    client.get("/work/0").await.refused(404, "not_found");
}

async fn the_sandbox_s_clock_moves_and_what_is_due_runs(bed: TestBed) {
    let id = bed.schedule("s1", "t", bed.after(5400)).await;
    let client = Client::admin(&bed).await;
    let start = bed.now();
    assert!(client.page("/").await.contains("Thu 14 May 2026, 05:00:00"));
    client.act("/sandbox/clock", &[("to", "hour"), ("back", "/work")]).await.leads_to("/work");
    assert_eq!(bed.now().duration_since(start).as_secs(), 3600);
    assert_eq!(bed.work_by_id(id).await.status.as_str(), "pending");
    client.act("/sandbox/clock", &[("to", "next"), ("back", "https://evil.example")]).await.leads_to("/");
    assert_eq!(bed.now().duration_since(start).as_secs(), 5400);
    assert_eq!(bed.work_by_id(id).await.status.as_str(), "completed");
    client.act("/sandbox/clock", &[("to", "next")]).await.leads_to("/");
    assert_eq!(bed.now().duration_since(start).as_secs(), 5400);
    client.act("/sandbox/clock", &[("to", "day")]).await.leads_to("/");
    assert_eq!(bed.now().duration_since(start).as_secs(), 5400 + 86_400);
}

async fn parked_messages_are_repaired_by_their_cause(bed: TestBed) {
    for list in ["cold-chain", "cold-chain", "night"] {
        bed.accept_one(bed.message_to_list(list)).await;
    }
    bed.tick().await;
    let client = Client::admin(&bed).await;
    let page = client.page("/attention").await;
    assert!(
        page.contains("No list cold-chain: 2 messages.") && page.contains("No list night: 1 message."),
        "{page}"
    );
    assert!(page.contains("href=\"/attention/list?name=cold-chain\">Create list cold-chain"), "{page}");

    // A wrong address is named beside its field, and what was typed stays.
    let form = [("name", "cold-chain"), ("channel", "email:default"), ("targets", "a@b.example\nnone")];
    let refused = client.act("/attention/list", &form).await;
    assert!(refused.text.contains("class=\"fault\"") && refused.text.contains("none"), "{}", refused.text);
    let form = [("name", "cold-chain"), ("channel", "memory:default"), ("targets", "a@b.example")];
    client.act("/attention/list", &form).await.leads_to("/attention?done=listed.1.0");
    let page = client.page("/attention?done=listed.1.0").await;
    assert!(page.contains("List cold-chain was missing and exists now: 2 messages."), "{page}");

    let cause = [("cause", "list-unknown"), ("about", "cold-chain")];
    let plan = client.act("/attention/confirm", &cause).await.text;
    assert!(plan.contains("Retry 2 messages?") && plan.contains("Retry 2 messages</button>"), "{plan}");
    let up_to = attribute(&plan, "name=\"upTo\" value=\"");
    // What is parked after the plan is not part of it.
    bed.accept_one(bed.message_to_list("night")).await;
    bed.tick().await;
    let confirmed = [cause[0], cause[1], ("upTo", up_to.as_str()), ("reason", "the list is there")];
    client.act("/attention/act", &confirmed).await.leads_to("/attention?done=retry.2.0");
    bed.tick().await;
    assert_eq!(bed.sent().len(), 2);
    let page = client.page("/attention").await;
    assert!(!page.contains("cold-chain") && page.contains("No list night: 2 messages."), "{page}");
    let stale = [cause[0], cause[1], ("upTo", "x")];
    client.act("/attention/act", &stale).await.refused(409, "stale_version");

    // A viewer sees the cause and has no button; one of another unit sees nothing.
    let viewer = client.with_key(&[Scope::Read], None).await;
    assert!(!viewer.page("/attention").await.contains("action=\"/attention/confirm\""));
    let other = client.with_key(&[Scope::Read, Scope::Operate], Some(&["nz"])).await;
    assert!(!other.page("/attention").await.contains("No list night"));
    let night = [("cause", "list-unknown"), ("about", "night"), ("upTo", "999999")];
    other.act("/attention/act", &night).await.leads_to("/attention?done=retry.0.0");
}
