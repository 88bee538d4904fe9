//! Texts that are written into definitions and requests: which are templates, which are not, and what was sent.

use punctual_testkit::{TestBed, on_both};
use serde_json::{Value, json};

use crate::{
    client::{Client, Reply},
    reminders::{first_aid, put_source, setting},
    reports::{REPORT, weekly},
    surveys::{csi_gr, instance, published, visit},
};

on_both! {
    the_texts_of_a_reminder_are_templates_and_values_stay_values;
    the_invitation_of_a_survey_is_a_template;
    the_subject_of_a_report_is_a_template;
    the_texts_of_a_rule_are_templates_and_come_before_that_of_the_topic;
    a_text_that_is_no_template_is_refused_with_its_place_and_what_is_wrong;
    a_text_from_before_goes_on_as_it_is_and_does_not_stand_in_the_way;
    texts_of_a_request_are_literal_unless_values_are_given;
    what_was_sent_is_shown_as_the_template_was_then;
}

/// What was sent last: subject, body, HTML.
fn last(bed: &TestBed) -> (String, String, Option<String>) {
    let sent = bed.sent();
    let sent = sent.last().unwrap();
    (sent.subject.clone(), sent.body.clone(), sent.html.clone())
}

fn named(refused: &Value) -> Vec<(&str, &str)> {
    let errors = refused["errors"].as_array().unwrap();
    errors.iter().map(|one| (one["pointer"].as_str().unwrap(), one["code"].as_str().unwrap())).collect()
}

async fn the_texts_of_a_reminder_are_templates_and_values_stay_values(bed: TestBed) {
    let client = Client::new(&bed).await;
    let body = first_aid(|body| {
        body["date"]["offsetsDays"] = json!([7]);
        body["delivery"]["subject"] = json!("{{ state.holder }}: {{ reminder.offsetDays }} days");
        body["delivery"]["body"] = json!("{{ holder }} until {{ state.expiresOn|date(\"%d.%m.%Y\") }}");
        body["delivery"]["html"] = json!("<b>{{ state.holder }}</b>");
    });
    setting(&client, body).await;
    let state = json!({ "kind": "first-aid", "expiresOn": "2026-06-20", "holder": "{{ 7*7 }} <i>" });
    put_source(&client, "document/42", json!({ "state": state })).await;
    client.advance("40d").await;
    let expected = (
        "{{ 7*7 }} <i>: 7 days".to_owned(),
        "{{ 7*7 }} <i> until 20.06.2026".to_owned(),
        Some("<b>{{ 7*7 }} &lt;i&gt;</b>".to_owned()),
    );
    assert_eq!(last(&bed), expected);
    // No rendered text is stored: the row has the texts of the definition and the values.
    let row = bed.notifications().await.remove(0);
    assert_eq!(row.subject, "{{ state.holder }}: {{ reminder.offsetDays }} days");
    let seen = client.get(&format!("/api/v1/notifications/{}", row.id)).await.expect(200);
    assert_eq!(
        (&seen["content"]["basis"], &seen["content"]["subject"]),
        (&json!("stored"), &json!(expected.0))
    );
    assert_eq!(seen["content"]["html"], json!(expected.2));
    // A field that this source lacks: it is parked by itself and says which.
    put_source(
        &client,
        "document/43",
        json!({ "state": { "kind": "first-aid", "expiresOn": "2026-08-20" } }),
    )
    .await;
    client.advance("60d").await;
    let rows = bed.notifications().await;
    let parked = rows.iter().find(|row| row.reason_code.is_some()).unwrap();
    assert_eq!(parked.reason_code.as_deref(), Some("template-unknown-variable"));
    assert!(parked.last_error.as_deref().unwrap().contains("holder"), "{:?}", parked.last_error);
}

async fn the_invitation_of_a_survey_is_a_template(bed: TestBed) {
    let client = Client::new(&bed).await;
    let mut schema = csi_gr();
    schema["invitation"] =
        json!({ "en": "Dear {{ candidate.CustomerName }},", "ar": "{{ recipient.customerRef }}" });
    published(&client, schema).await;
    let mut event = visit("1");
    event["recipient"]["locale"] = json!("en");
    event["payload"]["CustomerName"] = json!("{{ surveyUrl }}");
    let id = instance(&client, event).await;
    client.advance("1m").await;
    let (subject, body, _) = last(&bed);
    assert_eq!(subject, "How was your visit?");
    let link = body.strip_prefix("Dear {{ surveyUrl }},\n\n").unwrap_or_else(|| panic!("{body}"));
    assert!(link.contains(&id) && link.ends_with('\n'), "{body}");
    bed.leaves_open("a reminder is planned");
}

async fn the_subject_of_a_report_is_a_template(bed: TestBed) {
    let client = crate::reports::client(&bed).await;
    let body = weekly(|body| body["subject"] = json!("{{ subscription.name }} of {{ period.label }}"));
    crate::reports::subscribe(&client, body).await;
    client.advance("8d").await;
    let (subject, text, html) = last(&bed);
    assert!(subject.starts_with("Weekly deliveries of 20"), "{subject}");
    assert!(!text.is_empty() && html.is_some());
}

