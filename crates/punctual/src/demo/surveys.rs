//! Two surveys with their events: a visit to a workshop, asked about at once and once more a day later, and a sale, asked
//! about after sixty days.

use anyhow::{Context, Result};
use jiff::{SignedDuration, Timestamp};
use punctual_engine::{Actor, Engine};
use punctual_store::{
    Lane,
    subscribers::{self, SubscriberRow},
    surveys::SurveyDraft,
};
use punctual_workflows::surveys::{
    Catalogue,
    answer::{Submission, submit},
    author::{self, Publishing},
    ingest::{Asked, Item, Outcome, ingest},
};
use serde_json::{Value, json};

pub async fn load(engine: &Engine) -> Result<()> {
    subscriber(engine).await?;
    let catalogue = Catalogue::default();
    publish(engine, "CSI-GR", "csi-gr", csi_gr()).await?;
    publish(engine, "VOC", "voc", voc()).await?;
    let now = engine.clock.now();
    let visits: Vec<Item> = (0..24_i64)
        .map(|number| {
            let name = ["Kadhem Owaid", "Aroha Ngata", "Jonas Weber", "Leila Haddad"][number as usize % 4];
            let locale = ["ar", "en", "de", "ar"][number as usize % 4];
            let happened = now - SignedDuration::from_hours(6 * (24 - number) % 132);
            item(
                json!({ "wip": (40_956 + number).to_string(), "dealerId": (number % 3 + 1).to_string(), "jobType": "GR", "CustomerName": name }),
                &format!("+964 770 000 {number:04}"),
                locale,
                Some(happened),
            )
        })
        .collect();
    let made = ingest(engine, &catalogue, &Asked::Kind("service-visit-closed"), None, None, &visits).await?;
    let sales: Vec<Item> = (0..5_i64)
        .map(|number| {
            let payload = json!({ "salesInvoiceNumber": (7_700 + number).to_string(), "dealerId": "1", "model": "Corolla" });
            item(payload, &format!("+964 770 100 {number:04}"), "ar", None)
        })
        .collect();
    ingest(engine, &catalogue, &Asked::Kind("vehicle-invoice-posted"), None, None, &sales).await?;
    for (number, outcome) in made.iter().enumerate().filter(|(number, _)| number % 5 < 3) {
        let Outcome::Matched(made) = outcome else { continue };
        let Some(first) = made.first() else { continue };
        let submission = Submission { answers: answers(number), ..Submission::default() };
        submit(engine, &catalogue, &first.public_id, &submission).await?;
    }
    Ok(())
}

fn item(payload: Value, address: &str, locale: &str, occurred_at: Option<jiff::Timestamp>) -> Item {
    Item {
        customer_ref: payload.get("wip").and_then(Value::as_str).map(|wip| format!("cust-{wip}")),
        payload: payload.as_object().cloned().unwrap_or_default(),
        address: address.to_owned(),
        locale: Some(locale.to_owned()),
        occurred_at,
    }
}

fn answers(number: usize) -> serde_json::Map<String, Value> {
    let rate = [10, 9, 7, 10, 3, 8, 9][number % 7];
    let mut answers =
        json!({ "rate": rate, "has-a-complaint": if rate < 8 { "Yes" } else { "No" }, "again": rate > 4 });
    if rate < 8 {
        answers["complaint"] =
            ["The car was ready two hours late.", "Nobody called back.", "لم تكن السيارة نظيفة."][number % 3]
                .into();
    }
    answers.as_object().cloned().unwrap_or_default()
}

async fn subscriber(engine: &Engine) -> Result<()> {
    let row = SubscriberRow {
        key: "memory:csi-tickets".into(),
        adapter: "memory".into(),
        settings: "{}".into(),
        events: json!(["response-completed"]).to_string(),
        filter: None,
        retry: json!({ "policy": "exponential", "max": 10, "intervalSeconds": 30 }).to_string(),
        active: true,
        version: 0,
        updated_at: Timestamp::UNIX_EPOCH,
    };
    let mut tx = engine.store.begin(Lane::Intake).await?;
    subscribers::put(&mut tx.conn(), engine.clock.now(), &row).await?;
    Ok(tx.commit().await?)
}

