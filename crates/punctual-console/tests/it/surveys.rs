//! The pages about surveys, and the public page without a browser, on both databases.

use axum::http::Method;
use punctual_engine::Actor;
use punctual_model::Reach;
use punctual_store::surveys::{self, SurveyDraft};
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
    a_survey_is_built_without_json;
    the_lab_shows_what_a_recipe_takes_for_the_same;
    s1_1_a_campaign_is_planned_and_sent_from_the_survey_s_page;
    a_campaign_says_at_the_field_what_is_wrong_and_keeps_what_was_typed;
    the_public_page_works_without_script;
    the_public_page_asks_more_where_answers_lead_there;
    the_public_page_says_what_is_wrong_beside_the_question;
    links_that_lead_nowhere_look_the_same;
    too_many_requests_get_a_page_that_says_so;
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

/// Ingests one event; returns the public id of its instance.
pub async fn asked(bed: &TestBed, wip: &str, locale: &str) -> String {
    let item = Item {
        payload: json!({ "wip": wip, "dealerId": "1" }).as_object().unwrap().clone(),
        address: "+964 770 000 0001".into(),
        locale: Some(locale.into()),
        customer_ref: None,
        occurred_at: None,
    };
    let made =
        ingest(&bed.engine, &Catalogue::default(), &Asked::Kind("visit"), None, None, &[item]).await.unwrap();
    match &made[0] {
        Outcome::Matched(made) => made[0].public_id.clone(),
        Outcome::NoMatch(why) => panic!("{why:?}"),
    }
}

