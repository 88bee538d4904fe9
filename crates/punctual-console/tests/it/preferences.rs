//! A person's own page, and what operators see: no session for the one, all business units for the other.

use axum::http::Method;
use punctual_engine::Actor;
use punctual_engine::delivery_policy::links::Holder;
use punctual_model::delivery_policy::{Preference, Topic};
use punctual_testkit::{TestBed, on_both};
use serde_json::json;

use crate::client::Client;

on_both! {
    opening_a_link_changes_nothing;
    one_click_unsubscribes_from_the_topic_of_the_mail;
    a_person_chooses_topics_and_quiet_hours;
    the_page_speaks_the_person_s_language;
    a_link_that_was_not_made_here_opens_nothing;
    operators_see_what_people_want;
    a_channel_shows_what_it_keeps_to;
    a_message_that_waits_says_why_on_its_page;
    the_page_has_the_name_and_the_colour_of_the_organisation;
}

pub fn path(bed: &TestBed, topic: Option<&str>) -> String {
    let holder = Holder { address: "ann@example.org".into(), topic: topic.map(str::to_owned) };
    let link = bed.engine.preference_link(&holder);
    link.strip_prefix("http://127.0.0.1:8080").unwrap().to_owned()
}

async fn wants(bed: &TestBed) -> Option<Preference> {
    let row = bed.engine.preference_of("ann@example.org").await.unwrap();
    row.map(|row| Preference::read(&row.definition))
}

async fn opening_a_link_changes_nothing(bed: TestBed) {
    let stranger = Client::stranger(&bed).await;
    let reply = stranger.get(&path(&bed, Some("offers"))).await;
    assert_eq!(reply.status, 200);
    assert!(reply.text.contains("ann@example.org") && reply.text.contains("Send me no more of it"));
    assert_eq!(reply.headers["x-robots-tag"], "noindex, nofollow");
    assert!(reply.headers.get("set-cookie").is_none());
    assert_eq!(wants(&bed).await, None, "mail scanners follow links");
}

async fn one_click_unsubscribes_from_the_topic_of_the_mail(bed: TestBed) {
    let stranger = Client::stranger(&bed).await;
    let path = path(&bed, Some("offers"));
    // As a mail program posts it: from nowhere, without a page of ours.
    let body = "List-Unsubscribe=One-Click".to_owned();
    let reply = stranger.send(Method::POST, &path, &[("sec-fetch-site", "cross-site")], body).await;
    assert_eq!(reply.status, 200, "{}", reply.text);
    assert!(!wants(&bed).await.unwrap().topics["offers"].subscribed);
    let mut new = bed.message("ann@example.org");
    new.topic = Some("offers".into());
    let id = bed.accept_one(new).await;
    bed.tick().await;
    assert_eq!(bed.notification(&id).await.reason_code.as_deref(), Some("unsubscribed"));
    assert_eq!(bed.audit("preference", "ann@example.org").await, ["put"]);
}

