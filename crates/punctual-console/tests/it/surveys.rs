//! The pages about surveys, and the public page without a browser, on both databases.

use axum::http::Method;
use punctual_engine::Actor;
use punctual_store::surveys::SurveyDraft;
use punctual_testkit::{TestBed, on_both};
use punctual_wire::keys::Scope;
use punctual_workflows::surveys::{
    Catalogue,
    answer::{Submission, submit},
    author,
    ingest::{Asked, Item, Outcome, ingest},
};
use serde_json::{Value, json};

use crate::client::{Client, Reply, attribute, encoded, rows};

on_both! {
    surveys_are_listed_with_their_rate_and_results;
    a_link_has_its_timeline;
    an_author_writes_checks_and_publishes;
    the_lab_shows_what_a_recipe_takes_for_the_same;
    s1_1_a_campaign_is_planned_and_sent_from_the_survey_s_page;
    a_campaign_says_at_the_field_what_is_wrong_and_keeps_what_was_typed;
    the_public_page_works_without_script;
    the_public_page_asks_more_where_answers_lead_there;
    the_public_page_says_what_is_wrong_beside_the_question;
    links_that_lead_nowhere_look_the_same;
    too_many_requests_are_told_so;
}

pub fn schema() -> Value {
    json!({
        "title": { "en": "How was your visit?", "ar": "كيف كانت زيارتك؟" },
        "intro": { "en": "Three short questions.", "ar": "ثلاثة أسئلة قصيرة." },
        "organisation": { "en": "Al-Rafidain Motors", "ar": "الرافدين للسيارات" },
        "colour": "#0b5f8a",
        "questions": [
            { "id": "rate", "type": "nps", "required": true, "text": { "en": "How likely are you to recommend us?", "ar": "ما مدى احتمال أن توصي بنا؟" } },
            { "id": "complaint", "type": "singleChoice", "required": true, "text": { "en": "Do you have a complaint?", "ar": "هل لديك شكوى؟" },
              "options": [{ "value": "Yes", "text": { "en": "Yes", "ar": "نعم" } }, { "value": "No", "text": { "en": "No", "ar": "لا" } }] },
            { "id": "what", "type": "text", "required": true, "showIf": { "questionId": "complaint", "op": "==", "value": "Yes" },
              "text": { "en": "What went wrong?", "ar": "ما الذي حدث؟" } },
            { "id": "when", "type": "date", "text": { "en": "When was it?", "ar": "متى كان ذلك؟" } },
            { "id": "parts", "type": "multiChoice", "text": { "en": "What was good?", "ar": "ما الذي كان جيداً؟" }, "options": ["People", "Place"] }
        ],
        "triggers": [{ "id": "visit", "eventKind": "visit", "dedupRecipe": ["templateId", "recipient.address", "candidate.dealerId", "candidate.wip"],
            "schedule": { "initialDelay": "0d", "reminders": ["1d"] }, "channel": "memory:default" }]
    })
}

pub async fn survey(bed: &TestBed, schema: Value) -> i64 {
    let draft = SurveyDraft {
        name: "CSI-GR".into(),
        integration_id: None,
        business_unit: None,
        draft: schema.to_string(),
    };
    let row = author::create(&bed.engine, &Actor::named("key:test"), &draft).await.unwrap();
    author::publish(&bed.engine, &Actor::named("key:test"), row.id).await.unwrap();
    row.id
}

/// Tells one event; returns the public id of its instance.
pub async fn asked(bed: &TestBed, wip: &str, locale: &str) -> String {
    let item = Item {
        payload: json!({ "wip": wip, "dealerId": "1" }).as_object().unwrap().clone(),
        address: "+964 770 000 0001".into(),
        locale: Some(locale.into()),
        customer_ref: None,
        occurred_at: None,
    };
    let made =
        ingest(&bed.engine, &Catalogue::default(), &Asked::Kind("visit"), None, &[item]).await.unwrap();
    match &made[0] {
        Outcome::Matched(made) => made[0].public_id.clone(),
        Outcome::NoMatch(why) => panic!("{why:?}"),
    }
}

async fn answered(bed: &TestBed, id: &str, answers: Value) {
    let submission = Submission { answers: answers.as_object().unwrap().clone(), ..Submission::default() };
    submit(&bed.engine, &Catalogue::default(), id, &submission).await.unwrap();
}

