//! The frame around the pages: refusals in it, forms kept over an ended session, tokens that look different each time, and
//! the zone that times are in.

use axum::http::Method;
use jiff::SignedDuration;
use punctual_model::{Clock, Reach};
use punctual_store::{api_keys, lists};
use punctual_testkit::{TestBed, on_both};
use punctual_wire::keys::Scope;
use serde_json::json;

use crate::{
    browser::{Stage, on_sqlite},
    client::{ADMIN, Client, Reply, attribute},
    settings_browser::{fill, follow, notice},
};

on_both! {
    an_address_with_nothing_at_it_is_a_page_for_people_alone;
    refusals_stand_in_the_frame_of_whoever_is_signed_in;
    a_form_outlives_its_session;
    a_token_looks_different_in_each_page_and_is_good_all_the_same;
    a_zone_is_found_chosen_remembered_and_forgotten;
}

const BROWSER: [(&str, &str); 1] = [("accept", "text/html,application/xhtml+xml;q=0.9,*/*;q=0.8")];

async fn browsed(client: &Client, path: &str) -> Reply {
    client.send(Method::GET, path, &BROWSER, String::new()).await
}

async fn an_address_with_nothing_at_it_is_a_page_for_people_alone(bed: TestBed) {
    let client = Client::admin(&bed).await;
    let reply = browsed(&client, "/outbx").await.refused(404, "not_found");
    for events in [
        "There is no such page",
        "Nothing is at /outbx.",
        "href=\"/search?q=outbx\"",
        "<nav aria-label=\"Pages\">",
    ] {
        assert!(reply.text.contains(events), "{events}: {}", reply.text);
    }
    assert!(reply.headers["content-security-policy"].to_str().unwrap().starts_with("default-src 'none'"));
    // Without a session it is a page all the same, and shows nothing.
    let stranger = browsed(&client.nobody(), "/outbx").await.refused(404, "not_found");
    assert!(!stranger.text.contains("<nav"), "{}", stranger.text);
    // Programs get what the API says.
    let program = client.send(Method::GET, "/outbx", &[("accept", "*/*")], String::new()).await;
    assert!(program.status == 404 && !program.text.contains("<html"), "{}", program.text);
    let api = browsed(&client, "/api/v1/none").await;
    assert!(api.status == 404 && !api.text.contains("<html"), "{}", api.text);
    // A text of a stranger is no markup here either.
    let odd = browsed(&client, "/%3Cscript%3Ealert(1)").await;
    assert!(!odd.text.contains("<script>alert"), "{}", odd.text);
    let form = browsed(&client, "/outbox/confirm").await.refused(405, "method_not_allowed");
    assert!(
        form.text.contains("This page is the answer to a form") && form.text.contains("href=\"/outbox\"")
    );
}

async fn refusals_stand_in_the_frame_of_whoever_is_signed_in(bed: TestBed) {
    let admin = Client::admin(&bed).await;
    let missing = admin.get("/notifications/none").await.refused(404, "not_found");
    assert!(missing.text.contains("<nav") && missing.text.contains("href=\"/outbox\""), "{}", missing.text);
    let reader = admin.with_key(&[Scope::Read], None).await;
    let refused = reader.act("/outbox/act", &[("action", "retry")]).await.refused(403, "scope_missing");
    for events in ["somebody may not do this", "href=\"/account\"", "what you typed is still there", "<nav"] {
        assert!(refused.text.contains(events), "{events}: {}", refused.text);
    }
    let list = [("/name", "ops"), ("/type", "email"), ("/targets", "a@example.org"), ("version", "")];
    admin.act("/settings/lists/save", &list).await;
    let stale = admin.act("/attention/act", &[("cause", "none")]).await;
    assert!(stale.status < 500, "{}", stale.text);
    // The frame itself cannot be had: the page stands alone and says what is wrong.
    bed.faults.fail("attention.counts", false, 2);
    let away = admin.get("/outbox").await.refused(503, "storage_unavailable");
    assert!(!away.text.contains("<nav"), "{}", away.text);
    // Nobody made this request, so nobody reads a page.
    let live = [("x-punctual-live", "1")];
    let live = admin.send(Method::GET, "/notifications/none", &live, String::new()).await;
    assert!(live.status == 404 && !live.text.contains("<nav"), "{}", live.text);
}

