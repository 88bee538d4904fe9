//! The public page of a survey in a real browser: in two languages, one of them from right to left, on a phone, with
//! questions that come and go.
//!
//! On SQLite alone: the browser sees no database, and the page is tested on both through the router.

use serde_json::json;

use crate::{
    browser::{RULES, Stage, on_sqlite},
    surveys::{asked, schema, survey},
};
use punctual_model::Reach;

#[test]
fn a_survey_is_answered_in_english_and_in_arabic() {
    on_sqlite(async |bed| {
        let number = survey(&bed, schema()).await;
        let (english, arabic) = (asked(&bed, "1", "en").await, asked(&bed, "2", "ar").await);
        bed.tick().await;
        let mut stage = Stage::on(&bed).await;
        for (id, name, direction) in [(&english, "en", "ltr"), (&arabic, "ar", "rtl")] {
            for (width, height) in [(1280, 1000), (390, 844), (360, 740)] {
                stage.browser.size(width, height).await;
                for scheme in ["light", "dark"] {
                    stage.browser.prefer(scheme).await;
                    stage.open(&format!("/s/{id}")).await;
                    stage.browser.until("!document.querySelector('.progress').hidden").await;
                    assert_eq!(stage.browser.eval("document.documentElement.dir").await, json!(direction));
                    let wide = stage.browser.eval("document.documentElement.scrollWidth").await;
                    assert_eq!(wide, json!(width), "{name} is wider than {width}");
                    assert_eq!(stage.browser.eval(RULES).await, json!([]), "{name} {width} {scheme}");
                    stage.browser.picture(&format!("survey-{name}-{width}-{scheme}")).await;
                }
            }
            // The question about a complaint comes and goes with the answer before it.
            let shown = "!document.querySelector('[data-question=what]').hidden";
            // On a phone one question is asked at a time, and one that needs an answer is not passed by.
            let seen = "[...document.querySelectorAll('.question')].filter((one) => one.checkVisibility()).map((one) => one.dataset.question).join()";
            assert_eq!(stage.browser.eval(seen).await, json!("rate"));
            stage.browser.click(".next").await;
            assert_eq!(stage.texts(".error").await.len(), 1);
            assert_eq!(stage.browser.eval(seen).await, json!("rate"));
            stage.browser.click("input[name='q.rate'][value='7'] + span").await;
            stage.browser.click(".next").await;
            assert_eq!(stage.browser.eval(seen).await, json!("complaint"));
            stage.browser.click("input[name='q.complaint'][value='Yes']").await;
            stage.browser.until(shown).await;
            assert_eq!(
                stage.browser.eval("document.querySelector('button[type=submit]').checkVisibility()").await,
                json!(false)
            );
            stage.browser.click("input[name='q.complaint'][value='No']").await;
            stage.browser.until(&format!("!({shown})")).await;
            stage.browser.click("input[name='q.complaint'][value='Yes']").await;
            stage.browser.until(shown).await;
            stage.browser.picture(&format!("survey-{name}-360-answering")).await;
            stage.browser.click(".back").await;
            assert_eq!(stage.browser.eval(seen).await, json!("rate"));
            stage.browser.click(".next").await;
            // On a wide screen all of it is on one page. The server asks for what is missing, and leads there.
            stage.browser.size(1280, 1000).await;
            stage.browser.until("document.querySelector('.steps').hidden").await;
            assert_eq!(stage.browser.eval(seen).await, json!("rate,complaint,what,when,parts"));
            stage.browser.follow("button[type=submit]").await;
            stage.browser.size(360, 740).await;
            stage.browser.until("document.activeElement.name === 'q.what'").await;
            assert_eq!(stage.texts(".error").await.len(), 1);
            stage.browser.picture(&format!("survey-{name}-360-wrong")).await;
            stage.browser.write("Late").await;
            for _ in 0..2 {
                stage.browser.click(".next").await;
            }
            stage.browser.follow("button[type=submit]").await;
            stage.browser.until("document.querySelector('main').className === 'end'").await;
            stage.browser.picture(&format!("survey-{name}-360-thanks")).await;
        }
        let mut reader = bed.read().await;
        for id in [&english, &arabic] {
            let row =
                punctual_store::survey_instances::by_public_id(&mut reader.conn(), &Reach::Everything, id)
                    .await
                    .unwrap()
                    .unwrap();
            assert_eq!(row.status.as_str(), "completed");
            assert!(row.opened_at.is_some(), "the page said that somebody saw it");
            let response = punctual_store::survey_responses::by_instance(&mut reader.conn(), row.id)
                .await
                .unwrap()
                .unwrap();
            let answers: serde_json::Value = serde_json::from_str(&response.answers).unwrap();
            assert_eq!(answers, json!({ "rate": 7, "complaint": "Yes", "what": "Late" }));
        }
        drop(reader);
        // What an author and an operator see of it.
        stage.browser.size(1280, 1000).await;
        stage.browser.prefer("light").await;
        stage.sign_in().await;
        let link = format!("/surveys/{number}/instances/{arabic}");
        let pages = [
            ("surveys", "/surveys".to_owned()),
            ("survey-results", format!("/surveys/{number}")),
            ("survey-links", format!("/surveys/{number}/instances")),
            ("survey-link", link),
            ("survey-lab", format!("/surveys/{number}/lab")),
            ("survey-edit", format!("/surveys/{number}/edit")),
        ];
        for (name, path) in &pages {
            for width in [1280, 390] {
                stage.browser.size(width, 1000).await;
                stage.open(path).await;
                if *name == "survey-edit" {
                    let ready =
                        "document.querySelector('iframe').contentDocument?.querySelector('form') != null";
                    stage.browser.until(ready).await;
                }
                let wide = stage.browser.eval("document.documentElement.scrollWidth").await;
                assert_eq!(wide, json!(width), "{name} is wider than {width}");
                assert_eq!(stage.browser.eval(RULES).await, json!([]), "{name} {width}");
                stage.browser.picture(&format!("{name}-{width}-light")).await;
            }
        }
        // A refused form is a page with another status, which the browser reports as well.
        stage.browser.events.retain(|event| !event.to_string().contains("422 (Unprocessable Entity)"));
        stage.finish();
    });
}
