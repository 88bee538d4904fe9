//! What operators come for, by clicks and keys alone: a user is invited with a role for one business unit, a missing list is made and its messages are
//! retried, a person is found and everything to them is explained.
//!
//! On SQLite alone: the browser sees no database.

use punctual_engine::Actor;
use punctual_model::{SuppressionReason, delivery_policy::Preference};
use punctual_store::suppressions::SuppressionRow;
use serde_json::json;

use crate::{
    browser::{Stage, on_sqlite},
    client::Client,
    editors_browser::choose,
    editors_browser::forgive_refusals,
    operations::{event, put},
    people::ANN,
    settings_browser::{fill, follow, notice},
};

#[test]
fn a_user_is_invited_for_one_unit_in_a_browser() {
    on_sqlite(async |bed| {
        bed.has_unit("nz").await;
        bed.has_unit("de").await;
        let mut own = bed.message_over("no:such", &["a@example.org"]);
        (own.subject, own.business_unit) = ("Of Auckland".into(), Some("nz".into()));
        let mut other = bed.message_over("no:such", &["b@example.org"]);
        (other.subject, other.business_unit) = ("Of Berlin".into(), Some("de".into()));
        bed.accept(vec![own, other]).await;
        bed.tick().await;
        let mut stage = Stage::on(&bed).await;
        stage.sign_in().await;
        stage.open("/settings/users").await;
        follow(&mut stage, "Invite a user").await;
        fill(&mut stage, "name", "Ada").await;
        fill(&mut stage, "email", "ada@example.org").await;
        stage.browser.eval("document.querySelector('[name=role]').value = 'viewer'").await;
        let boxes =
            "[...document.querySelectorAll('[name=businessUnits]')].filter((box) => box.offsetParent)";
        assert_eq!(stage.browser.eval(&format!("{boxes}.length")).await, 0, "all units need no choice");
        choose(&mut stage, "reach", "some").await;
        assert_eq!(stage.browser.eval(&format!("{boxes}.length")).await, 2);
        follow(&mut stage, "Invite").await;
        stage.browser.until("document.activeElement.name === 'businessUnits'").await;
        assert_eq!(
            stage.browser.eval("document.querySelector('[name=email]').value").await,
            "ada@example.org"
        );
        stage.browser.click("[name=businessUnits][value=nz]").await;
        follow(&mut stage, "Invite").await;
        let link = stage.browser.eval("document.querySelector('#link').value").await;
        let link = link.as_str().unwrap().to_owned();
        stage.browser.follow("form[action='/sign-out'] button").await;
        stage.open(&link[link.find("/invitation").unwrap()..]).await;
        stage.browser.until("document.activeElement.id === 'password'").await;
        stage.browser.write("correct horse battery").await;
        stage.browser.click("#again").await;
        stage.browser.write("correct horse battery").await;
        stage.browser.follow("button.primary").await;
        assert_eq!(stage.texts(".who-name").await, ["Ada"]);
        stage.open("/outbox").await;
        assert_eq!(stage.texts("td.subject a").await, ["Of Auckland"]);
        assert_eq!(
            stage.browser.eval("document.querySelector('#acts')").await,
            json!(null),
            "nothing to act with"
        );
        stage.browser.events.retain(|message| {
            !message["params"]["entry"]["text"].as_str().unwrap_or_default().contains("status of 422")
        });
        stage.finish();
    });
}

#[test]
fn a_message_is_written_from_a_template_in_a_browser() {
    on_sqlite(async |bed| {
        bed.list("ops", "email:default", &["ann@example.org"]).await;
        let mut stage = Stage::on(&bed).await;
        stage.sign_in().await;
        follow(&mut stage, "Settings").await;
        follow(&mut stage, "Templates").await;
        follow(&mut stage, "Add a template").await;
        fill(&mut stage, "/name", "due").await;
        fill(&mut stage, "/variants/en/subject", "{{ document }} expires").await;
        fill(&mut stage, "/variants/en/body", "On {{ date }}.").await;
        follow(&mut stage, "Create template").await;
        follow(&mut stage, "Write a message from it").await;
        let subject =
            |text: &str| format!("document.querySelector('#message-subject')?.textContent === '{text}'");
        stage.browser.until(&subject("[document] expires")).await;
        fill(&mut stage, "/list", "ops").await;
        // The message beside the form follows what is typed; nothing is sent without a value.
        fill(&mut stage, "/context/document", "Licence").await;
        stage.browser.until(&subject("Licence expires")).await;
        stage.browser.picture("message-from-template-1280-light").await;
        follow(&mut stage, "Create message").await;
        stage.browser.is_in("/context/date").await;
        let typed = "document.querySelector('[name=\"/context/document\"]').value";
        assert_eq!(stage.browser.eval(typed).await, "Licence");
        fill(&mut stage, "/context/date", "14 May").await;
        follow(&mut stage, "Create message").await;
        assert_eq!(stage.texts("h1 .pill").await, ["waiting"]);
        bed.run_for(1).await;
        assert_eq!(
            (bed.sent()[0].subject.as_str(), bed.sent()[0].body.as_str()),
            ("Licence expires", "On 14 May.")
        );
        // In the lists it is called by its template.
        stage.open("/outbox").await;
        assert_eq!(stage.texts("td.subject a").await, ["From template due"]);
        forgive_refusals(&mut stage);
        stage.finish();
    });
}

