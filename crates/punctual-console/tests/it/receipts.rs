//! What happens after a provider's yes, on pages: receipts on the page of a message, the suppression list, the inbox.

use jiff::Timestamp;
use punctual_model::{Callback, SendOutcome};
use punctual_testkit::{Scripted, TestBed, on_both};
use punctual_wire::keys::Scope;
use serde_json::{Value, json};

use crate::{
    browser::{RULES, Stage, on_sqlite, walk},
    client::Client,
};

on_both! {
    a_message_s_page_distinguishes_accepted_and_confirmed;
    an_address_is_added_found_and_taken_off;
    who_may_only_read_changes_nothing;
    messages_are_read_one_by_one_and_all_at_once;
}

/// A bed with `email:p`, whose provider calls back, and an inbox.
async fn with_provider(bed: &TestBed) -> TestBed {
    let script = Scripted::new("provider", |message| SendOutcome::Delivered {
        provider_id: format!("id-{}", message.address),
    });
    let bed = bed.with(|bed| bed.adapter(script.calls_back()));
    bed.channel("email:p", "provider").await;
    bed.channel("inbox:default", "inbox").await;
    bed
}

async fn report(bed: &TestBed, items: Value) {
    let header = |name: &str| (name == "x-signature").then(|| "good".to_owned());
    let body = items.to_string();
    let call = Callback {
        is_get: false,
        query: "",
        path_secret: None,
        header: &header,
        body: body.as_bytes(),
        at: Timestamp::UNIX_EPOCH,
    };
    bed.engine.take_callback("email:p", &call).await.unwrap().unwrap();
}

async fn a_message_s_page_distinguishes_accepted_and_confirmed(bed: TestBed) {
    let bed = with_provider(&bed).await;
    let client = Client::admin(&bed).await;
    client
        .act("/suppressions", &[("channelType", "email"), ("address", "eve@example.org")])
        .await
        .leads_to("/suppressions?done=added");
    let id = bed
        .accept_one(bed.message_over("email:p", &["ann@example.org", "bob@example.org", "eve@example.org"]))
        .await;
    bed.tick().await;
    let path = format!("/notifications/{id}");
    let page = client.page(&path).await;
    assert_eq!(page.matches("not confirmed yet").count(), 2, "{page}");
    assert!(page.contains("suppressed") && page.contains("eve@example.org was left out"), "{page}");
    report(&bed, json!([
        { "id": "id-ann@example.org", "state": "delivered" },
        { "id": "id-bob@example.org", "state": "failed", "detail": "550 5.1.1 <gone>", "suppress": "hardBounce" },
    ]))
    .await;
    let page = client.page(&path).await;
    for shown in [
        ">confirmed</span>",
        ">not delivered</span>",
        "Arrived at ann@example.org",
        "Did not arrive at bob@example.org",
        "The provider took it, and it did not arrive",
        "bob@example.org: 550 5.1.1 &#60;gone&#62;",
        "Mark as seen",
    ] {
        assert!(page.contains(shown), "{shown}: {page}");
    }
    assert!(client.page("/attention").await.contains("not delivered"));
    client.act(&format!("{path}/acknowledge"), &[]).await.leads_to(&path);
    let page = client.page(&path).await;
    assert!(!page.contains("Mark as seen") && page.contains("Seen"), "{page}");
    let list = client.page("/suppressions").await;
    assert!(list.contains("bob@example.org") && list.contains(">bounced</span>"), "{list}");
    let reader = client.with_key(&[Scope::Read], None).await;
    reader.act(&format!("{path}/acknowledge"), &[]).await.refused(403, "scope_missing");
}

