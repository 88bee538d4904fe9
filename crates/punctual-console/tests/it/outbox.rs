//! The outbox: what is found, in which order, and what is shown about it.

use punctual_model::{NotificationSource, SendOutcome};
use punctual_testkit::{Scripted, TestBed, on_both};
use punctual_wire::keys::Scope;

use crate::client::{Client, attribute, rows};

on_both! {
    an_empty_outbox_teaches;
    filters_find_what_they_say;
    a_keyword_is_found_in_subjects_whatever_it_is;
    recipients_errors_and_ids_are_found_too;
    one_search_finds_pages_and_rows_without_script;
    pages_follow_each_other;
    stuck_rows_have_a_badge_and_a_list_of_their_own;
    rows_that_wait_say_why_and_are_not_stuck;
    a_wrong_time_is_reported_beside_its_field;
    a_tile_opens_exactly_the_rows_that_it_counts;
    a_key_of_one_business_unit_sees_no_other;
}

/// One delivered, one parked, one waiting for tomorrow: each from a site of its own.
async fn three(bed: &TestBed) -> [String; 3] {
    let mut ids = Vec::new();
    for (subject, channel, site) in
        [("Pump 7: pressure low", "memory:default", "plant-7"), ("Freezer 3 is warm", "no:such", "depot-2")]
    {
        let mut new = bed.message_over(channel, &["a@example.org"]);
        new.subject = subject.into();
        new.source = NotificationSource { site: Some(site.into()), ..Default::default() };
        ids.push(bed.accept_one(new).await);
    }
    bed.tick().await;
    let mut later = bed.message("b@example.org");
    later.subject = "Good morning 100 %".into();
    ids.push(bed.accept_one(later).await);
    bed.leaves_open("one waits");
    ids.try_into().unwrap()
}

async fn an_empty_outbox_teaches(bed: TestBed) {
    let client = Client::admin(&bed).await;
    assert!(client.page("/outbox").await.contains("href=\"/outbox/new\">write one"));
    assert!(client.page("/outbox?status=parked").await.contains("Nothing matches"));
    assert!(client.page("/attention").await.contains("All clear"));
    assert!(client.page("/work").await.contains("Nothing is planned"));
    assert!(client.page("/").await.contains("Nothing needs attention"));
}

async fn a_tile_opens_exactly_the_rows_that_it_counts(bed: TestBed) {
    three(&bed).await;
    let client = Client::admin(&bed).await;
    let page = client.page("/outbox").await;
    for (tile, count) in [("Waiting", 1), ("Parked", 1), ("Stuck", 0)] {
        let place =
            page.find(&format!("data-live=\"tile-{tile}\"")).unwrap_or_else(|| panic!("{tile}: {page}"));
        let (before, after) = page.split_at(place);
        let link = attribute(&before[before.rfind("<a class=\"tile").unwrap()..], "href=\"");
        let value = after.split("figures\">").nth(1).unwrap().split('<').next().unwrap();
        assert_eq!(value, count.to_string(), "{tile}");
        assert_eq!(rows(&client.page(&link.replace("&#38;", "&")).await).len(), count, "{tile}: {link}");
    }
}

async fn filters_find_what_they_say(bed: TestBed) {
    let [delivered, parked, waiting] = three(&bed).await;
    let client = Client::admin(&bed).await;
    let cases = [
        ("", vec![&waiting, &parked, &delivered]),
        ("?status=parked", vec![&parked]),
        ("?status=delivered", vec![&delivered]),
        ("?status=pending", vec![&waiting]),
        ("?status=retrying", vec![]),
        ("?status=queued", vec![&waiting]),
        ("?site=plant-7", vec![&delivered]),
        ("?site=plant-7&status=parked", vec![]),
        ("?type=memory", vec![&waiting, &delivered]),
        ("?list=ops", vec![]),
        ("?from=2026-05-14T05:00", vec![&waiting, &parked, &delivered]),
        ("?to=2026-05-14T05:00", vec![]),
        ("?q=PRESSURE", vec![&delivered]),
        ("?stuck=1", vec![]),
    ];
    for (query, expected) in cases {
        let page = client.page(&format!("/outbox{query}")).await;
        assert_eq!(rows(&page).iter().collect::<Vec<_>>(), expected, "{query}");
    }
    let page = client.page("/outbox").await;
    assert!(page.contains("1 parked · 0 stuck · 1 waiting · last delivery just now"), "{page}");
    assert!(page.contains("The channel does not exist"), "{page}");
    assert!(page.contains("href=\"/outbox?site=depot-2\""), "{page}");
}