async fn publish(engine: &Engine, name: &str, integration: &str, schema: Value) -> Result<()> {
    let draft = SurveyDraft {
        name: name.into(),
        integration_id: Some(integration.into()),
        business_unit: None,
        draft: schema.to_string(),
    };
    let row = author::create(engine, &Actor::named("demo"), &draft).await?;
    match author::publish(engine, &Actor::named("demo"), row.id).await? {
        Publishing::Published { .. } => Ok(()),
        Publishing::Refused(faults) => {
            Err(faults.into_iter().next().context("no fault")?).context("a sample survey")
        }
    }
}

fn csi_gr() -> Value {
    json!({
        "title": { "en": "How was your visit?", "ar": "كيف كانت زيارتك؟", "de": "Wie war Ihr Besuch?" },
        "intro": { "en": "Three short questions about your last visit to our workshop.",
                   "ar": "ثلاثة أسئلة قصيرة عن زيارتك الأخيرة لورشتنا.",
                   "de": "Drei kurze Fragen zu Ihrem letzten Besuch in unserer Werkstatt." },
        "organisation": { "en": "Al-Rafidain Motors", "ar": "الرافدين للسيارات" },
        "colour": "#0b5f8a",
        "questions": [
            { "id": "rate", "type": "nps", "required": true, "text": { "en": "How likely are you to recommend us?",
              "ar": "ما مدى احتمال أن توصي بنا؟", "de": "Wie wahrscheinlich empfehlen Sie uns weiter?" } },
            { "id": "has-a-complaint", "type": "singleChoice", "required": true,
              "text": { "en": "Do you have a complaint?", "ar": "هل لديك شكوى؟", "de": "Haben Sie eine Beschwerde?" },
              "options": [{ "value": "Yes", "text": { "en": "Yes", "ar": "نعم", "de": "Ja" } },
                          { "value": "No", "text": { "en": "No", "ar": "لا", "de": "Nein" } }] },
            { "id": "complaint", "type": "text", "required": true, "showIf": { "questionId": "has-a-complaint", "op": "==", "value": "Yes" },
              "text": { "en": "What went wrong?", "ar": "ما الذي حدث؟", "de": "Was ist schiefgegangen?" } },
            { "id": "again", "type": "yesNo", "text": { "en": "Would you come again?", "ar": "هل ستعود إلينا؟", "de": "Würden Sie wiederkommen?" } }
        ],
        "triggers": [{
            "id": "csi-gr-trigger", "enabled": true, "eventKind": "service-visit-closed",
            "filter": { "questionId": "candidate.jobType", "op": "==", "value": "GR" },
            "dedupRecipe": ["templateId", "recipient.address", "candidate.dealerId", "candidate.wip"],
            "schedule": { "initialDelay": "0d", "reminders": ["1d"] }, "channel": "memory:default"
        }]
    })
}

fn voc() -> Value {
    json!({
        "title": { "en": "Your new car", "ar": "سيارتك الجديدة" },
        "questions": [{ "id": "rate", "type": "rating", "min": 1, "max": 5, "required": true,
            "text": { "en": "How happy are you with it?", "ar": "ما مدى سعادتك بها؟" } }],
        "triggers": [{
            "id": "voc-trigger", "enabled": true, "eventKind": "vehicle-invoice-posted",
            "dedupRecipe": ["templateId", "recipient.address", "candidate.dealerId", "candidate.salesInvoiceNumber"],
            "schedule": { "initialDelay": "60d", "reminders": ["5d", "10d", "15d"] }, "channel": "memory:default"
        }]
    })
}