async fn an_address_is_added_found_and_taken_off(bed: TestBed) {
    let client = Client::admin(&bed).await;
    assert!(client.page("/suppressions").await.contains("No suppressed addresses"));
    let add = async |kind: &str, address: &str| {
        client
            .act("/suppressions", &[("channelType", kind), ("address", address), ("detail", "asked <us>")])
            .await
    };
    add("email", "Ann@Example.org").await.leads_to("/suppressions?done=added");
    add("sms", "+49 30 1234567").await.leads_to("/suppressions?done=added");
    let refused = add("email", "no address").await;
    assert!(refused.status == 422 && refused.text.contains("value=\"no address\""), "{}", refused.text);
    let page = client.page("/suppressions").await;
    for shown in [
        "2 addresses get no messages.",
        "ann@example.org",
        "+49301234567",
        "asked &#60;us&#62;",
        ">by hand</span>",
    ] {
        assert!(page.contains(shown), "{shown}: {page}");
    }
    let found = client.page("/suppressions?q=ANN&type=email&reason=manual").await;
    assert!(found.contains("ann@example.org") && !found.contains("+49301234567"), "{found}");
    assert!(client.page("/suppressions?q=nobody").await.contains("No address fits"));
    let which = [("channelType", "email"), ("address", "ann@example.org")];
    let asked = client.act("/suppressions/confirm", &which).await;
    assert!(
        asked.text.contains("because a person put it there")
            && asked.text.contains("Remove it from the list"),
        "{}",
        asked.text
    );
    assert!(client.page("/suppressions").await.contains("ann@example.org"), "asking changes nothing");
    client
        .act("/suppressions/remove", &[which[0], which[1], ("reason", "she called")])
        .await
        .leads_to("/suppressions?done=removed");
    assert!(!client.page("/suppressions").await.contains("ann@example.org"));
    client.act("/suppressions/remove", &which).await.refused(404, "not_found");
    client.act("/suppressions/confirm", &which).await.refused(404, "not_found");
    assert_eq!(
        bed.audit("address", "email:ann@example.org").await,
        ["suppress:manual", "unsuppress", "note:she called"]
    );
}

async fn who_may_only_read_changes_nothing(bed: TestBed) {
    let client = Client::admin(&bed).await;
    client
        .act("/suppressions", &[("channelType", "email"), ("address", "ann@example.org")])
        .await
        .leads_to("/suppressions?done=added");
    let reader = client.with_key(&[Scope::Read], None).await;
    let page = reader.page("/suppressions").await;
    assert!(
        page.contains("ann@example.org") && !page.contains("Remove…") && !page.contains("Add address"),
        "{page}"
    );
    let which = [("channelType", "email"), ("address", "ann@example.org")];
    for path in ["/suppressions", "/suppressions/confirm", "/suppressions/remove"] {
        reader.act(path, &which).await.refused(403, "scope_missing");
    }
    let some = client.with_key(&[Scope::Read, Scope::Operate], Some(&["nz"])).await;
    some.get("/suppressions").await.refused(403, "scope_missing");
    some.act("/suppressions", &which).await.refused(403, "scope_missing");
}

async fn messages_are_read_one_by_one_and_all_at_once(bed: TestBed) {
    let bed = with_provider(&bed).await;
    let client = Client::admin(&bed).await;
    assert!(client.page("/inbox").await.contains("No messages yet"));
    for (n, to) in ["operator", "operator", "somebody", "operator"].into_iter().enumerate() {
        let mut new = bed.message_over("inbox:default", &[to]);
        new.subject = format!("Message <{n}>");
        bed.accept_one(new).await;
        bed.tick().await;
    }
    let page = client.page("/inbox").await;
    assert!(page.contains("3 messages are not read.") && page.contains("title=\"3 not read\""), "{page}");
    assert!(page.contains("Message &#60;3&#62;") && !page.contains("Message &#60;2&#62;"), "{page}");
    let ids: Vec<String> = page
        .split("name=\"id\" value=\"")
        .skip(1)
        .map(|rest| rest.split('"').next().unwrap().to_owned())
        .collect();
    assert_eq!(ids.len(), 3);
    client.act("/inbox", &[("id", &ids[1])]).await.leads_to("/inbox");
    let unread = client.page("/inbox?unread=1").await;
    assert!(unread.contains("Message &#60;3&#62;") && !unread.contains("Message &#60;1&#62;"), "{unread}");
    let other = client.with_key(&[Scope::Read], None).await;
    assert!(other.page("/inbox").await.contains("Message &#60;2&#62;"), "the key of that name");
    other.act("/inbox", &[("upTo", &ids[0])]).await.leads_to("/inbox");
    other.act("/inbox", &[("id", &ids[0])]).await.leads_to("/inbox");
    assert!(client.page("/inbox").await.contains("2 messages are not read."), "nobody reads for another");
    client.act("/inbox", &[("upTo", &ids[0]), ("unread", "1")]).await.leads_to("/inbox?unread=1");
    let page = client.page("/inbox?unread=1").await;
    assert!(page.contains("You have read everything.") && page.contains("Nothing is left to read"), "{page}");
}

