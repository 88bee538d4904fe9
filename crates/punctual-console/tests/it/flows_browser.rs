//! A user is invited with a role for one business unit, by clicks and keys alone.
//!
//! On SQLite alone: the browser sees no database.

use serde_json::json;

use crate::{
    browser::{Stage, on_sqlite},
    settings_browser::{fill, follow},
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
        stage.finish();
    });
}
