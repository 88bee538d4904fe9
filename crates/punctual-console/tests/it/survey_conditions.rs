//! The conditions of questions, as the browser decides them and as the server does, over generated cases: the page shows the
//! questions that the server will accept.
//!
//! No database: both sides are functions.

use punctual_model::survey::{Schema, visible};
use punctual_testkit::Seeded;
use serde_json::{Map, Value, json};

use crate::chromium::Chromium;

/// The part of the page's script that decides.
const SCRIPT: &str = include_str!("../../assets/survey.js");
const CASES: usize = 600;
const SEED: u64 = 0x5a17_2026;

const TEXTS: [&str; 16] = [
    "a",
    "b",
    "A",
    "ab",
    "ba",
    "é",
    "e",
    "\u{ff5e}",
    "😀",
    "7",
    "07",
    "7.0",
    "-3",
    "true",
    "with space",
    "~",
];
const NUMBERS: [&str; 14] =
    ["0", "7", "07", "+7", "7,5", "7.5", "7.50", ".5", "5.", "-3", "1e2", "12.25", "100", "many"];
const OPERATORS: [&str; 13] = [
    "==",
    "!=",
    "<",
    "<=",
    ">",
    ">=",
    "in",
    "notIn",
    "contains",
    "startsWith",
    "endsWith",
    "exists",
    "notExists",
];
const KINDS: [&str; 5] = ["text", "number", "yesNo", "singleChoice", "multiChoice"];

fn pick<'v>(random: &Seeded, from: &[&'v str]) -> &'v str {
    from[usize::try_from(random.below(from.len() as u64)).unwrap()]
}

fn value(random: &Seeded) -> Value {
    match random.below(5) {
        0 => json!(random.below(12)),
        1 => json!(f64::from(u32::try_from(random.below(40)).unwrap()) / 4.0),
        2 => json!(random.below(2) == 0),
        _ => json!(pick(random, &TEXTS)),
    }
}

fn condition(random: &Seeded, depth: u32) -> Value {
    let some = |random: &Seeded| -> Vec<Value> {
        (0..=random.below(3)).map(|_| condition(random, depth - 1)).collect()
    };
    match random.below(if depth == 0 { 1 } else { 5 }) {
        1 => json!({ "all": some(random) }),
        2 => json!({ "any": some(random) }),
        3 => json!({ "not": condition(random, depth - 1) }),
        _ => {
            let op = pick(random, &OPERATORS);
            let asked = pick(random, &KINDS);
            match op {
                "exists" | "notExists" => json!({ "questionId": asked, "op": op }),
                "in" | "notIn" => {
                    let values: Vec<Value> = (0..=random.below(3)).map(|_| value(random)).collect();
                    json!({ "questionId": asked, "op": op, "value": values })
                }
                _ => json!({ "questionId": asked, "op": op, "value": value(random) }),
            }
        }
    }
}

/// What somebody enters, and what the server makes of it: by question, as in `survey_page/form.rs`.
fn entered(random: &Seeded) -> (Map<String, Value>, Map<String, Value>) {
    let (mut browser, mut server) = (Map::new(), Map::new());
    for kind in KINDS {
        if random.below(4) == 0 {
            continue;
        }
        let (there, here) = match kind {
            "number" => {
                let text = pick(random, &NUMBERS);
                (json!(text), number(text))
            }
            "yesNo" => {
                let yes = random.below(2) == 0;
                (json!(yes.to_string()), json!(yes))
            }
            "multiChoice" => {
                let chosen: Vec<&str> = (0..=random.below(3)).map(|_| pick(random, &TEXTS)).collect();
                (json!(chosen), json!(chosen))
            }
            _ => {
                let text = pick(random, &TEXTS);
                (json!(text), json!(text))
            }
        };
        browser.insert(kind.to_owned(), there);
        server.insert(kind.to_owned(), here);
    }
    (browser, server)
}

fn number(text: &str) -> Value {
    let text = text.replace(',', ".");
    let whole = text.parse::<i64>().map(Value::from).ok();
    whole.or_else(|| text.parse::<f64>().ok().map(Value::from)).unwrap_or(Value::from(text))
}

fn schema(condition: &Value) -> Option<Schema> {
    let asked = |kind: &str| {
        let mut question = json!({ "id": kind, "type": kind, "text": { "en": kind } });
        if kind.ends_with("Choice") {
            question["options"] = json!(["a", "b"]);
        }
        question
    };
    let mut questions: Vec<Value> = KINDS.map(asked).to_vec();
    questions.push(json!({ "id": "last", "type": "text", "text": { "en": "Last" }, "showIf": condition }));
    let trigger = json!({ "id": "t", "enabled": true, "eventKind": "visit", "channel": "memory:default",
        "dedupRecipe": ["templateId", "candidate.wip"], "schedule": { "initialDelay": "0d", "reminders": [] } });
    Schema::read(&json!({ "title": { "en": "T" }, "questions": questions, "triggers": [trigger] })).ok()
}

#[tokio::test]
async fn s1_13_the_browser_decides_conditions_as_the_server_does() {
    let random = Seeded::new(SEED);
    let (mut cases, mut expected) = (Vec::new(), Vec::new());
    for _ in 0..CASES {
        let condition = condition(&random, 2);
        let (browser, server) = entered(&random);
        let Some(schema) = schema(&condition) else { continue };
        expected.push(visible(&schema, &server).iter().any(|question| question.id == "last"));
        cases.push(json!([condition, browser]));
    }
    assert!(cases.len() > CASES / 2, "most conditions are good ones: {}", cases.len());
    let shown = expected.iter().filter(|shown| **shown).count();
    assert!(shown > cases.len() / 10 && shown < cases.len() * 9 / 10, "{shown} of {} are shown", cases.len());
    let begin = SCRIPT.find("  const number = ").expect("where deciding begins");
    let end = SCRIPT.find("  // On a phone").expect("where it ends");
    let decide = format!(
        "((cases) => {{ {} return cases.map(([filter, known]) => {{
            if (typeof known.number === 'string') known.number = number(known.number);
            return matches(filter, new Map(Object.entries(known)));
        }}); }})({})",
        &SCRIPT[begin..end],
        json!(cases)
    );
    let mut browser = Chromium::start().await;
    let decided = browser.eval(&decide).await;
    let decided: Vec<bool> = decided.as_array().unwrap().iter().map(|one| one.as_bool().unwrap()).collect();
    let differing: Vec<&Value> = cases
        .iter()
        .zip(decided.iter().zip(&expected))
        .filter(|(_, (browser, server))| browser != server)
        .map(|(case, _)| case)
        .collect();
    let first: Vec<String> = differing.iter().take(10).map(|case| case.to_string()).collect();
    assert!(differing.is_empty(), "{} of {} differ:\n{}", differing.len(), cases.len(), first.join("\n"));
}
