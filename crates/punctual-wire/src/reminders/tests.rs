use serde_json::json;

use super::*;

fn date_based() -> Value {
    json!({"name": "First aid", "sourceType": "document", "triggerKey": "first-aid-expiry", "kind": "dateBased",
        "date": {"field": "/expiresOn", "offsetsDays": [30, 7, -1], "sendTime": "09:00"},
        "filter": {"questionId": "state.kind", "op": "==", "value": "first-aid"},
        "recipients": {"addresses": ["a@b.example"]},
        "delivery": {"channel": "email:default", "template": "first-aid", "quietHours": {"from": "22:00", "to": "07:00"}},
        "maxLateness": "1d", "active": true})
}

#[test]
fn a_setting_is_read_and_written_alike() {
    let recurring = json!({"name": "Anniversary", "businessUnit": "nz", "sourceType": "person", "triggerKey": "years",
        "kind": "recurring", "recurring": {"field": "/hiredOn", "every": "year", "offsetDays": 3},
        "recipients": {"field": "/email"}, "delivery": {}, "active": false});
    let threshold = json!({"name": "Nearly full", "sourceType": "class", "triggerKey": "full", "kind": "threshold",
        "threshold": {"metric": {"share": ["/booked", "/capacity"]}, "op": ">=", "value": 0.9,
            "firingPolicy": "FalseToTrue", "scope": "all"},
        "recipients": {"list": "ops"}, "delivery": {"subject": "S", "body": "B"}, "active": true});
    for body in [date_based(), recurring, threshold] {
        assert_eq!(serde_json::to_value(ReminderSettingRequest::read(&body, "").unwrap()).unwrap(), body);
    }
}

#[test]
fn each_fault_names_its_field() {
    #[track_caller]
    fn check(change: impl FnOnce(&mut Value), expected: &[(&str, &str)]) {
        let mut body = date_based();
        change(&mut body);
        let faults = ReminderSettingRequest::read(&body, "").unwrap_err();
        let found: Vec<_> =
            faults.iter().map(|fault| (fault.pointer.as_str(), fault.code.as_str())).collect();
        assert_eq!(found, expected, "{body}");
    }
    check(|body| body["name"] = json!(null), &[("/name", "missing_field")]);
    check(|body| body["date"] = json!(null), &[("/date", "missing_field")]);
    check(|body| body["date"]["offsetsDays"] = json!([]), &[("/date/offsetsDays", "out_of_range")]);
    check(
        |body| body["date"]["offsetsDays"] = json!([1, 1, 9_999, "7"]),
        &[
            ("/date/offsetsDays/1", "field_conflict"),
            ("/date/offsetsDays/2", "out_of_range"),
            ("/date/offsetsDays/3", "wrong_type"),
        ],
    );
    check(|body| body["date"]["sendtime"] = json!("09:00"), &[("/date/sendtime", "unknown_field")]);
    check(|body| body["recurring"] = json!({"field": "/x"}), &[("/recurring", "field_conflict")]);
    check(
        |body| body["recipients"] = json!({"addresses": ["a"]}),
        &[("/recipients/addresses/0", "address_invalid")],
    );
    check(|body| body["delivery"] = json!(null), &[("/delivery", "missing_field")]);
    check(|body| body["delivery"]["channel"] = json!("Email"), &[("/delivery/channel", "key_invalid")]);
    check(
        |body| body["delivery"]["quietHours"] = json!({"from": "22:00"}),
        &[("/delivery/quietHours/to", "missing_field")],
    );
    check(|body| body["maxLatenes"] = json!("1d"), &[("/maxLatenes", "unknown_field")]);
    let faults = ReminderSettingRequest::read(&json!({}), "").unwrap_err();
    let pointers: Vec<_> = faults.iter().map(|fault| fault.pointer.as_str()).collect();
    assert_eq!(pointers, ["/kind", "/delivery", "/name", "/sourceType", "/triggerKey", "/recipients"]);
}

#[test]
fn a_threshold_is_checked_field_by_field() {
    let body = json!({"name": "n", "sourceType": "class", "triggerKey": "k", "kind": "threshold",
        "threshold": {"op": "=", "value": "many", "firingPolicy": "Often"}, "recipients": {"list": "ops"}, "delivery": {}});
    let faults = ReminderSettingRequest::read(&body, "").unwrap_err();
    let found: Vec<_> = faults.iter().map(|fault| (fault.pointer.as_str(), fault.code.as_str())).collect();
    let expected = [
        ("/threshold/value", "wrong_type"),
        ("/threshold/metric", "missing_field"),
        ("/threshold/op", "out_of_range"),
        ("/threshold/firingPolicy", "out_of_range"),
    ];
    assert_eq!(found, expected);
}