async fn a_form_outlives_its_session(bed: TestBed) {
    let client = Client::admin(&bed).await;
    let token = client.token().await;
    client.wall.set(client.wall.now() + SignedDuration::from_hours(13));
    let typed = [
        ("token", token.as_str()),
        ("version", ""),
        ("/name", "night"),
        ("/type", "email"),
        ("/targets", "a@example.org\r\nb@example.org"),
    ];
    let ended = client.post("/settings/lists/save", &typed).await;
    assert_eq!(ended.status, 401, "{}", ended.text);
    assert!(ended.text.contains("nothing of it is lost") && !ended.text.contains(&token), "{}", ended.text);
    assert_eq!(attribute(&ended.text, "name=\"kept\" value=\""), "/settings/lists/save");
    let carried: Vec<(String, String)> =
        ["kept", "kept:version", "kept:/name", "kept:/type", "kept:/targets"]
            .map(|name| {
                let escaped = name.replace('/', "&#47;");
                let before = [name, &escaped].map(|name| format!("name=\"{name}\" value=\""));
                let before = before.into_iter().find(|before| ended.text.contains(before)).unwrap();
                (name.to_owned(), attribute(&ended.text, &before).replace("&#47;", "/"))
            })
            .to_vec();
    let with = |key: &'static str| -> Vec<(&str, &str)> {
        let carried = carried.iter().map(|(name, value)| (name.as_str(), value.as_str()));
        carried.chain([("key", key)]).collect()
    };
    // A wrong key keeps it too.
    let wrong = client.post("/sign-in", &with("a-key-that-nobody-has")).await.refused(401, "auth_failed");
    assert!(wrong.text.contains("b@example.org"), "{}", wrong.text);
    let back = client.post("/sign-in", &with(ADMIN)).await;
    assert_eq!(back.status, 200, "{}", back.text);
    assert!(
        back.text.contains("has not been sent yet") && back.text.contains("action=\"/settings/lists/save\"")
    );
    let again = attribute(&back.text, "name=\"token\" value=\"");
    let saved =
        client.post("/settings/lists/save", &[&[("token", again.as_str())], &typed[1..]].concat()).await;
    assert_eq!(saved.status, 303, "{}", saved.text);
    let row = lists::get(&mut bed.read().await.conn(), &Reach::Everything, "night").await.unwrap().unwrap();
    assert!(row.targets.contains("a@example.org") && row.targets.contains("b@example.org"), "{row:?}");
    // Signed in in another tab: the same page goes on.
    let again = client.post("/sign-in/again", &with("")).await;
    assert!(again.status == 200 && again.text.contains("has not been sent yet"), "{}", again.text);
    let nobody = client.nobody().post("/sign-in/again", &with("")).await;
    assert!(nobody.status == 401 && nobody.text.contains("You are not signed in yet"), "{}", nobody.text);
    // No other site can have a form of its own sent along.
    let foreign = client
        .send(Method::POST, "/sign-in/again", &[("sec-fetch-site", "cross-site")], "kept=/x".into())
        .await;
    foreign.refused(403, "csrf");
    // What is too long to be carried stays in the browser.
    client.wall.set(client.wall.now() + SignedDuration::from_hours(13));
    let long = "a@example.org\n".repeat(4_000);
    let long = client.post("/settings/lists/save", &[("/targets", &long)]).await;
    assert!(long.status == 401 && long.text.contains("too long to be carried"), "{}", long.text.len());
}

async fn a_token_looks_different_in_each_page_and_is_good_all_the_same(bed: TestBed) {
    let client = Client::admin(&bed).await;
    let (one, other) = (client.token().await, client.token().await);
    assert_ne!(one, other);
    for token in [&one, &other] {
        client.post("/inbox", &[("token", token), ("all", "1")]).await.leads_to("/inbox");
    }
    let mut odd = one.clone();
    odd.replace_range(0..1, if odd.starts_with('A') { "B" } else { "A" });
    for wrong in [odd.as_str(), &one[..80], "", "%%%"] {
        client.post("/inbox", &[("token", wrong), ("all", "1")]).await.refused(403, "csrf");
    }
}