async fn a_person_chooses_topics_and_quiet_hours(bed: TestBed) {
    let stranger = Client::stranger(&bed).await;
    let path = path(&bed, Some("offers"));
    let said = |wants: &mut Preference| {
        wants.topics.insert("news".into(), Topic { subscribed: false, channels: None });
    };
    bed.engine.change_preference(&Actor::named("test"), "ann@example.org", said).await.unwrap();
    let fields = [
        ("topic", "offers"),
        ("topic", "news"),
        ("topic", "of nobody"),
        ("wanted", "news"),
        ("quietFrom", "22:00"),
        ("quietTo", "07:00"),
        ("timeZone", "Europe/Berlin"),
    ];
    let reply = stranger.post(&path, &fields).await;
    assert!(reply.text.contains("Your choices are saved."), "{}", reply.text);
    let kept = wants(&bed).await.unwrap();
    assert!(!kept.topics["offers"].subscribed && kept.topics["news"].subscribed);
    assert!(!kept.topics.contains_key("of nobody"), "only topics that there are are kept");
    assert_eq!(kept.time_zone.as_deref(), Some("Europe/Berlin"));
    assert!(kept.quiet_hours.is_some());
    let page = stranger.page(&path).await;
    assert!(page.contains("value=\"22:00\"") && !page.contains("Send me no more of it"), "{page}");
    // What cannot be kept is named at its field, and nothing that was typed is lost.
    let typed = [("topic", "offers"), ("topic", "news"), ("wanted", "offers"), ("quietTo", "06:30")];
    for (field, value, says) in
        [("quietFrom", "late", "two different times"), ("timeZone", "Berlin", "such as Europe/Berlin")]
    {
        let quiet_from = if field == "quietFrom" { value } else { "21:15" };
        let zone = if field == "timeZone" { value } else { "Asia/Tokyo" };
        let rest = [("quietFrom", quiet_from), ("timeZone", zone)];
        let wrong = stranger.post(&path, &typed.into_iter().chain(rest).collect::<Vec<_>>()).await;
        assert!(wrong.status == 422 && wrong.text.contains(says), "{}", wrong.text);
        let at_fault = format!(
            "name=\"{field}\" aria-invalid=\"true\" aria-describedby=\"fault\" autofocus value=\"{value}\""
        );
        assert!(wrong.text.contains(&at_fault), "{}", wrong.text);
        for kept in [quiet_from, zone, "06:30"] {
            assert!(wrong.text.contains(&format!("value=\"{kept}\"")), "{kept}: {}", wrong.text);
        }
        assert!(
            wrong.text.contains("value=\"offers\" checked") && !wrong.text.contains("value=\"news\" checked")
        );
        assert_eq!(wants(&bed).await.unwrap(), kept, "nothing is stored");
    }
    let stopped = stranger.post(&path, &[("action", "stop-all")]).await;
    assert!(stopped.text.contains("You will get no more of these messages."), "{}", stopped.text);
    let kept = wants(&bed).await.unwrap();
    assert!(kept.topics.len() == 2 && kept.topics.values().all(|topic| !topic.subscribed), "{kept:?}");
    assert!(kept.quiet_hours.is_some(), "the rest stays");
}

async fn the_page_speaks_the_person_s_language(bed: TestBed) {
    let stranger = Client::stranger(&bed).await;
    let path = path(&bed, Some("offers"));
    let opened = async |accept: &str| {
        let headers: &[(&str, &str)] = if accept.is_empty() { &[] } else { &[("accept-language", accept)] };
        stranger.send(Method::GET, &path, headers, String::new()).await.text
    };
    for (accept, shown) in [
        ("", "<html lang=\"en\" dir=\"ltr\">"),
        ("sw", "<html lang=\"en\" dir=\"ltr\">"),
        ("sw, fr;q=0.5, de-AT;q=0.9", "Wovon Sie hören möchten"),
        ("ar-IQ,en;q=0.8", "<html lang=\"ar\" dir=\"rtl\">"),
    ] {
        let page = opened(accept).await;
        assert!(page.contains(shown), "{accept}: {page}");
    }
    // What they have said themselves counts more than the browser they happen to use.
    bed.engine
        .change_preference(&Actor::named("test"), "ann@example.org", |wants| wants.locale = Some("he".into()))
        .await
        .unwrap();
    let page = opened("de").await;
    assert!(
        page.contains("<html lang=\"he\" dir=\"rtl\">") && page.contains("<bdi>ann@example.org</bdi>"),
        "{page}"
    );
    let stopped = stranger.post(&path, &[("action", "unsubscribe")]).await.text;
    assert!(stopped.contains("לא תקבלו עוד הודעות כאלה."), "{stopped}");
    let gone = stranger.send(Method::GET, "/p/x", &[("accept-language", "de")], String::new()).await;
    assert!(gone.status == 404 && gone.text.contains("Dieser Link funktioniert nicht"), "{}", gone.text);
}

async fn a_link_that_was_not_made_here_opens_nothing(bed: TestBed) {
    let stranger = Client::stranger(&bed).await;
    let good = path(&bed, None);
    for odd in ["/p/x".to_owned(), "/p/a.b".to_owned(), format!("{good}x"), good.replace('.', "..")] {
        assert_eq!(stranger.get(&odd).await.status, 404, "{odd}");
        assert_eq!(stranger.post(&odd, &[("action", "unsubscribe")]).await.status, 404, "{odd}");
    }
    assert_eq!(wants(&bed).await, None);
}