async fn the_texts_of_a_rule_are_templates_and_come_before_that_of_the_topic(bed: TestBed) {
    let client = Client::new(&bed).await;
    let ann = json!({ "name": "Ann", "email": "ann@b.example", "timeZone": "UTC" });
    client.put("/api/v1/operations/people/ann", ann).await.expect(200);
    let of_topic =
        json!({ "defaultLocale": "en", "variants": { "en": { "subject": "Of the topic", "body": "T" } } });
    client.put("/api/v1/templates/operations.event.start", of_topic).await.expect(200);
    let message = json!({ "subject": "Soon: {{ title }}", "html": "<b>{{ title }}</b> {{ kind }}" });
    let rule = json!({ "type": "relative", "anchor": "start", "offset": "-1h" });
    // An organisation gives its texts to new events.
    let choir = json!({ "name": "Choir", "rules": [{ "rule": rule, "message": message }] });
    let kept = client.put("/api/v1/operations/organisations/choir", choir).await.expect(200);
    assert_eq!(kept["rules"][0]["message"], message);
    let made = async |title: &str| {
        let body = json!({ "title": title, "startDate": bed.after(7_200).to_string(), "creator": "ann", "organisation": "choir" });
        let made = client.post("/api/v1/operations/events", body).await.expect(201);
        assert_eq!(made["rules"][0]["message"], message, "{made}");
        (made["id"].clone(), made["rules"][0]["id"].as_str().unwrap().to_owned())
    };
    let title = "{{ 7*7 }} <i>";
    let (event, rule_id) = made(title).await;
    client.advance("70m").await;
    let (subject, body, html) = last(&bed);
    assert_eq!(subject, format!("Soon: {title}"), "a value never becomes a template");
    assert!(body.starts_with(&format!("{title} starts ")), "what is left out is said as usual: {body}");
    assert_eq!(html.as_deref(), Some("<b>{{ 7*7 }} &lt;i&gt;</b> start"));
    // What is wrong is refused with its place, and nothing is stored.
    let path = format!("/api/v1/operations/rules/{rule_id}");
    let bad = json!({ "subject": "{{ titel }}", "body": "B" });
    let refused =
        client.patch(&path, json!({ "message": bad })).await.refused(422, "template_unknown_variable");
    assert_eq!(named(&refused), [("/message/subject", "template_unknown_variable")]);
    let new = json!({ "subjectType": "event", "subjectId": event, "message": { "body": "{{" },
        "rule": { "type": "relative", "anchor": "start", "offset": "+1h" } });
    let refused = client.post("/api/v1/operations/rules", new).await.refused(422, "template_syntax");
    assert_eq!(named(&refused), [("/message/body", "template_syntax")]);
    let wrong = json!({ "name": "Choir", "rules": [{ "rule": rule, "message": bad }] });
    let refused = client
        .put("/api/v1/operations/organisations/choir", wrong)
        .await
        .refused(422, "template_unknown_variable");
    assert_eq!(named(&refused), [("/rules/0/message/subject", "template_unknown_variable")]);
    assert_eq!(client.get(&path).await.expect(200)["message"], message);
    // Without texts of its own the topic's template is used.
    let (_, rule_id) = made("Plain").await;
    let path = format!("/api/v1/operations/rules/{rule_id}");
    let changed = client.patch(&path, json!({ "message": null })).await.expect(200);
    assert!(changed.get("message").is_none(), "{changed}");
    client.advance("70m").await;
    assert_eq!(last(&bed).0, "Of the topic");
}

async fn a_text_that_is_no_template_is_refused_with_its_place_and_what_is_wrong(bed: TestBed) {
    let client = Client::new(&bed).await;
    let refused = |reply: Reply, code: &str| reply.refused(422, code);
    let body = first_aid(|body| {
        body["delivery"]["subject"] = json!("Dear {{ state.name");
        body["delivery"]["html"] = json!("{{ reminder.dayz }}");
    });
    let said = client.post("/api/v1/reminder-settings", body).await.expect(422);
    let expected =
        [("/delivery/subject", "template_syntax"), ("/delivery/html", "template_unknown_variable")];
    assert_eq!(named(&said), expected, "{said}");
    let detail = said["errors"][1]["detail"].as_str().unwrap();
    assert!(detail.contains("`reminder.dayz`") && detail.contains("`reminder.offsetDays`"), "{detail}");
    assert!(
        client.get("/api/v1/reminder-settings").await.expect(200)["items"].as_array().unwrap().is_empty()
    );

    let mut schema = csi_gr();
    schema["invitation"] = json!({ "en": "Dear {{ candidat.name }}" });
    schema["reminder"] = json!("Dear {% if %}");
    let made = client.post("/api/v1/surveys", json!({ "name": "S", "schema": schema })).await.expect(201);
    let said = client.post(&format!("/api/v1/surveys/{}/publish", made["id"]), json!({})).await.expect(422);
    let places: Vec<(&str, &str)> = named(&said);
    assert!(
        places
            .iter()
            .any(|(place, code)| place.ends_with("/invitation/en") && *code == "template_unknown_variable"),
        "{said}"
    );
    assert!(
        places.iter().any(|(place, code)| place.ends_with("/reminder") && *code == "template_syntax"),
        "{said}"
    );

    let body = weekly(|body| body["subject"] = json!("{{ period.lable }}"));
    let said = refused(client.post(REPORT, body).await, "template_unknown_variable");
    assert_eq!(Reply::pointers(&said), ["/subject"]);
}

