use serde_json::{Map, Value, json};

use super::*;

fn csi_gr() -> Value {
    json!({
        "title": {"en": "How was your visit?", "ar": "كيف كانت زيارتك؟"},
        "questions": [
            {"id": "rate", "type": "nps", "text": {"en": "Rate", "ar": "تقييم"}, "required": true},
            {"id": "has-a-complaint", "type": "yesNo", "text": {"en": "Complaint?", "ar": "شكوى؟"}, "required": true},
            {"id": "what", "type": "text", "text": {"en": "What?", "ar": "ماذا؟"}, "required": true, "maxLength": 20,
             "showIf": {"questionId": "has-a-complaint", "op": "==", "value": true}},
            {"id": "where", "type": "multiChoice", "text": {"en": "Where?", "ar": "أين؟"}, "maxChoices": 2,
             "options": [{"value": "a", "text": "A"}, {"value": "b", "text": "B"}, "c"],
             "skipIf": {"questionId": "rate", "op": ">=", "value": 9}}
        ],
        "triggers": [{
            "id": "csi-gr-trigger", "enabled": true, "eventKind": "service-visit-closed",
            "filter": {"questionId": "candidate.jobType", "op": "==", "value": "GR"},
            "dedupRecipe": ["templateId", "recipient.address", "candidate.dealerId", "candidate.wip"],
            "schedule": {"initialDelay": "0d", "reminders": ["1d"]}, "channel": "memory:default"
        }]
    })
}

fn payload() -> Map<String, Value> {
    json!({"wip": "40956", "dealerId": "1", "jobType": "GR", "VIN": "JTMABBBJ2N4024400", "CustomerName": "Kadhem Owaid"})
        .as_object()
        .unwrap()
        .clone()
}

fn candidate(payload: &Map<String, Value>) -> Candidate<'_> {
    Candidate {
        survey_id: 4523,
        payload,
        address: "+964 770 000 0001",
        locale: Some("ar"),
        customer_ref: Some("cust-123"),
    }
}

fn hex(bytes: [u8; 32]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[test]
fn the_worked_example_has_its_golden_hash() {
    let schema = Schema::read(&csi_gr()).unwrap();
    let payload = payload();
    let hash = schema.triggers[0].recipe.hash(&candidate(&payload));
    assert_eq!(hex(hash), "6383108901bdd1b187b55f88d5c3ddce0670dfe24a066f34655538f1d4564efa");
}

#[test]
fn an_empty_value_and_a_neighbour_s_text_collide_with_nothing() {
    let recipe = |paths: &[&str]| Recipe(paths.iter().map(|path| (*path).to_owned()).collect());
    let with = |pairs: Value| pairs.as_object().unwrap().clone();
    let (empty, number) = (with(json!({})), with(json!({"wip": 40956, "dealerId": "1"})));
    let x = recipe(&["candidate.X"]).hash(&candidate(&empty));
    assert_ne!(x, recipe(&["candidate.Y"]).hash(&candidate(&empty)));
    assert_eq!(x, recipe(&["candidate.X"]).hash(&candidate(&with(json!({"X": ""})))));
    let both = recipe(&["candidate.dealerId", "candidate.wip"]);
    assert_eq!(both.hash(&candidate(&number)), both.hash(&candidate(&payload())));
    let sly = with(json!({"dealerId": "1\u{1f}candidate.wip=2", "wip": ""}));
    assert_ne!(
        both.hash(&candidate(&sly)),
        both.hash(&candidate(&with(json!({"dealerId": "1", "wip": "2"}))))
    );
}

#[test]
fn the_filter_of_a_trigger_sees_the_event() {
    let schema = Schema::read(&csi_gr()).unwrap();
    let filter = schema.triggers[0].filter.clone().unwrap();
    let mut payload = payload();
    assert!(filter.matches(&|path| candidate(&payload).get(path)));
    payload.insert("jobType".into(), "PM".into());
    assert!(!filter.matches(&|path| candidate(&payload).get(path)));
}

#[track_caller]
fn faults(schema: Value, expected: &[(&str, &str)]) {
    let faults = Schema::read(&schema).unwrap_err();
    let found: Vec<_> = faults.iter().map(|fault| (fault.pointer.as_str(), fault.code)).collect();
    assert_eq!(found, expected, "{faults:#?}");
}

#[test]
fn each_fault_of_a_schema_has_its_pointer() {
    faults(json!({}), &[("/title", "missing_field"), ("/questions", "missing_field")]);
    faults(json!(7), &[("", "wrong_type")]);
    let mut schema = csi_gr();
    schema["titel"] = json!("x");
    schema["questions"][0]["type"] = json!("stars");
    schema["questions"][2]["showIf"]["questionId"] = json!("where");
    schema["questions"][3]["id"] = json!("rate");
    faults(
        schema,
        &[
            ("/titel", "unknown_field"),
            ("/questions/0/type", "out_of_range"),
            ("/questions/2/showIf", "out_of_range"),
            ("/questions/3/id", "field_conflict"),
        ],
    );
    let mut schema = csi_gr();
    let trigger = &mut schema["triggers"][0];
    trigger["eventKind"] = Value::Null;
    trigger["filter"] = json!({"questionId": "jobType", "op": "=="});
    trigger["dedupRecipe"] = json!(["templateId", "wip", 7]);
    trigger["schedule"] = json!({"initialDelay": "soon", "reminders": ["1d", "1 week", "0d"]});
    trigger["channel"] = json!("mail");
    trigger["maxLateness"] = json!("-1d");
    trigger["subscribers"] = json!([{"key": "webhook:bi", "filter": {"questionId": "no", "op": "exists"}}]);
    faults(
        schema,
        &[
            ("/triggers/0/eventKind", "missing_field"),
            ("/triggers/0/filter/value", "missing_field"),
            ("/triggers/0/dedupRecipe/1", "out_of_range"),
            ("/triggers/0/dedupRecipe/2", "wrong_type"),
            ("/triggers/0/schedule/initialDelay", "duration_invalid"),
            ("/triggers/0/schedule/reminders/1", "duration_invalid"),
            ("/triggers/0/schedule/reminders/2", "out_of_range"),
            ("/triggers/0/channel", "key_invalid"),
            ("/triggers/0/maxLateness", "duration_invalid"),
            ("/triggers/0/subscribers/0/filter", "out_of_range"),
        ],
    );
}

fn codes(recipe: Value) -> Vec<&'static str> {
    let mut schema = csi_gr();
    schema["triggers"][0]["dedupRecipe"] = recipe;
    lint(&Schema::read(&schema).unwrap()).into_iter().map(|warning| warning.code).collect()
}

