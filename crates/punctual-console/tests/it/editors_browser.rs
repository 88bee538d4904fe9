//! The editors of workflows in a real browser: made by clicking as a person would, seen to send, and checked with axe-core.
//!
//! On SQLite alone: the browser sees no database, and the pages are tested on both through the router.

use punctual_store::surveys;
use punctual_workflows::surveys::{
    Catalogue,
    ingest::{Asked, Item, ingest},
};
use serde_json::{Value, json};

use crate::{
    browser::{Stage, on_sqlite},
    reminders::put_source,
    settings_browser::{FINDINGS, axe, fill, follow, notice},
};

/// Presses the button of the form that does this.
async fn press(stage: &mut Stage, act: &str) {
    stage.browser.follow(&format!("button[name=do][value={act:?}]")).await;
}

/// Chooses from a list, as the keyboard would.
pub async fn choose(stage: &mut Stage, name: &str, value: &str) {
    let change = format!(
        "(() => {{ const list = document.querySelector('[name={name:?}]'); list.value = {value:?}; \
         list.dispatchEvent(new Event('input', {{ bubbles: true }})); return list.value; }})()"
    );
    assert_eq!(stage.browser.eval(&change).await, json!(value), "{name} has {value}");
}

/// The same where the page is shown again for it.
pub async fn choose_and_wait(stage: &mut Stage, name: &str, value: &str) {
    let change = format!(
        "(() => {{ const list = document.querySelector('[name={name:?}]'); list.value = {value:?}; window.before = true; \
         list.dispatchEvent(new Event('change', {{ bubbles: true }})); }})()"
    );
    stage.browser.eval(&change).await;
    stage
        .browser
        .until(&format!(
            "window.before === undefined && document.querySelector('[name={name:?}]')?.value === {value:?}"
        ))
        .await;
}

/// Opens every closed part of the page.
pub async fn open_all(stage: &mut Stage) {
    stage.browser.eval("document.querySelectorAll('details').forEach((one) => { one.open = true; })").await;
}

async fn value(stage: &mut Stage, name: &str) -> Value {
    stage.browser.eval(&format!("document.querySelector('[name={name:?}]')?.value ?? null")).await
}

/// Forms that were refused are answers of 422 and 409, which a browser notes.
pub fn forgive_refusals(stage: &mut Stage) {
    stage.browser.events.retain(|message| {
        let text = message["params"]["entry"]["text"].as_str().unwrap_or_default();
        !text.contains("status of 422") && !text.contains("status of 409")
    });
}

/// Looks at pages in light and dark, on a desk and a phone: no wider than the window, and nothing that axe-core finds.
async fn look_at(stage: &mut Stage, pages: &[(&str, &str)]) {
    let axe = axe();
    let mut findings: Vec<String> = Vec::new();
    for (width, height) in [(1440, 1000), (360, 780)] {
        stage.browser.size(width, height).await;
        for scheme in ["light", "dark"] {
            stage.browser.prefer(scheme).await;
            for (name, path) in pages {
                stage.open(path).await;
                open_all(stage).await;
                let wide = stage.browser.eval("document.documentElement.scrollWidth").await;
                assert_eq!(wide, json!(width), "{name} is wider than {width}");
                stage.browser.picture(&format!("{name}-{width}-{scheme}-editors")).await;
                stage.browser.eval(&format!("{axe}; true")).await;
                let found: Vec<String> = serde_json::from_value(stage.browser.eval(FINDINGS).await).unwrap();
                findings.extend(found.into_iter().map(|one| format!("{name} {width} {scheme}: {one}")));
            }
        }
    }
    stage.browser.size(1280, 860).await;
    stage.browser.prefer("light").await;
    assert!(findings.is_empty(), "{} findings: {findings:#?}", findings.len());
}