#[test]
fn a_missing_list_is_made_and_its_messages_are_retried_in_a_browser() {
    on_sqlite(async |bed| {
        for (list, subject) in [
            ("cold-chain", "Freezer 3 is warm"),
            ("cold-chain", "Freezer 4 is warm"),
            ("night", "Call the plant"),
        ] {
            let mut new = bed.message_to_list(list);
            new.subject = subject.into();
            bed.accept_one(new).await;
        }
        bed.tick().await;
        let mut stage = Stage::on(&bed).await;
        stage.sign_in().await;
        follow(&mut stage, "Attention").await;
        let causes = stage.texts(".causes .item-title").await;
        assert_eq!(causes, ["No list cold-chain: 2 messages.", "No list night: 1 message."]);
        // The figure opens its rows, and the repair leads back to them.
        stage.browser.follow(".causes a[data-figure]").await;
        assert_eq!(stage.texts("td.subject a").await, ["Freezer 4 is warm", "Freezer 3 is warm"]);
        follow(&mut stage, "Attention").await;
        follow(&mut stage, "Create list cold-chain").await;
        // A wrong address is named at its field, and what was typed stays.
        stage.browser.eval("document.querySelector('[name=channel]').value = 'email:default'").await;
        fill(&mut stage, "targets", "ann@example.org\nnobody").await;
        follow(&mut stage, "Create list").await;
        stage.browser.is_in("targets").await;
        assert_eq!(
            stage.browser.eval("document.activeElement.value").await,
            json!("ann@example.org\nnobody")
        );
        fill(&mut stage, "targets", "ann@example.org").await;
        follow(&mut stage, "Create list").await;
        let causes = stage.texts(".causes .item-title").await;
        assert_eq!(causes[0], "List cold-chain was missing and exists now: 2 messages.");
        stage.browser.picture("attention-repaired-1280-light").await;
        // The plan names what the button will do.
        follow(&mut stage, "Retry 2 messages…").await;
        assert_eq!(stage.texts("h1").await, ["Retry 2 messages?"]);
        assert_eq!(stage.texts(".items .item-title").await, ["Freezer 4 is warm", "Freezer 3 is warm"]);
        follow(&mut stage, "Retry 2 messages").await;
        assert_eq!(notice(&mut stage).await, "Retrying 2 messages.");
        assert_eq!(stage.texts(".causes .item-title").await, ["No list night: 1 message."]);
        bed.tick().await;
        assert_eq!(bed.sent_to(), ["ann@example.org", "ann@example.org"]);
        forgive_refusals(&mut stage);
        stage.finish();
    });
}

#[test]
fn a_person_is_found_and_everything_to_them_is_explained_in_a_browser() {
    on_sqlite(async |bed| {
        let client = Client::admin(&bed).await;
        client.act("/operations/people/save", &ANN).await.leads_to("/operations/people?done=saved");
        put(&bed, event(&bed, "Rehearsal", "2026-06-14T06:00:00Z", 2)).await;
        let mut arrived = bed.message("ann@example.org");
        arrived.subject = "Your certificate expires".into();
        bed.accept_one(arrived).await;
        let mut lost = bed.message_over("no:such", &["ann@example.org"]);
        lost.subject = "Freezer 3 is warm".into();
        bed.accept_one(lost).await;
        bed.tick().await;
        let by = Actor::named("test");
        let block = SuppressionRow {
            channel_type: "sms".into(),
            address: "+49301234567".into(),
            reason: SuppressionReason::Complaint.as_str().into(),
            source: "key:test".into(),
            detail: Some("Asked by phone".into()),
            since: bed.now(),
            expires_at: None,
        };
        bed.engine.suppress(&by, &block).await.unwrap();
        let wants: Preference =
            serde_json::from_value(json!({ "quietHours": { "from": "22:00", "to": "07:00" },
            "topics": { "offers": { "subscribed": false } }, "addresses": { "email": "ann@example.org" } }))
            .unwrap();
        bed.engine.change_preference(&by, "ann", |kept| *kept = wants).await.unwrap();

        let mut stage = Stage::on(&bed).await;
        stage.sign_in().await;
        // Found by a part of the name as well as by the address.
        stage.browser.click("#find").await;
        stage.browser.write("ann@example.org").await;
        stage.browser.enter().await;
        assert!(stage.texts("section[aria-label=People] .item-title").await.contains(&"Ann".to_owned()));
        follow(&mut stage, "Everything to ann@example.org").await;
        assert_eq!(stage.texts("h1").await, ["ann@example.org"]);
        let events = stage.texts("main").await.join(" ");
        for part in ["2 messages; has preferences.", "offers", "22:00–07:00", "Rehearsal"] {
            assert!(events.contains(part), "{part}: {events}");
        }
        assert_eq!(stage.texts("td.subject a").await, ["Freezer 3 is warm", "Your certificate expires"]);
        assert_eq!(stage.texts("td.state .pill").await, ["parked", "delivered"]);
        stage.browser.picture("recipient-1280-light").await;
        // Why one did not arrive, and what to do about it.
        follow(&mut stage, "Freezer 3 is warm").await;
        let why = stage.texts("main").await.join(" ");
        assert!(
            why.contains("The channel does not exist") && stage.texts("h1 .pill").await == ["parked"],
            "{why}"
        );
        stage.browser.eval("history.back()").await;
        stage.browser.until("document.querySelector('h1').textContent === 'ann@example.org'").await;
        // The other address of the same person says why it gets nothing.
        follow(&mut stage, "Ann").await;
        stage.browser.until("location.pathname === '/operations/people/ann'").await;
        stage.open("/recipients?address=%2B49301234567").await;
        let events = stage.texts("main").await.join(" ");
        assert!(events.contains("gets no sms because") && events.contains("Asked by phone"), "{events}");
        bed.leaves_open("a message is parked and an event is planned");
        stage.finish();
    });
}