#[test]
fn recipes_that_are_too_narrow_or_too_wide_are_pointed_out() {
    assert!(
        codes(json!(["templateId", "recipient.address", "candidate.dealerId", "candidate.wip"])).is_empty()
    );
    assert_eq!(codes(json!(["templateId", "recipient.address", "candidate.wip"])), ["recipe_narrow"]);
    assert_eq!(
        codes(json!([
            "templateId",
            "recipient.address",
            "candidate.dealerId",
            "candidate.wip",
            "candidate.timestamp"
        ])),
        ["recipe_volatile"]
    );
    assert_eq!(
        codes(json!(["candidate.closedAt"])),
        ["recipe_no_template", "recipe_no_recipient", "recipe_no_natural_id", "recipe_volatile"]
    );
    assert!(codes(json!(["templateId", "recipient.address", "candidate.flat", "candidate.wip"])).is_empty());
    let mut schema = csi_gr();
    let mut second = schema["triggers"][0].clone();
    second["id"] = json!("second");
    schema["triggers"].as_array_mut().unwrap().push(second);
    let warnings = lint(&Schema::read(&schema).unwrap());
    assert_eq!(
        warnings.iter().map(|w| (w.pointer.as_str(), w.code)).collect::<Vec<_>>(),
        [("/triggers/1/dedupRecipe", "recipe_equal")]
    );
}

#[track_caller]
fn answered(answers: Value, expected: Result<Value, &[(&str, &str)]>) {
    let schema = Schema::read(&csi_gr()).unwrap();
    let checked = check_answers(&schema, answers.as_object().unwrap());
    let found = checked
        .map(Value::Object)
        .map_err(|faults| faults.into_iter().map(|fault| (fault.pointer, fault.code)).collect::<Vec<_>>());
    let expected = expected.map_err(|faults| {
        faults.iter().map(|(pointer, code)| ((*pointer).to_owned(), *code)).collect::<Vec<_>>()
    });
    assert_eq!(found, expected, "{answers}");
}

#[test]
fn answers_are_checked_against_what_is_shown() {
    let full = json!({"rate": 7, "has-a-complaint": true, "what": "late", "where": ["a", "c", "a"]});
    answered(full, Ok(json!({"rate": 7, "has-a-complaint": true, "what": "late", "where": ["a", "c"]})));
    // A question that is skipped needs no answer, and one that is not shown takes none.
    answered(
        json!({"rate": 10, "has-a-complaint": false, "what": "", "where": []}),
        Ok(json!({"rate": 10, "has-a-complaint": false})),
    );
    answered(
        json!({"rate": 10, "has-a-complaint": false, "what": "x", "where": ["a"]}),
        Err(&[("/what", "field_conflict"), ("/where", "field_conflict")]),
    );
    answered(json!({}), Err(&[("/rate", "missing_field"), ("/has-a-complaint", "missing_field")]));
    answered(
        json!({"rate": 11, "has-a-complaint": "yes", "color": 1}),
        Err(&[("/color", "unknown_field"), ("/rate", "out_of_range"), ("/has-a-complaint", "wrong_type")]),
    );
    answered(
        json!({"rate": 7.5, "has-a-complaint": true, "what": "x".repeat(21), "where": ["a", "b", "c"]}),
        Err(&[("/rate", "wrong_type"), ("/what", "out_of_range"), ("/where", "out_of_range")]),
    );
    answered(
        json!({"rate": 7, "has-a-complaint": false, "where": ["z"]}),
        Err(&[("/where", "out_of_range")]),
    );
}

#[test]
fn a_reader_gets_the_nearest_language() {
    let schema = Schema::read(&csi_gr()).unwrap();
    assert_eq!((schema.default_locale.as_str(), schema.locales()), ("en", vec!["en", "ar"]));
    for (wanted, locale) in [(Some("ar-IQ"), "ar"), (Some("AR_iq"), "ar"), (Some("fr"), "en"), (None, "en")] {
        assert_eq!(schema.locale(wanted), locale, "{wanted:?}");
    }
    assert!(is_right_to_left("ar-IQ") && is_right_to_left("he") && !is_right_to_left("en"));
}