async fn surveys_are_listed_with_their_rate_and_results(bed: TestBed) {
    let client = Client::admin(&bed).await;
    assert!(client.page("/surveys").await.contains("No surveys yet"));
    let survey = survey(&bed, schema()).await;
    assert!(client.page(&format!("/surveys/{survey}")).await.contains("Nobody has been asked yet."));
    let mut ids = Vec::new();
    for n in 0..4 {
        ids.push(asked(&bed, &n.to_string(), "en").await);
    }
    bed.tick().await;
    answered(&bed, &ids[0], json!({ "rate": 10, "complaint": "No", "parts": ["People"] })).await;
    answered(&bed, &ids[1], json!({ "rate": 3, "complaint": "Yes", "what": "<b>late</b>" })).await;
    let list = client.page("/surveys").await;
    assert!(list.contains("1 survey, 4 asked, 2 answered.") && list.contains("50 %"), "{list}");
    assert_eq!(rows(&list), [survey.to_string()]);
    let page = client.page(&format!("/surveys/{survey}")).await;
    for told in ["4 asked, 2 answered: 50 %.", "NPS 0: 1 promoters", "&#60;b&#62;late", "2 answers", "People"]
    {
        assert!(page.contains(told), "{told}: {page}");
    }
    let filtered = client.page(&format!("/surveys/{survey}?field=wip&value=0")).await;
    assert!(filtered.contains("1 asked, 1 answered: 100 %."), "{filtered}");
    assert!(
        filtered.contains(&format!("/surveys/{survey}/results.xlsx?field=wip&#38;value=0")),
        "{filtered}"
    );
    let csv = client.get(&format!("/surveys/{survey}/results.csv?field=wip&value=0")).await;
    assert_eq!((csv.status, csv.text.lines().count()), (200, 2), "{}", csv.text);
    let sheet = client.get(&format!("/surveys/{survey}/results.xlsx")).await;
    assert!(sheet.status == 200 && sheet.text.starts_with("PK"), "{}", sheet.status);
    client.get("/surveys/77/results.xlsx").await.refused(404, "not_found");
    client.get("/surveys/77").await.refused(404, "not_found");
    client.nobody().get("/surveys").await.leads_to("/sign-in?next=%2Fsurveys");
    bed.leaves_open("reminders are planned");
}

async fn a_link_has_its_timeline(bed: TestBed) {
    let client = Client::admin(&bed).await;
    let survey = survey(&bed, schema()).await;
    let id = asked(&bed, "1", "en").await;
    bed.tick().await;
    let path = format!("/surveys/{survey}/instances");
    let list = client.page(&path).await;
    assert_eq!(rows(&list), std::slice::from_ref(&id));
    assert!(rows(&client.page(&format!("{path}?status=expired")).await).is_empty());
    let page = client.page(&format!("{path}/{id}")).await;
    for told in [
        "The event happened",
        "First message, attempt 1: arrived",
        "The next message is planned",
        "Last message just now, the next one in 1 d",
    ] {
        assert!(page.contains(told), "{told}: {page}");
    }
    bed.wait(60);
    answered(&bed, &id, json!({ "rate": 10, "complaint": "No" })).await;
    let page = client.page(&format!("{path}/{id}")).await;
    for told in ["Answered just now.", "Event response-completed", "0 subscribers, dispatched"] {
        assert!(page.contains(told), "{told}: {page}");
    }
    client.get(&format!("{path}/none")).await.refused(404, "not_found");
}

async fn an_author_writes_checks_and_publishes(bed: TestBed) {
    let client = Client::admin(&bed).await;
    let editor = client.page("/surveys/new").await;
    assert!(editor.contains("Save and publish") && editor.contains("&#34;dedupRecipe&#34;"), "{editor}");
    let mut bad = schema();
    bad["triggers"][0]["schedule"]["initialDelay"] = json!("soon");
    let text = bad.to_string();
    let fields = [("name", "CSI"), ("schema", text.as_str()), ("then", "publish")];
    let refused = client.act("/surveys/new", &fields).await;
    assert!(
        refused.text.contains("/triggers/0/schedule/initialDelay")
            && refused.text.contains("duration_invalid"),
        "{}",
        refused.text
    );
    let broken = client.act("/surveys/new", &[("name", "CSI"), ("schema", "{"), ("then", "save")]).await;
    assert!(broken.text.contains("The schema is not JSON"), "{}", broken.text);
    let mut good = schema();
    good["triggers"][0]["dedupRecipe"] = json!(["templateId", "candidate.wip"]);
    let text = good.to_string();
    let done = client
        .act("/surveys/1/edit", &[("name", "CSI"), ("schema", text.as_str()), ("then", "publish")])
        .await;
    done.leads_to("/surveys/1/edit?done=published");
    let page = client.page("/surveys/1/edit?done=published").await;
    assert!(page.contains("Published as version 1.") && page.contains("recipe_no_recipient"), "{page}");
    let preview = client.act("/surveys/preview", &[("schema", text.as_str()), ("language", "ar")]).await;
    assert!(
        preview.text.contains("dir=\"rtl\"") && preview.text.contains("كيف كانت زيارتك؟"),
        "{}",
        preview.text
    );
    assert!(preview.headers["content-security-policy"].to_str().unwrap().contains("form-action 'none'"));
    let preview = client.act("/surveys/preview", &[("schema", "{\"title\": 1}")]).await;
    assert!(preview.text.contains("Not yet a survey"), "{}", preview.text);
    let reader = client.with_key(&[Scope::Read], None).await;
    reader.get("/surveys/1/edit").await.refused(403, "scope_missing");
    reader.act("/surveys/1/edit", &fields).await.refused(403, "scope_missing");
    assert!(!reader.page("/surveys").await.contains("New survey"));
    client.post("/surveys/1/edit", &fields).await.refused(403, "csrf");
}

