//! What a script can read about its notification, wherever it is.

use punctual_model::{ReasonCode, SendOutcome};
use punctual_testkit::{Scripted, TestBed, Way, on_both};

use crate::rig::{Rig, message, some_id, tick};

on_both! {
    a_status_follows_the_notification_and_never_goes_back;
    s4_46_a_status_distinguishes_what_was_given_up_from_what_was_refused;
    an_id_that_nobody_knows_is_unknown;
}

async fn a_status_follows_the_notification_and_never_goes_back(bed: TestBed) {
    let rig = Rig::new(&bed).await;
    let agent = rig.agent().await;
    rig.proxy.set(Way::Cut);
    let id = agent.notify(message("ops", "b")).await.unwrap();
    tick(&agent).await;
    let status = agent.status(&id).await.unwrap();
    assert_eq!((&*status.status, status.retry_count, status.central_unreachable), ("forwarding", 0, false));
    assert_eq!(status.enqueued_at, Some(bed.now()));
    // Central has it and the reply is lost: the site has it too, and says so.
    rig.proxy.set(Way::SwallowReplies);
    tick(&agent).await;
    assert_eq!(agent.status(&id).await.unwrap().status, "forwarding");
    rig.proxy.set(Way::Pass);
    tick(&agent).await;
    assert_eq!(agent.status(&id).await.unwrap().status, "pending");
    rig.proxy.set(Way::Cut);
    let status = agent.status(&id).await.unwrap();
    assert_eq!((&*status.status, status.central_unreachable), ("pending", true));
    // The list is unknown: parked, with the reason. Then an operator retries it.
    rig.proxy.set(Way::Pass);
    bed.tick().await;
    let status = agent.status(&id).await.unwrap();
    assert_eq!(status.status, "parked");
    assert!(status.last_error.is_some());
    bed.list("ops", "memory:default", &["someone"]).await;
    let path = format!("/api/v1/notifications/{id}/retry");
    assert_eq!(rig.call("POST", &path, None).await.0, 200);
    bed.tick().await;
    let status = agent.status(&id.to_uppercase()).await.unwrap();
    assert_eq!((&*status.status, status.delivered_at), ("delivered", Some(bed.now())));
    rig.proxy.set(Way::Cut);
    let status = agent.status(&id).await.unwrap();
    assert_eq!((&*status.status, status.central_unreachable), ("delivered", false), "nothing else can come");
}

async fn s4_46_a_status_distinguishes_what_was_given_up_from_what_was_refused(bed: TestBed) {
    let bed = bed.with(|builder| {
        builder.adapter(Scripted::new("two-ways", |message| match message.address.as_str() {
            "later" => SendOutcome::Transient { error: "451 later".into(), retry_after: None },
            _ => SendOutcome::Permanent { reason: ReasonCode::RejectedByRelay, error: "554 no".into() },
        }))
    });
    let rig = Rig::new(&bed).await;
    let agent = rig.agent().await;
    bed.channel("memory:bad", "two-ways").await;
    for (list, address, reason) in
        [("slow", "later", "retries-exhausted"), ("closed", "never", "rejected-by-relay")]
    {
        bed.list(list, "memory:bad", &[address]).await;
        let id = agent.notify(message(list, "b")).await.unwrap();
        tick(&agent).await;
        bed.run_for(600).await;
        let status = agent.status(&id).await.unwrap();
        assert_eq!((&*status.status, status.reason_code.as_deref()), ("parked", Some(reason)), "{list}");
    }
}

async fn an_id_that_nobody_knows_is_unknown(bed: TestBed) {
    let rig = Rig::new(&bed).await;
    let agent = rig.agent().await;
    let other = bed.accept_one(bed.message("someone")).await;
    bed.tick().await;
    for id in [some_id(&bed), "no id at all".to_owned(), other.clone()] {
        let status = agent.status(&id).await.unwrap();
        assert_eq!((&*status.status, status.central_unreachable), ("unknown", false), "{id}");
    }
    tick(&agent).await;
    assert_eq!(
        agent.status(&other).await.unwrap().status,
        "unknown",
        "a row of no site is none of this site's"
    );
    rig.proxy.set(Way::Cut);
    let status = agent.status(&some_id(&bed)).await.unwrap();
    assert_eq!((&*status.status, status.central_unreachable), ("unknown", true));
}
