//! Single sign-on in a real browser against a certified provider: set up on its page, then the whole way of a person by
//! clicks. Cookies that cross hosts, redirects after forms and what the policy of a page lets through are the browser's own.
//!
//! On SQLite alone: the browser sees no database, and the steps are tested on both in `oidc_provider.rs`.

use std::sync::Arc;

use punctual_engine::commands::SignOns;
use punctual_store::users;
use serde_json::json;

use crate::{
    browser::{Stage, on_sqlite},
    oidc_provider::Provider,
    sign_on::Opener,
};

const PERSON: &str = "ops@example.org";

impl Stage {
    /// Writes into a field as a person would, over what is there.
    async fn fill(&mut self, selector: &str, text: &str) {
        self.browser.click(selector).await;
        self.browser.eval(&format!("document.querySelector({selector:?}).select()")).await;
        self.browser.write(text).await;
    }

    /// From the sign-in page to the provider, where this person says who they are and that Punctual may know it.
    async fn sign_on(&mut self, person: &str) {
        self.browser.click("a.sign-on").await;
        self.browser.until("document.querySelector('input[name=login]')").await;
        self.fill("input[name=login]", person).await;
        self.fill("input[name=password]", "any").await;
        self.browser.click("button.login-submit").await;
        self.browser.until("document.querySelector('input[value=consent]')").await;
        self.browser.click("button.login-submit").await;
    }
}

#[test]
fn t02_people_sign_in_and_out_by_clicks_with_a_provider_that_was_set_up_on_its_page() {
    on_sqlite(async |bed| {
        bed.has_unit("nz").await;
        let mut stage = Stage::with_sign_on(&bed, SignOns::new(None, Some(Arc::new(Opener)))).await;
        let provider = Provider::start(&stage.address);
        // A font of the provider's own pages, from a host that no test reaches.
        stage.browser.call("Network.setBlockedURLs", json!({ "urls": ["*googleapis*"] })).await;

        // An administrator sets it up.
        stage.sign_in().await;
        stage.open("/settings/sign-on").await;
        for (field, text) in [
            ("name", "Example ID"),
            ("issuer", &provider.issuer),
            ("clientId", "punctual"),
            ("clientSecret", "env:OIDC"),
            ("scopes", "openid email profile groups"),
            ("group-0", "ops"),
            ("units-0", "nz"),
        ] {
            stage.fill(&format!("[name={field}]"), text).await;
        }
        stage.browser.eval("document.querySelector('[name=role-0]').value = 'operator'").await;
        stage.browser.follow(".acts button.primary").await;
        assert_eq!(stage.texts(".notice").await, ["Saved. The sign-in page offers it now."]);
        stage.browser.follow("form[action='/sign-out'] button").await;

        // Somebody signs in: an account is made, with the role and the unit of their group.
        assert_eq!(stage.texts("a.sign-on").await, ["Sign in with Example ID"]);
        stage.sign_on(PERSON).await;
        stage.browser.until("document.querySelector('h1')?.textContent === 'Overview'").await;
        assert_eq!(stage.browser.eval("location.origin").await, *stage.address);
        let row = users::by_email(&mut bed.read().await.conn(), PERSON).await.unwrap().unwrap();
        assert_eq!((row.role.as_str(), row.business_units.as_deref()), ("operator", Some("[\"nz\"]")));
        stage.open("/account").await;
        assert_eq!(stage.texts(".sentence").await, [format!("{PERSON}, operator for nz.")]);
        assert_eq!(stage.texts("td .pill.good").await, ["this one"], "the session is listed with its device");
        // What is for administrators is not theirs.
        stage.open("/settings/sign-on").await;
        assert!(!stage.texts("h1").await.contains(&"Single sign-on".to_owned()));

        // Out here, and then at the provider.
        stage.open("/").await;
        stage.browser.follow("form[action='/sign-out'] button").await;
        assert!(stage.texts(".notice").await[0].starts_with("You are signed out here."));
        stage.browser.click("a.leave").await;
        stage.browser.until("document.querySelector('button[name=logout]')").await;
        stage.browser.click("button[name=logout]").await;
        stage.browser.until(&format!("location.href.startsWith('{}/sign-in')", stage.address)).await;
        stage.browser.until("document.querySelector('a.sign-on')").await;
        stage.open("/outbox").await;
        assert_eq!(stage.texts("h1").await, ["Sign in"], "the session is over");

        // Whose group has no role gets no account, in one sentence. The provider asks anew who they are.
        stage.sign_on("visitors@example.org").await;
        stage.browser.until("document.querySelector('#fault')").await;
        assert!(
            users::by_email(&mut bed.read().await.conn(), "visitors@example.org").await.unwrap().is_none()
        );
    });
}