async fn a_keyword_is_found_in_subjects_whatever_it_is(bed: TestBed) {
    let [.., waiting] = three(&bed).await;
    let client = Client::admin(&bed).await;
    assert_eq!(rows(&client.page("/outbox?q=100+%25").await), [waiting]);
    for none in ["%25%25", "_", "%5C"] {
        assert!(rows(&client.page(&format!("/outbox?q={none}")).await).is_empty(), "{none}");
    }
}

async fn recipients_errors_and_ids_are_found_too(bed: TestBed) {
    let [delivered, parked, waiting] = three(&bed).await;
    let client = Client::admin(&bed).await;
    assert_eq!(rows(&client.page("/outbox?q=a@example").await), [parked.clone(), delivered.clone()]);
    assert_eq!(rows(&client.page("/outbox?q=B@EXAMPLE.org").await), [waiting]);
    assert_eq!(rows(&client.page("/outbox?q=no:such").await), std::slice::from_ref(&parked), "by the error");
    client.get(&format!("/outbox?q={parked}")).await.leads_to(&format!("/notifications/{parked}"));
    let page = client.page("/outbox").await;
    assert!(page.contains(">To</th>") && page.contains("b@example.org"), "{page}");
    // One to a list is found by the address it went to.
    bed.list("ops", "memory:default", &["ann@b.example", "ben@b.example"]).await;
    let shown = bed.accept_one(bed.message_to_list("ops")).await;
    bed.tick().await;
    assert_eq!(rows(&client.page("/outbox?q=ann@b.example").await), [shown]);
    let mut three = bed.message("c@example.org");
    three.audience = punctual_model::Audience::Targets(vec!["c@x".into(), "d@x".into(), "e@x".into()]);
    bed.accept_one(three).await;
    assert!(client.page("/outbox").await.contains("c@x +2"));
}

async fn one_search_finds_pages_and_rows_without_script(bed: TestBed) {
    let [_, parked, _] = three(&bed).await;
    let client = Client::admin(&bed).await;
    let page = client.page("/").await;
    assert!(page.contains("action=\"/search\""), "{page}");
    let found = client.page("/search?q=freezer").await;
    assert!(found.contains(&format!("href=\"/notifications/{parked}\"")), "{found}");
    assert!(client.page("/search?q=calen").await.contains("href=\"/calendar\""));
    assert!(client.page("/search?q=create+rem").await.contains("href=\"/reminders/new\""));
    let nothing = client.page("/search?q=%3Cscript%3E").await;
    assert!(nothing.contains("No message, work, source, person or setting matches"), "{nothing}");
    assert!(!nothing.contains("<script>"), "{nothing}");
    assert!(nothing.contains("script&#62;") || nothing.contains("script&gt;"), "{nothing}");
    let viewer = client.with_key(&[Scope::Read], Some(&["nz"])).await;
    let found = viewer.page("/search?q=freezer").await;
    assert!(!found.contains("/notifications/") && !found.contains("Create"), "{found}");
}

async fn pages_follow_each_other(bed: TestBed) {
    let new = (0..120).map(|n| bed.message(&format!("{n}@example.org"))).collect();
    bed.accept(new).await;
    bed.tick().await;
    let client = Client::admin(&bed).await;
    for query in ["", "?status=delivered"] {
        let (mut path, mut found) = (format!("/outbox{query}"), Vec::new());
        for expected in [50, 50, 20] {
            let page = client.page(&path).await;
            assert_eq!(rows(&page).len(), expected);
            assert!(page.len() < 150 << 10, "{} bytes", page.len());
            found.extend(rows(&page));
            if page.contains("rel=\"next\"") {
                path = attribute(&page, "rel=\"next\" href=\"").replace("&#38;", "&");
            } else {
                assert!(page.contains("That is all."));
            }
        }
        let count = found.len();
        found.sort();
        found.dedup();
        assert_eq!((count, found.len()), (120, 120));
    }
}