async fn the_lab_shows_what_a_recipe_takes_for_the_same(bed: TestBed) {
    let client = Client::admin(&bed).await;
    let survey = survey(&bed, schema()).await;
    for n in 0..12 {
        asked(&bed, &n.to_string(), "en").await;
    }
    let own = client.page(&format!("/surveys/{survey}/lab")).await;
    assert!(own.contains("Of the last 12 events, 0 would be duplicates."), "{own}");
    assert!(
        own.contains("<span class=\"mono\">candidate.wip</span> had another value in every event"),
        "{own}"
    );
    let narrow = client.page(&format!("/surveys/{survey}/lab?recipe=templateId+candidate.dealerId")).await;
    assert!(narrow.contains("11 would be duplicates") && narrow.contains("candidate.dealerId=1"), "{narrow}");
    bed.leaves_open("messages were not sent");
}

async fn s1_1_a_campaign_is_planned_and_sent_from_the_survey_s_page(bed: TestBed) {
    let client = Client::admin(&bed).await;
    let survey = survey(&bed, schema()).await;
    let place = format!("/surveys/{survey}/send");
    assert!(client.page(&format!("/surveys/{survey}")).await.contains(&format!("href=\"{place}\"")));
    assert!(client.page(&place).await.contains("visit over memory:default"));
    bed.list("visitors", "memory:default", &["ann", "ben", "Ann"]).await;
    // A list: the plan first, and nothing is written.
    let list = [("trigger", "visit"), ("to", "list"), ("list", "visitors"), ("then", "plan")];
    let plan = client.act(&place, &list).await.text;
    assert!(plan.contains("Send to 3") && plan.contains("Gets the survey"), "{plan}");
    assert!(bed.sent().is_empty() && bed.notifications().await.is_empty());
    bed.run_for(60).await;
    assert!(bed.sent().is_empty(), "a plan sends nothing");
    let send =
        [("trigger", "visit"), ("to", "list"), ("list", "visitors"), ("then", "send"), ("planned", "3")];
    client.act(&place, &send).await.leads_to(&format!("/surveys/{survey}/instances?sent=3"));
    assert!(client.page(&format!("/surveys/{survey}/instances?sent=3")).await.contains("goes to 3 people"));
    bed.run_for(60).await;
    let mut sent_to = bed.sent_to();
    sent_to.sort();
    assert_eq!(sent_to, ["Ann", "ann", "ben"]);
    // Lines of a file: those who were asked, those named twice and those that are no lines are left out, by name.
    let rows = "recipient.address,wip,dealerId\nann,,\ncarl,7,1\ncarl,7,1\n,8,1\ndora\n";
    let file = [("trigger", "visit"), ("to", "rows"), ("rows", rows), ("then", "plan")];
    let plan = client.act(&place, &file).await.text;
    for said in ["Send to 1", "the same as line 3", "2 columns", "dora"].iter().take(2) {
        assert!(plan.contains(said), "{said}: {plan}");
    }
    assert!(plan.contains("It has 1 columns, the first line has 3."), "{plan}");
    assert!(plan.contains("carl,7,1"), "what was typed is kept: {plan}");
    // One who was planned for three finds another plan, and nothing is sent.
    let stale = [("trigger", "visit"), ("to", "rows"), ("rows", rows), ("then", "send"), ("planned", "3")];
    let again = client.act(&place, &stale).await.text;
    assert!(again.contains("The plan has changed since it was shown"), "{again}");
    bed.run_for(60).await;
    assert_eq!(bed.sent().len(), 3);
    let one =
        [("trigger", "visit"), ("to", "address"), ("address", "eve"), ("then", "send"), ("planned", "1")];
    client.act(&place, &one).await.leads_to(&format!("/surveys/{survey}/instances?sent=1"));
    // The same again is asked before.
    let again = client.act(&place, &one).await.text;
    assert!(
        again.contains("asked before, by the duplicate rules") && again.contains("Nobody would get it"),
        "{again}"
    );
    bed.leaves_open("reminders are planned");
}

