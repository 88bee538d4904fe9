//! The other pages: the overview's figures, one notification's timeline, the frame around all of them.

use axum::http::Method;
use jiff::Timestamp;
use punctual_model::SendOutcome;
use punctual_store::consumers::{self, ConsumerRow, HealthRow};
use punctual_testkit::{Scripted, TestBed, on_both};

use crate::client::{Client, rows};

on_both! {
    the_overview_counts_what_ended_and_how_late;
    a_timeline_has_every_attempt_with_its_answer;
    times_are_in_the_viewer_s_zone;
    a_channel_that_cannot_send_says_why;
    a_channel_s_last_hour_is_shown;
    sites_show_the_last_contact_and_what_waits_there;
    nodes_show_who_works_and_who_is_cut_off;
    consumers_show_how_they_are;
    a_page_that_answered_a_form_is_not_asked_for_again;
    a_database_that_is_away_is_reported_and_comes_back;
}

async fn the_overview_counts_what_ended_and_how_late(bed: TestBed) {
    let new = (0..20).map(|n| bed.message(&format!("{n}@example.org"))).collect();
    bed.accept(new).await;
    bed.wait(2);
    bed.tick().await;
    bed.accept_one(bed.message_over("no:such", &["a"])).await;
    bed.tick().await;
    bed.schedule("soon", "t", bed.after(3600)).await;
    let client = Client::admin(&bed).await;
    let page = client.page("/").await;
    assert!(
        page.contains("One item needs attention, no message waits, the last delivery was just now."),
        "{page}"
    );
    assert!(page.contains("05:00–05:30: 20 delivered") && page.contains("05:00–05:30: 1 parked"), "{page}");
    assert!(page.contains("half within 2 s, 95 % within 2 s, 99 % within 2 s"), "{page}");
    assert!(page.contains("21 ended in 24 hours") && page.contains("Schedule soon"), "{page}");
    assert!(page.len() < 150 << 10);
    bed.leaves_open("one comes in an hour");
}

async fn a_timeline_has_every_attempt_with_its_answer(bed: TestBed) {
    let answers = std::sync::Mutex::new(vec![
        SendOutcome::Delivered { provider_id: "id-77".into() },
        SendOutcome::Transient { error: "451 greylisted".into(), retry_after: None },
    ]);
    let bed =
        bed.with(|bed| bed.adapter(Scripted::new("two", move |_| answers.lock().unwrap().pop().unwrap())));
    bed.channel("two:default", "two").await;
    let mut new = bed.message_over("two:default", &["a@example.org"]);
    new.html = Some("<h1>Hello</h1>".into());
    let id = bed.accept_one(new).await;
    bed.tick().await;
    bed.run_for(120).await;
    let client = Client::admin(&bed).await;
    let page = client.page(&format!("/notifications/{id}")).await;
    for shown in [
        "Delivered 1 min ago, 1 min after it was queued.",
        "Attempt 1 to a@example.org: failed for now",
        "451 greylisted",
        "Attempt 2 to a@example.org: accepted",
        "2 attempts",
        "id-77",
        "sandbox src=\"/notifications/",
        "&#60;h1&#62;Hello",
    ] {
        assert!(page.contains(shown), "{shown}: {page}");
    }
    client.get("/notifications/none").await.refused(404, "not_found");
    client.get("/notifications/none/html").await.refused(404, "not_found");
}

async fn times_are_in_the_viewer_s_zone(bed: TestBed) {
    let id = bed.accept_to(&["a"]).await.remove(0);
    bed.tick().await;
    let client = Client::admin(&bed).await;
    let cookie = client.cookie().unwrap();
    client.set_cookie(Some(format!("{cookie}; punctual-zone=Pacific%2FAuckland; punctual-theme=dark")));
    let page = client.page(&format!("/notifications/{id}")).await;
    assert!(page.contains("14 May 2026, 17:00:00</time> Auckland"), "{page}");
    assert!(page.contains("Thu 14 May 2026, 17:00:00 Auckland · 2026-05-14 05:00:00.000 UTC"), "{page}");
    assert!(page.contains("<html lang=\"en\" data-theme=\"dark\">"));
    client.set_cookie(Some(format!("{cookie}; punctual-zone=../../etc/passwd; punctual-theme=\"><b>")));
    let page = client.page("/").await;
    assert!(page.contains("Times: UTC") && page.contains("<html lang=\"en\">"), "{page}");
}

async fn a_channel_that_cannot_send_says_why(bed: TestBed) {
    bed.channel("odd:default", "carrier-pigeon").await;
    let client = Client::admin(&bed).await;
    let page = client.page("/channels").await;
    assert_eq!(rows(&page), ["email:default", "odd:default", "memory:default"]);
    assert!(
        page.contains("3 channels, 1 of them cannot send.") && page.contains("no adapter `carrier-pigeon`"),
        "{page}"
    );
}

async fn a_channel_s_last_hour_is_shown(bed: TestBed) {
    bed.captured.misbehave("email:default".parse().unwrap(), "permanent".parse().unwrap(), 1, "550 <no>");
    bed.accept_one(bed.message_over("email:default", &["a@example.org", "b@example.org"])).await;
    bed.tick().await;
    let client = Client::admin(&bed).await;
    let page = client.page("/channels").await;
    assert!(page.contains("troubled</span> 50 % of 2 attempts, under 1 ms each"), "{page}");
    assert!(page.contains("last error <time") && page.contains("550 &#60;no&#62;"), "{page}");
}