async fn a_text_from_before_goes_on_as_it_is_and_does_not_stand_in_the_way(bed: TestBed) {
    let client = Client::new(&bed).await;
    let body = first_aid(|body| {
        body["date"]["offsetsDays"] = json!([7]);
        body["delivery"]["subject"] = json!("Expires: MARK");
    });
    let id = setting(&client, body).await;
    // Stored before texts were templates.
    // tidy-allow: a row as an earlier version left it
    bed.run_sql("UPDATE reminder_settings SET definition = REPLACE(definition, 'MARK', '{{ soon')")
        .await
        .unwrap();
    let place = format!("/api/v1/reminder-settings/{id}");
    client.patch(&place, json!({ "name": "First aid of all" })).await.expect(200);
    put_source(
        &client,
        "document/42",
        json!({ "state": { "kind": "first-aid", "expiresOn": "2026-06-20" } }),
    )
    .await;
    client.advance("40d").await;
    assert_eq!(last(&bed).0, "Expires: {{ soon");
    let delivery = json!({ "channel": "email:default", "subject": "Other: {{ soon" });
    client.patch(&place, json!({ "delivery": delivery })).await.refused(422, "template_syntax");
}

async fn texts_of_a_request_are_literal_unless_values_are_given(bed: TestBed) {
    let client = Client::new(&bed).await;
    let mut body = json!({ "targets": ["someone"], "channel": "memory:default", "subject": "{{ name }}",
        "body": "{{ 7*7 }}\n", "html": "<p>{{ name }}</p>" });
    client.post("/api/v1/notifications", body.clone()).await.expect(201);
    client.advance("1m").await;
    assert_eq!(last(&bed), ("{{ name }}".into(), "{{ 7*7 }}\n".into(), Some("<p>{{ name }}</p>".into())));
    body["context"] = json!({ "name": "{{ 7*7 }} & co" });
    client.post("/api/v1/notifications", body.clone()).await.expect(201);
    client.advance("1m").await;
    let expected = ("{{ 7*7 }} & co".into(), "49".into(), Some("<p>{{ 7*7 }} &amp; co</p>".into()));
    assert_eq!(last(&bed), expected);
    body["sendAt"] = json!(bed.after(3_600));
    client.post("/api/v1/messages", body.clone()).await.expect(201);
    client.advance("2h").await;
    assert_eq!(last(&bed), expected);
    body["body"] = json!("{{ name");
    let said = client.post("/api/v1/messages", body).await.refused(422, "template_syntax");
    assert_eq!(Reply::pointers(&said), ["/body"]);
}

async fn what_was_sent_is_shown_as_the_template_was_then(bed: TestBed) {
    let client = Client::new(&bed).await;
    let template = |text: &str| json!({ "defaultLocale": "en", "variants": { "en": { "subject": text, "body": format!("{text} {{{{ name }}}}") } } });
    client.put("/api/v1/templates/welcome", template("First")).await.expect(200);
    let body = json!({ "targets": ["someone"], "channel": "memory:default", "template": "welcome",
        "context": { "name": "Ann" } });
    let id = client.post("/api/v1/notifications", body.clone()).await.expect(201)["id"].clone();
    let place = format!("/api/v1/notifications/{}", id.as_str().unwrap());
    let before = client.get(&place).await.expect(200)["content"].clone();
    assert_eq!((&before["basis"], &before["body"]), (&json!("now"), &json!("First Ann")), "{before}");
    client.advance("1h").await;
    client.put("/api/v1/templates/welcome", template("Second")).await.expect(200);
    client.advance("1h").await;
    let seen = client.get(&place).await.expect(200);
    assert_eq!(
        seen["content"],
        json!({ "basis": "template", "subject": "First", "body": "First Ann", "html": null, "templateVersion": 1, "note": null })
    );
    let listed = client.get("/api/v1/notifications").await.expect(200);
    assert!(listed["items"][0].get("content").is_none(), "lists do not render");
    // The template is gone, and what it said then is still known.
    client.delete("/api/v1/templates/welcome").await.expect(204);
    assert_eq!(client.get(&place).await.expect(200)["content"]["body"], "First Ann");
    // tidy-allow: as a purge leaves it
    bed.run_sql("DELETE FROM template_versions").await.unwrap();
    let gone = client.get(&place).await.expect(200)["content"].clone();
    assert_eq!(
        (&gone["basis"], &gone["subject"], &gone["body"]),
        (&json!("gone"), &json!(null), &json!(null))
    );
    assert!(gone["note"].as_str().unwrap().contains("not kept any more"), "{gone}");
}
