//! How long data is kept, set in the console: planned before it counts, never over what the configuration sets.

use punctual_engine::{Actor, RetentionSettings};
use punctual_store::retention::Window;
use punctual_testkit::{TestBed, TestBedBuilder, on_both};
use punctual_wire::keys::Scope;

use crate::client::{Client, attribute};

on_both! {
    a_shorter_time_is_planned_saved_and_followed;
    a_form_that_cannot_be_kept_says_why_and_keeps_what_was_typed;
    what_the_configuration_sets_is_read_only with fixed;
}

fn fixed(bed: TestBedBuilder) -> TestBedBuilder {
    bed.config(|config| {
        config.keep_for = std::time::Duration::from_secs(90 * 86_400);
        config.fixed_windows = vec![Window::Messages];
    })
}

const PAGE: &str = "/settings/retention";
const SAVE: &str = "/settings/retention/save";

/// The form as it is open now, with these fields in it.
async fn send(client: &Client, form: &str, fields: &[(&str, &str)]) -> crate::client::Reply {
    let version = attribute(form, "name=\"version\" value=\"");
    let base = attribute(form, "name=\"base\" value=\"").replace("&#34;", "\"");
    let planned = attribute(form, "name=\"planned\" value=\"").replace("&#34;", "\"");
    let own = [("known", "Retention"), ("as", "form"), ("version", &version), ("base", &base)];
    let all: Vec<(&str, &str)> =
        own.into_iter().chain([("planned", planned.as_str())]).chain(fields.iter().copied()).collect();
    client.act(SAVE, &all).await
}

async fn old_messages(bed: &TestBed) -> Client {
    for address in ["ann@example.org", "ben@example.org", "cora@example.org"] {
        bed.accept_to(&[address]).await;
    }
    bed.tick().await;
    bed.run_for(40 * 86_400).await;
    bed.accept_to(&["dan@example.org"]).await;
    bed.tick().await;
    Client::admin(bed).await
}

async fn a_shorter_time_is_planned_saved_and_followed(bed: TestBed) {
    let client = old_messages(&bed).await;
    let form = client.page(PAGE).await;
    assert!(
        form.contains("Days after the end; 365 days if empty.") && form.contains("; for good if empty."),
        "{form}"
    );
    let asked = [("/keepForDays", "30"), ("/keepAuditForDays", "10")];
    let plan = send(&client, &form, &asked).await;
    assert_eq!(plan.status, 200);
    for shown in ["<td>365 days</td><td>30 days</td><td>3 rows</td>", "<td>for good</td><td>10 days</td>"] {
        assert!(plan.text.contains(shown), "{shown}: {}", plan.text);
    }
    assert_eq!(bed.engine.retention_settings().await.unwrap(), RetentionSettings::default(), "only planned");
    // Another time than the planned one is planned again.
    let other = send(&client, &plan.text, &[("/keepForDays", "20")]).await;
    assert!(other.text.contains("<td>20 days</td>"), "{}", other.text);
    send(&client, &plan.text, &asked).await.leads_to("/settings/retention?done=saved");
    let page = client.page("/settings/retention?done=saved").await;
    assert!(page.contains("It applies from the next purge on.") && page.contains("value=\"30\""), "{page}");
    assert!(page.contains("Removed 30 days after its end"), "{page}");
    bed.engine.purge(bed.now()).await.unwrap();
    assert_eq!(bed.notifications().await.len(), 1);
    assert_eq!(bed.audit("retention", "settings").await, ["put"]);
}

async fn a_form_that_cannot_be_kept_says_why_and_keeps_what_was_typed(bed: TestBed) {
    let client = old_messages(&bed).await;
    let form = client.page(PAGE).await;
    for wrong in ["soon", "0", "99999"] {
        let refused = send(&client, &form, &[("/keepForDays", wrong), ("/keepWorkForDays", "60")]).await;
        assert_eq!(refused.status, 422, "{wrong}: {}", refused.text);
        assert!(refused.text.contains("Nothing was saved") && refused.text.contains("value=\"60\""));
        assert!(refused.text.contains(&format!("value=\"{wrong}\"")), "{}", refused.text);
    }
    // Somebody else is faster.
    let asked = [("/keepForDays", "30")];
    let plan = send(&client, &form, &asked).await;
    let other = RetentionSettings::default().with(Window::Messages, Some(200));
    bed.engine.save_retention(&Actor::named("somebody"), None, &other).await.unwrap();
    let stale = send(&client, &plan.text, &asked).await;
    assert_eq!(stale.status, 409, "{}", stale.text);
    assert!(
        stale.text.contains("is now <code>200</code>") && stale.text.contains("value=\"30\""),
        "{}",
        stale.text
    );
    assert_eq!(bed.engine.retention_settings().await.unwrap(), other);
    // Going on from there plans and saves it.
    let plan = send(&client, &stale.text, &asked).await;
    assert!(plan.text.contains("<td>200 days</td><td>30 days</td>"), "{}", plan.text);
    send(&client, &plan.text, &asked).await.leads_to("/settings/retention?done=saved");
    let reader = client.with_key(&[Scope::Read], None).await;
    assert!(!reader.page(PAGE).await.contains("Show what it would do"));
    assert_eq!(reader.act(SAVE, &asked).await.status, 403);
}

async fn what_the_configuration_sets_is_read_only(bed: TestBed) {
    let client = old_messages(&bed).await;
    let form = client.page(PAGE).await;
    assert!(
        form.contains("Set by the configuration of the server") && form.contains("<code>keep_for</code>")
    );
    assert!(form.contains("<p class=\"crumb\"><a href=\"/settings\">Settings</a></p>"), "{form}");
    assert!(!form.contains("name=\"/keepForDays\"") && form.contains("name=\"/keepFilesForDays\""), "{form}");
    let settings = RetentionSettings::default().with(Window::Messages, Some(30));
    assert!(bed.engine.save_retention(&Actor::named("test"), None, &settings).await.is_err());
    // What was stored before the configuration said it does not count.
    let mut tx = bed.begin().await;
    punctual_store::facts::put(&mut tx.conn(), bed.now(), "retention", "{\"keep_for\":1}").await.unwrap();
    tx.commit().await.unwrap();
    bed.engine.purge(bed.now()).await.unwrap();
    assert_eq!(bed.notifications().await.len(), 4, "90 days are not over");
}