#[test]
fn a_survey_is_built_by_clicking_and_seen_to_send() {
    on_sqlite(async |bed| {
        let mut stage = Stage::on(&bed).await;
        stage.sign_in().await;
        stage.open("/surveys").await;
        follow(&mut stage, "New survey").await;

        // Without a name nothing is stored, and the field has the focus.
        follow(&mut stage, "Create survey").await;
        stage.browser.is_in("/name").await;
        fill(&mut stage, "/name", "Coffee").await;
        fill(&mut stage, "/schema/title/en", "How was the coffee?").await;

        // The sample's questions go, and others come; what was typed stays.
        press(&mut stage, "remove /schema/questions/1").await;
        assert_eq!(value(&mut stage, "/schema/title/en").await, "How was the coffee?");
        fill(&mut stage, "/schema/questions/0/text/en", "Was it hot?").await;
        choose(&mut stage, "/schema/questions/0/type", "singleChoice").await;
        press(&mut stage, "add /schema/questions/0/options").await;
        fill(&mut stage, "/schema/questions/0/options/0/text/en", "Hot").await;
        press(&mut stage, "add /schema/questions/0/options").await;
        fill(&mut stage, "/schema/questions/0/options/1/text/en", "Cold").await;
        press(&mut stage, "add /schema/questions").await;
        stage.browser.is_in("/schema/questions/1/text/en").await;
        stage.browser.write("Why?").await;

        // A condition: the question, the comparison and one of its answers.
        open_all(&mut stage).await;
        press(&mut stage, "add /schema/questions/1/showIf/tests").await;
        open_all(&mut stage).await;
        let question = "/schema/questions/1/showIf/tests/0/questionId";
        let first = value(&mut stage, "/schema/questions/0/id").await;
        choose_and_wait(&mut stage, question, first.as_str().unwrap()).await;
        open_all(&mut stage).await;
        let offered = stage.texts("datalist[id*='showIf-tests-0-value'] option").await;
        assert_eq!(offered, ["Hot", "Cold"]);
        fill(&mut stage, "/schema/questions/1/showIf/tests/0/value", "Cold").await;

        // Another language, and its first field.
        open_all(&mut stage).await;
        fill(&mut stage, "/addLocale", "de").await;
        press(&mut stage, "language").await;
        stage.browser.is_in("/schema/title/de").await;
        stage.browser.write("Wie war der Kaffee?").await;

        // The event, and what one would do.
        fill(&mut stage, "/schema/triggers/0/eventKind", "coffee-served").await;
        fill(&mut stage, "/schema/triggers/0/dedupRecipe/2", "candidate.cup").await;
        press(&mut stage, "remove /schema/triggers/0/dedupRecipe/3").await;
        fill(&mut stage, "trialAddress", "ann@b.example").await;
        fill(&mut stage, "trialFields", "cup = 7").await;
        stage.browser.eval("document.querySelector('[name=trialLocale]').value = 'de'").await;
        stage.browser.follow("#try-event").await;
        let tried = stage.texts("#tried").await.join(" ");
        assert!(tried.contains("It asks ann@b.example over memory:default, in de."), "{tried}");
        stage.browser.eval("document.querySelector('#tried').scrollIntoView()").await;
        stage.browser.picture("survey-test-event-1280-light-editors").await;

        // The phone beside it shows what is typed.
        stage.browser.until("document.querySelector('iframe.phone').contentDocument?.body?.innerText.includes('How was the coffee?')").await;
        stage.browser.eval("scrollTo(0, 0)").await;
        stage.browser.picture("survey-builder-1280-light-editors").await;

        // Published after a look, and seen to send.
        follow(&mut stage, "Save and publish…").await;
        assert!(stage.texts("h1").await[0].starts_with("Publish Coffee?"));
        assert!(stage.texts(".item-title").await.iter().any(|title| title.contains("Was it hot?")));
        follow(&mut stage, "Publish").await;
        assert_eq!(notice(&mut stage).await, "Published as version 1.");
        let item = Item {
            payload: json!({ "cup": 7 }).as_object().unwrap().clone(),
            address: "ann@b.example".into(),
            locale: Some("de".into()),
            customer_ref: None,
            occurred_at: None,
        };
        ingest(&bed.engine, &Catalogue::default(), &Asked::Kind("coffee-served"), None, None, &[item])
            .await
            .unwrap();
        bed.run_for(60).await;
        assert_eq!(bed.sent().len(), 1);
        assert_eq!(bed.sent()[0].subject, "Wie war der Kaffee?");
        let reach = punctual_model::Reach::Everything;
        let row = surveys::get(&mut bed.read().await.conn(), &reach, 1).await.unwrap().unwrap();
        let schema: Value = serde_json::from_str(&row.draft).unwrap();
        assert_eq!(schema["questions"][1]["showIf"]["value"], "Cold");

        // A changed recipe says that everybody is asked again.
        fill(&mut stage, "/schema/triggers/0/dedupRecipe/2", "candidate.mug").await;
        follow(&mut stage, "Save and publish…").await;
        let warned = stage.texts(".item-title").await.join(" ");
        assert!(warned.contains("asked again if their event is repeated"), "{warned}");
        stage.browser.picture("survey-publish-1280-light-editors").await;
        let pages = [
            ("survey-new", "/surveys/new"),
            ("survey-edit", "/surveys/1/edit"),
            ("survey-publish", "/surveys/1/publish"),
        ];
        look_at(&mut stage, &pages).await;
        forgive_refusals(&mut stage);
        bed.leaves_open("the reminders");
        stage.finish();
    });
}

