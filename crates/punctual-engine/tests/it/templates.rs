//! Templates are read when a message is sent, in the locale that fits best.

use punctual_engine::Actor;
use punctual_model::AttemptOutcome;
use punctual_testkit::{TestBed, on_both};
use serde_json::json;

on_both! {
    the_nearest_locale_is_used;
    a_template_changed_in_time_is_used;
    a_template_that_is_not_there_parks_the_message;
    a_value_that_is_not_given_parks_the_message_and_names_it;
    a_template_over_its_budget_parks_the_message;
}

async fn template(bed: &TestBed) {
    bed.template(
        "welcome",
        "en",
        json!({
            "en": { "subject": "Welcome {{ name }}", "body": "Hello {{ name }}" },
            "ar": { "subject": "مرحبا {{ name }}", "body": "أهلا {{ name }}", "html": "<p>{{ name }}</p>" },
        }),
    )
    .await;
}

async fn accept(bed: &TestBed, locale: Option<&str>, context: serde_json::Value) -> String {
    let mut new = bed.message("a@example.org");
    new.template = Some("welcome".into());
    new.locale = locale.map(str::to_owned);
    new.context = Some(context);
    bed.accept_one(new).await
}

async fn the_nearest_locale_is_used(bed: TestBed) {
    template(&bed).await;
    for (locale, subject) in [
        (Some("ar-IQ"), "مرحبا Ann"),
        (Some("ar"), "مرحبا Ann"),
        (Some("fr-FR"), "Welcome Ann"),
        (None, "Welcome Ann"),
    ] {
        accept(&bed, locale, json!({ "name": "Ann" })).await;
        assert_eq!(bed.tick().await.deliveries.delivered, 1);
        assert_eq!(bed.sent().last().unwrap().subject, subject, "{locale:?}");
    }
    accept(&bed, Some("ar"), json!({ "name": "<b>" })).await;
    bed.tick().await;
    assert_eq!(bed.sent().last().unwrap().html.as_deref(), Some("<p>&lt;b&gt;</p>"), "html is escaped");
}

async fn a_template_changed_in_time_is_used(bed: TestBed) {
    template(&bed).await;
    accept(&bed, None, json!({ "name": "Ann" })).await;
    bed.template("welcome", "en", json!({ "en": { "subject": "Hi {{ name }}", "body": "-" } })).await;
    bed.tick().await;
    assert_eq!(bed.sent()[0].subject, "Hi Ann");
}

async fn parked_because(bed: &TestBed, id: &str, reason: &str, names: &str) {
    assert_eq!(bed.tick().await.deliveries.parked, 1);
    let row = bed.notification(id).await;
    assert_eq!(row.reason_code.as_deref(), Some(reason), "{:?}", row.last_error);
    assert!(row.last_error.as_deref().unwrap_or_default().contains(names), "{:?}", row.last_error);
    assert!(bed.sent().is_empty());
    let attempts = bed.attempts(id).await;
    assert!(
        attempts.iter().all(|one| one.outcome.map(AttemptOutcome::as_str) == Some("permanent")),
        "no intent stays open"
    );
}

async fn a_template_that_is_not_there_parks_the_message(bed: TestBed) {
    let id = accept(&bed, None, json!({})).await;
    parked_because(&bed, &id, "template-unusable", "welcome").await;
    template(&bed).await;
    bed.engine.retry_notification(&Actor::named("ann"), &id, None).await.unwrap();
    parked_because(&bed, &id, "template-unknown-variable", "name").await;
}

async fn a_value_that_is_not_given_parks_the_message_and_names_it(bed: TestBed) {
    template(&bed).await;
    let id = accept(&bed, None, json!({ "nam": "Ann" })).await;
    parked_because(&bed, &id, "template-unknown-variable", "name").await;
}

async fn a_template_over_its_budget_parks_the_message(bed: TestBed) {
    let endless = "{% for a in range(1000) %}{% for b in range(1000) %}{{ a }}{% endfor %}{% endfor %}";
    bed.template("welcome", "en", json!({ "en": { "subject": "x", "body": endless } })).await;
    let id = accept(&bed, None, json!({})).await;
    parked_because(&bed, &id, "template-limit", "").await;
}