async fn operators_see_what_people_want(bed: TestBed) {
    let admin = Client::admin(&bed).await;
    assert!(admin.page("/preferences").await.contains("No preferences yet"));
    let wanted = json!({ "quietHours": { "from": "22:00", "to": "07:00" }, "topics": { "offers": { "subscribed": false } },
        "addresses": { "email": "ann@example.org" }, "failover": ["sms:a", "email:b"] });
    let wanted: Preference = serde_json::from_value(wanted).unwrap();
    bed.engine.change_preference(&Actor::named("test"), "ann", |kept| *kept = wanted).await.unwrap();
    let page = admin.page("/preferences").await;
    for shown in ["ann@example.org", "offers", "22:00–07:00", "sms:a → email:b"] {
        assert!(page.contains(shown), "{shown}: {page}");
    }
    assert!(admin.page("/preferences?q=ann%40example.org").await.contains("1 person"));
    assert!(admin.page("/preferences?q=bob").await.contains("There are no preferences for bob"));
    let limited = admin.with_key(&[punctual_wire::keys::Scope::Read], Some(&["nz"])).await;
    assert_eq!(limited.get("/preferences").await.status, 403);
}

async fn a_channel_shows_what_it_keeps_to(bed: TestBed) {
    let policy =
        json!({ "rates": [{ "max": 3, "per": "1h" }], "quietHours": { "from": "22:00", "to": "04:00" } });
    bed.channel_with_policy("memory:slow", "memory", policy).await;
    bed.accept_one(bed.message_over("memory:slow", &["a@example.org"])).await;
    bed.tick().await;
    let page = Client::admin(&bed).await.page("/channels").await;
    assert!(page.contains("1 of 3 in 1h") && page.contains("quiet 22:00–04:00"), "{page}");
}

async fn a_message_that_waits_says_why_on_its_page(bed: TestBed) {
    bed.channel_with_policy(
        "memory:night",
        "memory",
        json!({ "quietHours": { "from": "04:00", "to": "06:00" } }),
    )
    .await;
    let id = bed.accept_one(bed.message_over("memory:night", &["a@example.org"])).await;
    bed.tick().await;
    let page = Client::admin(&bed).await.page(&format!("/notifications/{id}")).await;
    assert!(page.contains("It waits for the end of the quiet hours"), "{page}");
    bed.run_for(3600).await;
}

async fn the_page_has_the_name_and_the_colour_of_the_organisation(bed: TestBed) {
    let (admin, stranger) = (Client::admin(&bed).await, Client::stranger(&bed).await);
    let page = path(&bed, None);
    let style = format!("{page}/colours.css");
    let plain = stranger.get(&page).await.text;
    assert!(!plain.contains("class=\"organisation\"") && !plain.contains("colours.css"), "{plain}");
    let stored = admin.page("/settings/policy").await;
    let number = crate::client::attribute(&stored, "name=\"version\" value=\"");
    let base = crate::client::attribute(&stored, "name=\"base\" value=\"");
    let save = async |colour: &str| {
        let fields = [
            ("known", "Delivery policy"),
            ("version", number.as_str()),
            ("base", base.as_str()),
            ("as", "form"),
            ("/organisation", "Rafidain & Sons"),
            ("/colour", colour),
        ];
        admin.act("/settings/policy/save", &fields).await
    };
    let refused = save("red;}").await;
    assert_eq!(refused.status, 422, "{}", refused.text);
    assert!(refused.text.contains("red;}") && refused.text.contains("#1a6f5c"), "{}", refused.text);
    assert_eq!(save("#0b5f8a").await.status, 303);
    let shown = stranger.get(&page).await.text;
    assert!(shown.contains("<p class=\"organisation\" dir=\"auto\">Rafidain &#38; Sons</p>"), "{shown}");
    assert!(shown.contains(&style), "{shown}");
    let style = stranger.get(&style).await;
    assert_eq!((style.status, style.text.as_str()), (200, ":root { --own: #0b5f8a; }\n"));
    assert_eq!(style.headers["content-type"], "text/css; charset=utf-8");
    assert_eq!(stranger.get("/p/nobody/colours.css").await.status, 404);
}