async fn a_zone_is_found_chosen_remembered_and_forgotten(bed: TestBed) {
    let client = Client::admin(&bed).await;
    let session = client.cookie().unwrap();
    client.set_cookie(Some(format!("{session}; punctual-zone=Pacific%2FAuckland")));
    let page = client.page("/zone?q=new+york&back=/outbox").await;
    assert!(page.contains("America/New_York") && page.contains("UTC-04:00"), "{page}");
    assert!(page.contains("Times: Auckland"), "{page}");
    let reply = client.act("/zone", &[("zone", "new york"), ("back", "/outbox")]).await.leads_to("/outbox");
    let set = reply.headers["set-cookie"].to_str().unwrap().to_owned();
    assert!(
        set.starts_with("punctual-zone-chosen=America%2FNew_York;") && set.contains("Max-Age=31536000"),
        "{set}"
    );
    let chosen = set.split(';').next().unwrap();
    client.set_cookie(Some(format!("{session}; punctual-zone=Pacific%2FAuckland; {chosen}")));
    let page = client.page("/zone").await;
    assert!(
        page.contains("Times: New York") && page.contains("Pacific/Auckland, the zone of this browser"),
        "{page}"
    );
    let reply = client.act("/zone", &[("own", "1"), ("back", "//evil.example")]).await.leads_to("/");
    assert!(reply.headers["set-cookie"].to_str().unwrap().contains("Max-Age=0"));
    client.act("/zone", &[("zone", "europe"), ("back", "/")]).await.leads_to("/zone?q=europe&back=%2F");
    client.act("/zone", &[("zone", "<b>")]).await.leads_to("/zone?q=%3Cb%3E&back=%2F");
    assert!(client.page("/zone?q=%3Cb%3E").await.contains("No zone has &#60;b&#62;"));
}

#[test]
fn people_are_helped_where_there_is_nothing_in_a_browser() {
    on_sqlite(async |bed| {
        let mut stage = Stage::on(&bed).await;
        stage.sign_in().await;
        // The sign-in page knew the zone already.
        assert_eq!(stage.texts(".zones summary").await, ["Times: Auckland"]);
        stage.open("/settings/lsts").await;
        assert_eq!(stage.texts("h1").await, ["There is no such page"]);
        stage.browser.picture("missing-1280-light").await;
        follow(&mut stage, "Settings").await;
        assert_eq!(stage.texts("h1").await, ["Settings"]);

        // Another zone by search, and back to the browser's own.
        stage.browser.click(".zones summary").await;
        stage.browser.click("#zone").await;
        stage.browser.write("Europe/Berlin").await;
        stage.browser.picture("zone-1280-light").await;
        stage.browser.follow(".zones button").await;
        assert_eq!(stage.texts(".zones summary").await, ["Times: Berlin"]);
        assert_eq!(stage.texts("h1").await, ["Settings"], "one is where one was");
        stage.open("/zone").await;
        follow(&mut stage, "Use the browser's zone").await;
        assert_eq!(stage.texts(".zones summary").await, ["Times: Auckland"]);

        // Every page is two touches away on a phone; on a desk they stand beside.
        let menu = "document.querySelector('.menu').checkVisibility()";
        assert_eq!(stage.browser.eval(menu).await, json!(false));
        stage.browser.size(360, 780).await;
        assert_eq!(stage.browser.eval(menu).await, json!(true));
        stage.browser.follow(".menu").await;
        let pages = stage.texts("section[aria-label=Pages] .item-title").await;
        for page in ["Audit", "Nodes", "Retention"] {
            assert!(pages.contains(&page.to_owned()), "{page}: {pages:?}");
        }
        assert!(
            stage.texts("section[aria-label=Actions] .item-title").await.contains(&"My account".to_owned())
        );
        stage.browser.size(1280, 860).await;

        // The session ends while a form is being filled in.
        stage.open("/settings/lists/new").await;
        fill(&mut stage, "/name", "night").await;
        fill(&mut stage, "/targets", "ann@b.example").await;
        let mut tx = bed.begin().await;
        let keys = api_keys::all(&mut tx.conn()).await.unwrap();
        tx.commit().await.unwrap();
        assert_eq!(keys.len(), 1);
        stage.browser.call("Network.clearBrowserCookies", json!({})).await;
        follow(&mut stage, "Create list").await;
        assert_eq!(stage.texts("h1").await, ["Sign in"]);
        stage.browser.picture("signed-out-1280-light").await;
        stage.browser.click("#key").await;
        stage.browser.write(ADMIN).await;
        stage.browser.enter().await;
        assert_eq!(stage.texts("h1").await, ["You are signed in"]);
        follow(&mut stage, "Send the form").await;
        assert_eq!(notice(&mut stage).await, "Saved.");
        let row = lists::get(&mut bed.read().await.conn(), &Reach::Everything, "night").await.unwrap();
        assert!(row.is_some());
        // A browser notes each answer that is a refusal.
        stage.browser.events.retain(|message| {
            let text = message["params"]["entry"]["text"].as_str().unwrap_or_default();
            !text.contains("status of 404") && !text.contains("status of 401")
        });
        stage.finish();
    });
}