pub async fn answered(bed: &TestBed, id: &str, answers: Value) {
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
    for expected_text in
        ["4 asked, 2 answered: 50 %.", "NPS 0: 1 promoters", "&#60;b&#62;late", "2</a> answers", "People"]
    {
        assert!(page.contains(expected_text), "{expected_text}: {page}");
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
    for expected_text in [
        "The event happened",
        "First message, attempt 1: arrived",
        "The next message is planned",
        "Last message just now, the next one in 1 d",
    ] {
        assert!(page.contains(expected_text), "{expected_text}: {page}");
    }
    bed.wait(60);
    answered(&bed, &id, json!({ "rate": 10, "complaint": "No" })).await;
    let page = client.page(&format!("{path}/{id}")).await;
    for expected_text in ["Answered just now.", "Event response-completed", "0 subscribers, dispatched"] {
        assert!(page.contains(expected_text), "{expected_text}: {page}");
    }
    client.get(&format!("{path}/none")).await.refused(404, "not_found");
}

/// The second tab of the editor with this schema.
fn request(schema: &Value) -> String {
    json!({ "name": "CSI", "schema": schema }).to_string()
}

async fn an_author_writes_checks_and_publishes(bed: TestBed) {
    let client = Client::admin(&bed).await;
    let editor = client.page("/surveys/new").await;
    assert!(editor.contains("Save and publish…") && editor.contains("service-visit-closed"), "{editor}");
    let mut bad = schema();
    bad["triggers"][0]["schedule"]["initialDelay"] = json!("soon");
    let text = request(&bad);
    let fields = [("as", "json"), ("definition", text.as_str()), ("then", "publish")];
    client.act("/surveys/save", &fields).await.leads_to("/surveys/1/publish");
    // A draft may be anything; what keeps it from being published stands at its field.
    let refused = client.get("/surveys/1/publish").await.leads_to("/surveys/1/edit?done=saved");
    drop(refused);
    let page = client.page("/surveys/1/edit?done=saved").await;
    assert!(page.contains("It cannot be published yet"), "{page}");
    let at = page.find("name=\"/schema/triggers/0/schedule/initialDelay\"").unwrap();
    assert!(page[at..at + 300].contains("aria-invalid"), "{page}");
    assert_eq!(client.post("/surveys/1/publish", &[]).await.status, 403);
    let broken = client.act("/surveys/save", &[("as", "json"), ("definition", "{")]).await;
    assert_eq!(broken.status, 422, "{}", broken.text);
    let unnamed = client.act("/surveys/save", &[("as", "form"), ("/name", "")]).await;
    assert_eq!(unnamed.status, 422, "{}", unnamed.text);
    assert!(unnamed.text.contains("Nothing was saved"), "{}", unnamed.text);
    let mut good = schema();
    good["triggers"][0]["dedupRecipe"] = json!(["templateId", "candidate.wip"]);
    let text = request(&good);
    let fields = [
        ("as", "json"),
        ("definition", text.as_str()),
        ("known", "1"),
        ("version", "1"),
        ("then", "publish"),
    ];
    client.act("/surveys/save", &fields).await.leads_to("/surveys/1/publish");
    let page = client.page("/surveys/1/publish").await;
    assert!(
        page.contains("recipe_no_recipient")
            && page.contains("Question rate: How likely are you to recommend us?"),
        "{page}"
    );
    client.act("/surveys/1/publish", &[("version", "2")]).await.leads_to("/surveys/1/edit?done=published");
    assert!(client.page("/surveys/1/edit?done=published").await.contains("Published as version 1."));
    // Another recipe asks everybody again, and the page says so before it is done.
    good["triggers"][0]["dedupRecipe"] = json!(["templateId", "recipient.address", "candidate.wip"]);
    good["questions"].as_array_mut().unwrap().remove(3);
    let text = request(&good);
    let fields = [("as", "json"), ("definition", text.as_str()), ("known", "1"), ("version", "3")];
    client.act("/surveys/save", &fields).await.leads_to("/surveys/1/edit?done=saved");
    let page = client.page("/surveys/1/publish").await;
    assert!(
        page.contains("asked again if their event is repeated")
            && page.contains("2 changes to version 1.")
            && page.contains("Question when: When was it?"),
        "{page}"
    );
    let stale = client.act("/surveys/1/publish", &[("version", "2")]).await;
    assert!(stale.text.contains("The draft has changed meanwhile."), "{}", stale.text);
    assert!(client.page("/surveys").await.contains("<td class=\"end\">1</td>"), "nothing was published");
    // Somebody else's change is named by the words of the form.
    let base = client.page("/surveys/1/edit").await;
    let base = attribute(&base, "name=\"base\" value=\"").replace("&#34;", "\"").replace("&#38;", "&");
    let mut other = good.clone();
    other["questions"][0]["text"]["en"] = json!("Would you come again?");
    let other = request(&other);
    let fields = [("as", "json"), ("definition", other.as_str()), ("known", "1"), ("version", "4")];
    client.act("/surveys/save", &fields).await.leads_to("/surveys/1/edit?done=saved");
    let stale = [
        ("as", "json"),
        ("definition", text.as_str()),
        ("known", "1"),
        ("version", "4"),
        ("base", base.as_str()),
    ];
    let stale = client.act("/surveys/save", &stale).await;
    assert_eq!(stale.status, 409, "{}", stale.text);
    assert!(stale.text.contains("is now <code>Would you come again?</code>"), "{}", stale.text);
    let preview =
        client.act("/surveys/preview", &[("as", "json"), ("definition", &text), ("language", "ar")]).await;
    assert!(
        preview.text.contains("dir=\"rtl\"") && preview.text.contains("كيف كانت زيارتك؟"),
        "{}",
        preview.text
    );
    assert!(preview.headers["content-security-policy"].to_str().unwrap().contains("form-action 'none'"));
    let preview = client.act("/surveys/preview", &[("as", "form"), ("/name", "x")]).await;
    assert!(preview.text.contains("Not yet a survey"), "{}", preview.text);
    let reader = client.with_key(&[Scope::Read], None).await;
    for path in ["/surveys/1/edit", "/surveys/1/publish", "/surveys/new"] {
        reader.get(path).await.refused(403, "scope_missing");
    }
    for path in ["/surveys/save", "/surveys/1/publish", "/surveys/preview", "/surveys/try"] {
        reader.act(path, &fields).await.refused(403, "scope_missing");
        client.post(path, &fields).await.refused(403, "csrf");
    }
    assert!(!reader.page("/surveys").await.contains("New survey"));
}

/// What a person types for a survey of two questions.
const TYPED: [(&str, &str); 21] = [
    ("as", "form"),
    ("/name", "Coffee"),
    ("/schema/title/en", "How was the coffee?"),
    ("/schema/questions?rows", "2"),
    ("/schema/questions/0/text/en", "Was it hot?"),
    ("/schema/questions/0/type", "singleChoice"),
    ("/schema/questions/0/required", "yes"),
    ("/schema/questions/0/options?rows", "2"),
    ("/schema/questions/0/options/0/text/en", "Hot"),
    ("/schema/questions/0/options/1/text/en", "Cold"),
    ("/schema/questions/1/text/en", "Why?"),
    ("/schema/questions/1/type", "text"),
    ("/schema/questions/1/maxLength", "500"),
    ("/schema/triggers?rows", "1"),
    ("/schema/triggers/0/eventKind", "coffee-served"),
    ("/schema/triggers/0/enabled", "yes"),
    ("/schema/triggers/0/channel", "memory:default"),
    ("/schema/triggers/0/schedule/initialDelay", "1h"),
    ("/schema/triggers/0/schedule/reminders", "1d, 3d"),
    ("/schema/triggers/0/dedupRecipe?rows", "1"),
    ("/schema/triggers/0/dedupRecipe/0", "candidate.cup"),
];

fn typing<'f>(more: &[(&'f str, &'f str)]) -> Vec<(&'f str, &'f str)> {
    let mut fields: Vec<_> =
        TYPED.iter().filter(|(name, _)| more.iter().all(|(other, _)| other != name)).copied().collect();
    fields.extend(more);
    fields
}