async fn stuck_rows_have_a_badge_and_a_list_of_their_own(bed: TestBed) {
    let flaky =
        Scripted::new("flaky", |_| SendOutcome::Transient { error: "451 later".into(), retry_after: None });
    let bed = bed.with(|bed| bed.adapter(flaky));
    bed.channel_with(
        "flaky:default",
        "flaky",
        serde_json::json!({ "max": 90, "intervalSeconds": 60 }),
        false,
    )
    .await;
    let id = bed.accept_one(bed.message_over("flaky:default", &["a"])).await;
    bed.tick().await;
    let client = Client::admin(&bed).await;
    let page = client.page("/outbox").await;
    assert!(
        page.contains("1 attempt, next in 1 min: 451 later") && !page.contains("pill warn stuck"),
        "{page}"
    );
    bed.run_for(660).await;
    let page = client.page("/outbox?stuck=1").await;
    assert_eq!(rows(&page), [id]);
    assert!(page.contains("pill warn stuck\">stuck<") && page.contains("1 stuck"), "{page}");
    bed.leaves_open("it is tried for an hour and a half");
}

async fn a_wrong_time_is_reported_beside_its_field(bed: TestBed) {
    let client = Client::admin(&bed).await;
    let page = client.page("/outbox?from=yesterday").await;
    assert!(
        page.contains("value=\"yesterday\" aria-invalid=\"true\"") && page.contains("date_invalid"),
        "{page}"
    );
}

async fn a_key_of_one_business_unit_sees_no_other(bed: TestBed) {
    let mut ids = Vec::new();
    for unit in [Some("nz"), Some("de"), None] {
        let mut new = bed.message_over("no:such", &["a"]);
        new.subject = format!("For {unit:?}");
        new.business_unit = unit.map(Into::into);
        ids.push(bed.accept_one(new).await);
    }
    bed.tick().await;
    let admin = Client::admin(&bed).await;
    let nz = admin.with_key(&[Scope::Read, Scope::Operate], Some(&["nz"])).await;
    let page = nz.page("/outbox").await;
    assert_eq!(rows(&page), [ids[0].clone()]);
    assert!(!page.contains("class=\"tiles\""), "the figures are of everybody");
    assert!(nz.page("/attention").await.contains("One item needs attention"));
    assert!(admin.page("/attention").await.contains("3 items need attention"));
    nz.get(&format!("/notifications/{}", ids[1])).await.refused(404, "not_found");
    // What belongs to no unit is the installation's.
    nz.get(&format!("/notifications/{}", ids[2])).await.refused(404, "not_found");
    for (id, expected) in [(&ids[0], "1.0"), (&ids[1], "0.1"), (&ids[2], "0.1")] {
        let row = format!("{id}:{}", bed.notification(id).await.version);
        let reply = nz.act("/outbox/act", &[("action", "discard"), ("row", &row)]).await;
        reply.leads_to(&format!("/outbox?done=discard.{expected}"));
    }
    nz.act("/sandbox/clock", &[("to", "day")]).await.refused(403, "scope_missing");
}

async fn rows_that_wait_say_why_and_are_not_stuck(bed: TestBed) {
    let slow = serde_json::json!({ "rates": [{ "max": 1, "per": "2h" }] });
    bed.channel_with_policy("memory:slow", "memory", slow).await;
    bed.accept(vec![bed.message_over("memory:slow", &["a"]), bed.message_over("memory:slow", &["b"])]).await;
    bed.run_for(1800).await;
    let client = Client::admin(&bed).await;
    let page = client.page("/outbox?status=pending").await;
    assert!(page.contains("The channel reached its rate limit: in "), "{page}");
    assert!(page.contains("pill outline held\">held back<") && !page.contains("pill warn stuck"), "{page}");
    assert!(page.contains("0 stuck") && page.contains("to be sent · 1 held back"), "{page}");
    assert!(client.page("/outbox?stuck=1").await.contains("Nothing matches"));
    bed.leaves_open("it waits for a place");
}
