//! What people come for, by clicks and keys alone: a missing list repaired and its messages retried, a person found by address and explained, a user
//! invited with a role for one business unit.
//!
//! On SQLite alone: the browser sees no database.

use punctual_engine::Actor;
use punctual_model::SuppressionReason;
use punctual_store::suppressions::SuppressionRow;
use serde_json::json;

use crate::{
    browser::{Stage, on_sqlite},
    settings_browser::{fill, follow, notice},
};

#[test]
fn a_missing_list_is_made_and_its_messages_are_retried_in_a_browser() {
    on_sqlite(async |bed| {
        for _ in 0..6 {
            bed.accept_one(bed.message_to_list("cold-chain")).await;
        }
        bed.accept_one(bed.message_over("no:such", &["other@example.org"])).await;
        bed.tick().await;
        let mut stage = Stage::on(&bed).await;
        stage.sign_in().await;
        stage.browser.follow("nav a[href='/attention']").await;
        let causes = stage.texts(".causes .item-title").await;
        assert_eq!(causes[0], "No list cold-chain: 6 messages.", "{causes:?}");
        follow(&mut stage, "Create list cold-chain").await;
        assert_eq!(stage.browser.eval("document.querySelector('[name=name]').value").await, "cold-chain");
        // Without an address nothing is made.
        stage.browser.eval("document.querySelector('form.panel').noValidate = true").await;
        follow(&mut stage, "Create list").await;
        stage.browser.until("document.activeElement.name === 'targets'").await;
        stage.browser.write("ann@example.org\nben@example.org").await;
        follow(&mut stage, "Create list").await;
        let causes = stage.texts(".causes .item-title").await;
        assert_eq!(causes[0], "List cold-chain was missing and exists now: 6 messages.", "{causes:?}");
        follow(&mut stage, "Retry 6 messages…").await;
        assert_eq!(stage.texts("main .items .item-title").await.len(), 6, "each is named");
        stage.browser.follow(".confirm button").await;
        assert!(notice(&mut stage).await.contains("6 messages"), "{}", notice(&mut stage).await);
        bed.tick().await;
        assert_eq!(bed.sent().len(), 12, "six messages to two people");
        stage.open("/attention").await;
        assert_eq!(stage.texts(".causes .item-title").await.len(), 1, "the other cause is still there");
        stage.browser.told.retain(|message| {
            !message["params"]["entry"]["text"].as_str().unwrap_or_default().contains("status of 422")
        });
        bed.leaves_open("the other cause");
        stage.finish();
    });
}

#[test]
fn a_person_is_found_by_address_and_explained_in_a_browser() {
    on_sqlite(async |bed| {
        bed.leaves_open("what is suppressed is parked");
        let mut sent = bed.message("ann@example.org");
        sent.subject = "Pump 7: pressure low".into();
        bed.accept_one(sent).await;
        bed.tick().await;
        let kind = bed.notifications().await[0].channel.as_str().split(':').next().unwrap().to_owned();
        let block = SuppressionRow {
            channel_type: kind.clone(),
            address: "ann@example.org".into(),
            reason: SuppressionReason::Complaint.as_str().into(),
            source: "key:test".into(),
            detail: Some("Asked by phone".into()),
            since: bed.now().as_microsecond(),
            expires_at: None,
        };
        bed.engine.suppress(&Actor::named("test"), &block).await.unwrap();
        let mut stage = Stage::on(&bed).await;
        stage.sign_in().await;
        stage.browser.press_with_control("k").await;
        stage.browser.until("document.activeElement.id === 'palette-q'").await;
        stage.browser.write("ann@example.org").await;
        stage
            .browser
            .until("document.querySelector('#palette [aria-selected=true]')?.textContent.includes('Everything to ann@example.org')")
            .await;
        stage.browser.enter().await;
        stage.browser.until("location.pathname === '/recipients'").await;
        let page = stage.texts("main").await.join(" ");
        assert!(page.contains(&format!("No {kind} messages")) && page.contains("Asked by phone"), "{page}");
        assert_eq!(stage.texts("tr[data-row] td.subject a").await, ["Pump 7: pressure low"]);
        stage.browser.follow("tr[data-row] td.subject a").await;
        assert!(stage.texts(".timeline-title").await.len() > 1, "what became of it");
        stage.finish();
    });
}

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
        stage.browser.eval("document.querySelector('[name=reach]').value = 'some'").await;
        fill(&mut stage, "businessUnits", "nowhere").await;
        follow(&mut stage, "Invite").await;
        stage.browser.until("document.activeElement.name === 'businessUnits'").await;
        assert_eq!(
            stage.browser.eval("document.querySelector('[name=email]').value").await,
            "ada@example.org"
        );
        fill(&mut stage, "businessUnits", "nz").await;
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
        stage.browser.told.retain(|message| {
            !message["params"]["entry"]["text"].as_str().unwrap_or_default().contains("status of 422")
        });
        bed.leaves_open("parked");
        stage.finish();
    });
}