async fn a_survey_is_built_without_json(bed: TestBed) {
    let client = Client::admin(&bed).await;
    // Rows are added, moved and removed by buttons of the form, with everything that was typed.
    let page = client.act("/surveys/save", &typing(&[("do", "add /schema/questions")])).await;
    assert_eq!(page.status, 200, "{}", page.text);
    assert!(page.text.contains("name=\"/schema/questions?rows\" value=\"3\""), "{}", page.text);
    assert!(
        page.text.contains("name=\"/schema/questions/0/id\" value=\"was-it-hot\""),
        "ids are made: {}",
        page.text
    );
    let page = client.act("/surveys/save", &typing(&[("do", "up /schema/questions/1")])).await;
    let place = |text: &str| page.text.find(text).unwrap_or_else(|| panic!("{text}: {}", page.text));
    assert!(place("1. Why?") < place("2. Was it hot?"));
    let page = client.act("/surveys/save", &typing(&[("do", "remove /schema/questions/0/options/0")])).await;
    assert!(page.text.contains("value=\"Cold\"") && !page.text.contains("value=\"Hot\""), "{}", page.text);
    let page = client.act("/surveys/save", &typing(&[("do", "language"), ("/addLocale", "ar")])).await;
    assert!(page.text.contains("name=\"/schema/questions/1/text/ar\""), "{}", page.text);
    // A condition is picked: the question, and its answers.
    let condition = [
        ("do", "show /schema/questions/1/showIf/tests/0/questionId"),
        ("/schema/questions/1/showIf/tests?rows", "1"),
        ("/schema/questions/1/showIf/tests/0/questionId", "was-it-hot"),
    ];
    let page = client.act("/surveys/save", &typing(&condition)).await;
    assert!(
        page.text.contains("<option value=\"was-it-hot\" selected>Was it hot?</option>")
            && page.text.contains("<option value=\"Cold\">Cold</option>"),
        "{}",
        page.text
    );
    assert!(client.page("/surveys").await.contains("No surveys yet"), "buttons of the form store nothing");
    // What an event would do.
    let event =
        [("trialKind", "coffee-served"), ("trialAddress", "ann@b.example"), ("trialFields", "cup = 7")];
    let tried = client.act("/surveys/try", &typing(&event)).await;
    for expected_text in [
        "It asks ann@b.example over memory:default, in en.",
        "Reminder 2, without an answer",
        "candidate.cup",
    ] {
        assert!(tried.text.contains(expected_text), "{expected_text}: {}", tried.text);
    }
    let mut filtered = typing(&event);
    filtered.extend([
        ("/schema/triggers/0/filter/tests?rows", "1"),
        ("/schema/triggers/0/filter/tests/0/questionId", "candidate.size"),
        ("/schema/triggers/0/filter/tests/0/op", "=="),
        ("/schema/triggers/0/filter/tests/0/value", "large"),
    ]);
    let tried = client.act("/surveys/try", &filtered).await;
    assert!(
        tried.text.contains("Its conditions do not match this event")
            && tried.text.contains("is not in the event"),
        "{}",
        tried.text
    );
    // Saved, published, and sent for an event.
    let condition = [
        ("/schema/questions/1/showIf/tests?rows", "1"),
        ("/schema/questions/1/showIf/tests/0/questionId", "was-it-hot"),
        ("/schema/questions/1/showIf/tests/0/op", "=="),
        ("/schema/questions/1/showIf/tests/0/value", "Cold"),
        ("then", "publish"),
    ];
    client.act("/surveys/save", &typing(&condition)).await.leads_to("/surveys/1/publish");
    client.act("/surveys/1/publish", &[("version", "1")]).await.leads_to("/surveys/1/edit?done=published");
    let row = surveys::get(&mut bed.read().await.conn(), &Reach::Everything, 1).await.unwrap().unwrap();
    let stored: Value = serde_json::from_str(&row.draft).unwrap();
    let expected = json!({ "title": { "en": "How was the coffee?" },
        "questions": [
            { "id": "was-it-hot", "type": "singleChoice", "required": true, "text": { "en": "Was it hot?" },
              "options": [{ "value": "Hot", "text": { "en": "Hot" } }, { "value": "Cold", "text": { "en": "Cold" } }] },
            { "id": "why", "type": "text", "maxLength": 500, "text": { "en": "Why?" },
              "showIf": { "questionId": "was-it-hot", "op": "==", "value": "Cold" } } ],
        "triggers": [{ "id": "coffee-served", "enabled": true, "eventKind": "coffee-served", "channel": "memory:default",
            "schedule": { "initialDelay": "1h", "reminders": ["1d", "3d"] }, "dedupRecipe": ["candidate.cup"] }] });
    assert_eq!(stored, expected);
    // The same again is the same version.
    let page = client.page("/surveys/1/edit").await;
    assert!(page.contains("name=\"as\" value=\"form\""), "the form can show all of it: {page}");
    let item = Item {
        payload: json!({ "cup": 7 }).as_object().unwrap().clone(),
        address: "ann@b.example".into(),
        locale: None,
        customer_ref: None,
        occurred_at: None,
    };
    ingest(&bed.engine, &Catalogue::default(), &Asked::Kind("coffee-served"), None, None, &[item])
        .await
        .unwrap();
    bed.run_for(3_700).await;
    assert_eq!(bed.sent().len(), 1);
    bed.leaves_open("the reminders");
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
        own.contains("<span class=\"mono\">candidate.wip</span> had a different value in every event"),
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
    for said in ["Send to 1", "the same as line 3"] {
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
        (&[("to", "list"), ("list", "nobody")], "There is no list “nobody”."),
        (&[("to", "list"), ("list", "phones")], "is for sms, and the trigger sends over “memory:default”"),
        (&[("to", "rows"), ("rows", "")], "Nobody is named."),
        (&[("to", "address"), ("address", "")], "Nobody is named."),
        (&[("list", "phones")], "Choose the recipients."),
    ];
    for (fields, said) in cases {
        let mut all = vec![("trigger", "visit"), ("then", "plan")];
        all.extend(fields);
        let page = client.act(&place, &all).await.text;
        assert!(page.contains(said), "{said}: {page}");
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
    for expected_text in [
        "<html lang=\"ar\" dir=\"rtl\">",
        "كيف كانت زيارتك؟",
        "الرافدين للسيارات",
        "hidden disabled",
        "إرسال الإجابات",
        "?lang=en",
    ] {
        assert!(page.contains(expected_text), "{expected_text}: {page}");
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
    for expected_text in [
        "role=\"alert\"",
        "id=\"e-rate\">The answer is 0 to 10.",
        "id=\"e-when\">The answer is a date",
        "value=\"No\" checked",
    ] {
        assert!(refused.text.contains(expected_text), "{expected_text}: {}", refused.text);
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

async fn too_many_requests_get_a_page_that_says_so(bed: TestBed) {
    let client = Client::stranger(&bed).await;
    let mut statuses = Vec::new();
    for _ in 0..62 {
        statuses.push(client.get("/s/8f3a1c4e-0000-4000-8000-000000000001").await.status);
    }
    assert_eq!((statuses[59], statuses[60], statuses[61]), (404, 429, 429));
    assert_eq!(client.get("/s/another").await.status, 404);
}