async fn a_campaign_says_at_the_field_what_is_wrong_and_keeps_what_was_typed(bed: TestBed) {
    let client = Client::admin(&bed).await;
    let survey = survey(&bed, schema()).await;
    let place = format!("/surveys/{survey}/send");
    bed.list("phones", "sms:default", &["+491701234567"]).await;
    let cases: [(&[(&str, &str)], &str); 5] = [
        (&[("to", "list"), ("list", "nobody")], "There is no list `nobody`."),
        (&[("to", "list"), ("list", "phones")], "is for sms, and the trigger sends over `memory:default`"),
        (&[("to", "rows"), ("rows", "")], "Nobody is named."),
        (&[("to", "address"), ("address", "")], "Nobody is named."),
        (&[("list", "phones")], "Choose whom to send it to."),
    ];
    for (fields, said) in cases {
        let mut all = vec![("trigger", "visit"), ("then", "plan")];
        all.extend(fields);
        let page = client.act(&place, &all).await.text;
        let said = said.replace('`', "&#96;");
        assert!(page.contains(&said) || page.contains(&said.replace("&#96;", "`")), "{said}: {page}");
        assert!(page.contains("class=\"fault\"") && page.contains("role=\"alert\""), "{page}");
    }
    let typed =
        client.act(&place, &[("to", "list"), ("list", "nobody"), ("rows", "kept@b.example")]).await.text;
    assert!(typed.contains("value=\"nobody\"") && typed.contains("kept@b.example"), "{typed}");
    let reader = client.with_key(&[Scope::Read], None).await;
    reader.get(&place).await.refused(403, "scope_missing");
    reader.act(&place, &[("to", "list"), ("list", "phones")]).await.refused(403, "scope_missing");
    assert!(!reader.page(&format!("/surveys/{survey}")).await.contains(&place));
    let draft = SurveyDraft {
        name: "Draft".into(),
        integration_id: None,
        business_unit: None,
        draft: schema().to_string(),
    };
    let row = author::create(&bed.engine, &Actor::named("key:test"), &draft).await.unwrap();
    assert!(client.page(&format!("/surveys/{}/send", row.id)).await.contains("Nothing is published yet"));
}

/// Sends the public form as a browser without script does: every field that is on the page.
async fn send(client: &Client, id: &str, page: &str, fields: &[(&str, &str)]) -> Reply {
    let hidden = |name: &str| attribute(page, &format!("name=\"{name}\" value=\""));
    let (submission, lang, shown) = (hidden("submissionId"), hidden("lang"), hidden("shown"));
    let mut all =
        vec![("submissionId", submission.as_str()), ("lang", lang.as_str()), ("shown", shown.as_str())];
    all.extend(fields);
    client.send(Method::POST, &format!("/s/{id}"), &[], encoded(&all)).await
}

async fn the_public_page_works_without_script(bed: TestBed) {
    let client = Client::stranger(&bed).await;
    survey(&bed, schema()).await;
    let id = asked(&bed, "1", "ar-IQ").await;
    let reply = client.get(&format!("/s/{id}")).await;
    assert_eq!(reply.headers["x-robots-tag"], "noindex, nofollow");
    assert_eq!(reply.headers["referrer-policy"], "no-referrer");
    assert!(!reply.headers.contains_key("set-cookie"));
    let page = reply.text;
    for told in [
        "<html lang=\"ar\" dir=\"rtl\">",
        "كيف كانت زيارتك؟",
        "الرافدين للسيارات",
        "hidden disabled",
        "إرسال الإجابات",
        "?lang=en",
    ] {
        assert!(page.contains(told), "{told}: {page}");
    }
    assert!(!page.contains("http://") && !page.contains("style=\""), "{page}");
    let english = client.page(&format!("/s/{id}?lang=en")).await;
    assert!(
        english.contains("<html lang=\"en\" dir=\"ltr\">") && english.contains("Send answers"),
        "{english}"
    );
    let colours = client.get(&format!("/s/{id}/colours.css")).await;
    assert_eq!(colours.text, ":root { --own: #0b5f8a; }\n");
    let fields = [
        ("q.rate", "9"),
        ("q.complaint", "No"),
        ("q.when", "2026-05-01"),
        ("q.parts", "People"),
        ("q.parts", "Place"),
    ];
    let thanks = send(&client, &id, &english, &fields).await;
    assert_eq!(thanks.status, 200);
    assert!(
        thanks.text.contains("Thank you") && thanks.text.contains("Your answers have arrived."),
        "{}",
        thanks.text
    );
    // The same form again, as when somebody goes back and sends it again, is the same answer; another one is not.
    assert_eq!(send(&client, &id, &english, &fields).await.status, 200);
    let other = send(&client, &id, &page, &fields).await;
    assert_eq!(other.status, 409);
    assert!(client.page(&format!("/s/{id}?lang=en")).await.contains("Already answered"));
    bed.tick().await;
    assert!(bed.sent().is_empty(), "the message was stopped by the answer");
}