async fn a_database_that_is_away_is_reported_and_comes_back(bed: TestBed) {
    let client = Client::admin(&bed).await;
    bed.faults.fail("attention.counts", false, 1);
    let reply = client.get("/outbox").await.refused(503, "storage_unavailable");
    assert!(reply.headers.contains_key("retry-after"));
    client.page("/outbox").await;
}

async fn a_page_that_answered_a_form_is_not_asked_for_again(bed: TestBed) {
    let client = Client::admin(&bed).await;
    let ask = async |headers: &[(&str, &str)]| {
        client.send(Method::GET, "/outbox/confirm", headers, String::new()).await.status
    };
    assert_eq!(ask(&[]).await, 405);
    assert_eq!(ask(&[("x-punctual-live", "1")]).await, 204, "a live page asks, and no fault is shown");
}

async fn nodes_show_who_works_and_who_is_cut_off(bed: TestBed) {
    let client = Client::admin(&bed).await;
    assert!(client.page("/nodes").await.contains("No nodes"));
    let identity = punctual_engine::Identity { version: "1.2.3", role: "worker", started_at: bed.now() };
    bed.engine.report_node(&identity).await.unwrap();
    let page = client.page("/nodes").await;
    assert!(page.contains("1 node, nothing wrong.") && page.contains("correct"), "{page}");
    bed.wait(61);
    let page = client.page("/nodes").await;
    assert!(page.contains("1 node, 1 in need of attention.") && page.contains("cut off"), "{page}");
    let attention = client.page("/attention").await;
    assert!(attention.contains("It does not report any more"), "{attention}");
}

async fn consumers_show_how_they_are(bed: TestBed) {
    let client = Client::admin(&bed).await;
    assert!(client.page("/consumers").await.contains("No consumers"));
    let row = ConsumerRow {
        key: "nats:orders".into(),
        adapter: "nats".into(),
        settings: "{}".into(),
        business_unit: None,
        active: true,
        version: 0,
        updated_at: Timestamp::UNIX_EPOCH,
    };
    let now = bed.now();
    let health = HealthRow {
        consumer: row.key.clone(),
        node: "a".into(),
        state: punctual_model::ConsumerLink::Connected,
        since: now,
        last_message_at: Some(now),
        lag: Some(1_234),
        last_error: Some("no <answer>".into()),
        last_error_at: Some(now),
        accepted: 5_678,
        duplicates: 0,
        refused: 9,
        reported_at: now,
    };
    let mut tx = bed.begin().await;
    consumers::put(&mut tx.conn(), bed.now(), &row).await.unwrap();
    consumers::report(&mut tx.conn(), &[health]).await.unwrap();
    tx.commit().await.unwrap();
    let page = client.page("/consumers").await;
    assert!(page.contains("1 consumer, nothing wrong.") && page.contains("nats:orders"), "{page}");
    for text in ["1,234", "5,678", ">9<"] {
        assert!(page.contains(text), "{text}: {page}");
    }
    assert!(page.contains("no &#60;answer&#62;"), "{page}");
    bed.wait(6 * 60);
    let page = client.page("/consumers").await;
    assert!(page.contains("1 consumer, 1 not connected.") && page.contains("not running"), "{page}");
    let attention = client.page("/attention").await;
    assert!(attention.contains("No node runs it") && attention.contains("/consumers"), "{attention}");
}

async fn sites_show_the_last_contact_and_what_waits_there(bed: TestBed) {
    let client = Client::admin(&bed).await;
    assert!(client.page("/sites").await.contains("No sites yet"));
    let mut tx = bed.begin().await;
    for site in ["plant-7", "plant-9"] {
        punctual_store::sites::insert(&mut tx.conn(), bed.now(), site, None).await.unwrap();
    }
    let contact = punctual_store::sites::Contact {
        backlog: 1_234,
        clock_offset_ms: Some(-90_000),
        ..Default::default()
    };
    punctual_store::sites::set_contact(&mut tx.conn(), bed.now(), "plant-7", &contact).await.unwrap();
    tx.commit().await.unwrap();
    let page = client.page("/sites").await;
    assert!(page.contains("2 sites, 1 not yet in contact; 1,234 messages wait there."), "{page}");
    assert!(page.contains("1 min ahead") && page.contains("no contact yet"), "{page}");
    bed.wait(3600);
    let page = client.page("/sites").await;
    assert!(page.contains("2 sites, 1 silent"), "{page}");
    let attention = client.page("/attention").await;
    assert!(
        attention.contains("Silent sites") && attention.contains("Its agent has never called"),
        "{attention}"
    );
    assert!(attention.contains("href=\"/sites/plant-7\""), "{attention}");
    let one = client.page("/sites/plant-7").await;
    assert!(
        one.contains("Last contact 1 h ago, 1,234 waiting there") && one.contains("No problems so far"),
        "{one}"
    );
    client.get("/sites/none").await.refused(404, "not_found");
}