#[test]
fn a_new_message_shows_in_an_open_tab_and_the_pages_look_right() {
    on_sqlite(async |bed| {
        let bed = with_provider(&bed).await;
        let mut stage = Stage::on(&bed).await;
        stage.sign_in().await;
        for (name, path) in [("suppressions", "/suppressions"), ("inbox", "/inbox")] {
            stage.open(path).await;
            assert_eq!(stage.browser.eval(RULES).await, json!([]), "{name}");
            stage.browser.picture(&format!("{name}-1280-light-empty")).await;
        }
        stage.open("/channels").await;
        stage.browser.until("document.querySelector('#dot').classList.contains('live')").await;
        let mut new = bed.message_over("inbox:default", &["operator"]);
        (new.subject, new.body) =
            ("Pump 7 was serviced".into(), "The next service is in 90 days.\nPlease order a seal.".into());
        bed.accept_one(new).await;
        bed.tick().await;
        stage
            .browser
            .until("document.querySelector('nav a[href=\"/inbox\"] .badge')?.textContent === '1'")
            .await;
        stage.browser.follow("nav a[href='/inbox']").await;
        assert_eq!(stage.texts(".inbox .item-title").await, ["Pump 7 was serviced"]);
        stage.browser.follow(".inbox li form button").await;
        assert_eq!(stage.texts(".sentence").await, ["You have read everything."]);
        assert_eq!(stage.texts(".inbox .pill").await, ["read"]);

        // The suppression list, by clicking: add, find, take off after a look.
        stage.browser.follow("nav a[href='/channels']").await;
        stage.browser.follow("a[href='/suppressions']").await;
        stage.browser.click("input[name=address]").await;
        stage.browser.write("Ann@example.org").await;
        stage.browser.follow("form[action='/suppressions'][method=post] button").await;
        assert_eq!(stage.texts("td.subject .mono").await, ["ann@example.org"]);
        let id = bed
            .accept_one(
                bed.message_over("email:p", &["ann@example.org", "bob@example.org", "eve@example.org"]),
            )
            .await;
        bed.tick().await;
        stage.open(&format!("/notifications/{id}")).await;
        stage.browser.until("document.querySelector('#dot').classList.contains('live')").await;
        report(&bed, json!([
            { "id": "id-bob@example.org", "state": "failed", "detail": "550 5.1.1 no such user here", "suppress": "hardBounce" },
            { "id": "id-eve@example.org", "state": "delivered" },
        ]))
        .await;
        // The page that is open says so by itself.
        stage.browser.until("document.body.textContent.includes('it did not arrive')").await;
        for n in 0..3 {
            let mut new = bed.message_over("inbox:default", &["operator"]);
            new.subject = format!("Weekly figures {n}");
            bed.accept_one(new).await;
        }
        bed.tick().await;
        let message = format!("/notifications/{id}");
        let pages = [("suppressions", "/suppressions"), ("inbox", "/inbox"), ("receipts", message.as_str())];
        walk(&mut stage, "busy", &pages).await;
        stage.open(&message).await;
        stage.browser.follow("form[action$='/acknowledge'] button").await;
        assert_eq!(stage.texts(".callout").await, Vec::<String>::new());
        stage.open("/suppressions?q=ann").await;
        stage.browser.follow("td form button").await;
        stage.browser.picture("suppression-confirm-1280-light").await;
        stage.browser.follow(".confirm button").await;
        assert_eq!(stage.texts("td.subject .mono").await, ["bob@example.org"]);
        stage.finish();
    });
}