async fn the_public_page_asks_more_where_answers_lead_there(bed: TestBed) {
    let client = Client::stranger(&bed).await;
    survey(&bed, schema()).await;
    let id = asked(&bed, "1", "en").await;
    let page = client.page(&format!("/s/{id}")).await;
    let more = send(&client, &id, &page, &[("q.rate", "3"), ("q.complaint", "Yes")]).await;
    assert_eq!(more.status, 200);
    assert!(more.text.contains("Your answers lead to a few more questions."), "{}", more.text);
    assert!(more.text.contains("value=\"rate,complaint,what,when,parts\""), "{}", more.text);
    let missing = send(&client, &id, &more.text, &[("q.rate", "3"), ("q.complaint", "Yes")]).await;
    assert_eq!(missing.status, 422);
    assert!(missing.text.contains("id=\"e-what\">Please answer this question."), "{}", missing.text);
    // Taken back: the question is gone, and so is what was written there.
    let fields = [("q.rate", "3"), ("q.complaint", "No"), ("q.what", "Late")];
    assert!(send(&client, &id, &missing.text, &fields).await.text.contains("Thank you"));
    bed.tick().await;
}

async fn the_public_page_says_what_is_wrong_beside_the_question(bed: TestBed) {
    let client = Client::stranger(&bed).await;
    survey(&bed, schema()).await;
    let id = asked(&bed, "1", "en").await;
    let page = client.page(&format!("/s/{id}")).await;
    let refused =
        send(&client, &id, &page, &[("q.rate", "12"), ("q.complaint", "No"), ("q.when", "1.5.2026")]).await;
    assert_eq!(refused.status, 422);
    for told in [
        "role=\"alert\"",
        "id=\"e-rate\">The answer is 0 to 10.",
        "id=\"e-when\">The answer is a date",
        "value=\"No\" checked",
    ] {
        assert!(refused.text.contains(told), "{told}: {}", refused.text);
    }
    let arabic = client.page(&format!("/s/{id}?lang=ar")).await;
    let refused = send(&client, &id, &arabic, &[("q.rate", "12")]).await;
    assert!(
        refused.text.contains("هذه الإجابة غير ممكنة.") && refused.text.contains("يرجى الإجابة"),
        "{}",
        refused.text
    );
    bed.leaves_open("the message was not sent");
}

async fn links_that_lead_nowhere_look_the_same(bed: TestBed) {
    let client = Client::stranger(&bed).await;
    survey(&bed, schema()).await;
    let expired = asked(&bed, "1", "en").await;
    bed.run_for(40 * 86_400).await;
    let unknown = "8f3a1c4e-0000-4000-8000-000000000001".to_owned();
    let mut pages = Vec::new();
    for id in [expired, unknown] {
        let reply = client.get(&format!("/s/{id}")).await;
        assert_eq!(reply.status, 404);
        pages.push(reply.text);
        let sent = client.send(Method::POST, &format!("/s/{id}"), &[], encoded(&[("q.rate", "1")])).await;
        assert_eq!(sent.status, 404);
        pages.push(sent.text);
    }
    pages.dedup();
    assert_eq!(pages.len(), 1);
    assert!(pages[0].contains("This page is not here"));
    let arabic =
        client.send(Method::GET, "/s/none", &[("accept-language", "ar-IQ,ar;q=0.9")], String::new()).await;
    assert!(arabic.text.contains("dir=\"rtl\""), "{}", arabic.text);
}

async fn too_many_requests_are_told_so(bed: TestBed) {
    let client = Client::stranger(&bed).await;
    let mut statuses = Vec::new();
    for _ in 0..62 {
        statuses.push(client.get("/s/8f3a1c4e-0000-4000-8000-000000000001").await.status);
    }
    assert_eq!((statuses[59], statuses[60], statuses[61]), (404, 429, 429));
    assert_eq!(client.get("/s/another").await.status, 404);
}