#[test]
fn a_survey_is_built_without_script() {
    on_sqlite(async |bed| {
        let mut stage = Stage::on(&bed).await;
        stage.sign_in().await;
        // Our script does not arrive: the forms alone have to do.
        stage.browser.call("Network.setBlockedURLs", json!({ "urls": ["*console.js*"] })).await;
        stage.open("/surveys/new").await;
        press(&mut stage, "add /schema/questions").await;
        press(&mut stage, "up /schema/questions/2").await;
        assert_eq!(value(&mut stage, "/schema/questions/1/type").await, "text");
        assert_eq!(value(&mut stage, "/schema/questions/2/text/en").await, "What should be better?");
        stage.browser.events.retain(|message| !message.to_string().contains("console.js"));
        stage.finish();
    });
}

#[test]
fn a_reminder_is_made_from_a_real_source_and_seen_to_send() {
    on_sqlite(async |bed| {
        for (id, expires) in [("1", "2026-06-20"), ("2", "2026-06-21"), ("3", "2026-02-01")] {
            let state = json!({ "kind": "first-aid", "expiresOn": expires, "email": "aroha@example.org", "owner": "Aroha" });
            put_source(&bed, "document", id, &state).await;
        }
        let mut stage = Stage::on(&bed).await;
        stage.sign_in().await;
        stage.open("/reminders").await;
        stage.browser.follow("a[href='/reminders/new']").await;
        fill(&mut stage, "/name", "First aid").await;
        choose_and_wait(&mut stage, "/sourceType", "document").await;
        assert_eq!(value(&mut stage, "/name").await, "First aid", "what was typed is kept");
        choose(&mut stage, "/date/field", "/expiresOn").await;
        choose(&mut stage, "/recipients/field", "/email").await;
        fill(&mut stage, "/date/offsetsDays", "soon").await;
        follow(&mut stage, "Show what it would do").await;
        stage.browser.is_in("/date/offsetsDays").await;
        fill(&mut stage, "/date/offsetsDays", "30, 7").await;
        press(&mut stage, "add /filter/tests").await;
        choose_and_wait(&mut stage, "/filter/tests/0/questionId", "state.kind").await;
        fill(&mut stage, "/filter/tests/0/value", "first-aid").await;

        // The message beside it follows what is typed; what is unknown is named with what there is.
        fill(&mut stage, "/delivery/subject", "{{ state.nothing }}").await;
        stage
            .browser
            .until("document.querySelector('#message-fault')?.textContent.includes('state.owner')")
            .await;
        fill(&mut stage, "/delivery/subject", "For {{ state.owner }}: {{ state.kind }}").await;
        stage
            .browser
            .until("document.querySelector('#message-subject')?.textContent === 'For Aroha: first-aid'")
            .await;
        stage.browser.picture("reminder-editor-1280-light-editors").await;

        follow(&mut stage, "Show what it would do").await;
        assert_eq!(stage.texts("#plan dd").await, ["4"]);
        let next = stage.texts("#next-messages .item-title").await;
        assert_eq!(next[0], "First aid, document 1: 30 days before 20 Jun");
        let plan = stage.texts("#plan").await.join(" ");
        assert!(plan.contains("2 messages. Computed from the present states of sources"), "{plan}");
        stage.browser.eval("document.querySelector('#plan').scrollIntoView()").await;
        stage.browser.picture("reminder-plan-1280-light-editors").await;
        stage.browser.follow("#edit .form-acts .primary").await;
        assert!(notice(&mut stage).await.starts_with("The reminder is saved"));
        bed.run_for(20 * 86_400).await;
        assert_eq!(bed.sent().len(), 2, "30 days before, for two documents");
        assert_eq!(bed.sent()[0].subject, "For Aroha: first-aid");
        stage.open("/reminders").await;
        let edit = stage.browser.eval("document.querySelector('td.subject a').getAttribute('href')").await;
        let edit = edit.as_str().unwrap().to_owned();
        let pages = [
            ("reminder-new", "/reminders/new?sourceType=document"),
            ("reminder-threshold", "/reminders/new?kind=threshold&sourceType=document"),
            ("reminder-edit", edit.as_str()),
        ];
        look_at(&mut stage, &pages).await;
        forgive_refusals(&mut stage);
        bed.leaves_open("what is planned");
        stage.finish();
    });
}
