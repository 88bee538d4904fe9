use serde_json::json;

use super::*;

const ID: &str = "0197a3c4-5d6e-7f80-9a1b-2c3d4e5f6071";

fn item() -> SiteItem {
    let body = json!({"id": ID, "list": "ops", "subject": "S", "body": "B", "script": "watch.sh"});
    SiteItem::read(&body, "").unwrap()
}

#[test]
fn the_digest_is_frozen_and_knows_every_field() {
    // Frozen: another value would make acknowledgements of other versions worthless.
    assert_eq!(item().digest(), "676bc18b0881404b");
    let others = [
        SiteItem { list: "op".into(), subject: "sS".into(), ..item() },
        SiteItem { body: "b".into(), ..item() },
        SiteItem { script: None, instance: Some("watch.sh".into()), ..item() },
        SiteItem { script: Some(String::new()), ..item() },
        SiteItem { id: ID.replace('7', "8"), ..item() },
    ];
    for other in others {
        assert_ne!(other.digest(), item().digest(), "{other:?}");
    }
    let later = SiteItem { enqueued_at: Some(Timestamp::UNIX_EPOCH), ..item() };
    assert_eq!(later.digest(), item().digest(), "a resend may say another time");
}

#[test]
fn a_bad_item_or_report_spoils_nothing_else() {
    let body = json!({
        "items": [{"id": ID, "list": "ops", "subject": "S", "body": "B", "later": 1}, {"id": "7"}, 3],
        "report": {"backlog": -1}
    });
    let read = SiteHandOver::read_body(&body).unwrap();
    assert!(read.items[0].is_ok());
    let faults = read.items[1].as_ref().unwrap_err();
    assert_eq!((faults[0].pointer.as_str(), faults[0].code), ("/items/1/id", Code::KeyInvalid));
    assert_eq!(read.ids, [Some(ID.to_owned()), Some("7".to_owned()), None]);
    assert!(read.items[2].is_err() && read.report.is_none());
    let many = json!({"items": vec![0; 10_001]});
    assert_eq!(SiteHandOver::read_body(&many).unwrap_err().code, Code::BatchTooLarge);
    assert_eq!(SiteHandOver::read_body(&json!({})).unwrap_err().code, Code::MissingField);
}

#[test]
fn a_report_is_read_and_written_alike() {
    let at = "2026-05-14T05:00:00Z";
    let report = json!({"version": "0.1.0", "sentAt": at, "backlog": 3, "oldestBufferedAgeSeconds": 9, "refused": 0,
        "events": [{"id": ID, "category": "notification", "kind": "forward-failed", "at": at, "lastAt": at,
                    "count": 2, "detail": "refused"}]});
    let read = SiteHandOver::read_body(&json!({"items": [], "report": report})).unwrap();
    assert_eq!(serde_json::to_value(read.report.unwrap()).unwrap(), report);
}

#[test]
fn a_site_has_a_plain_id() {
    assert_eq!(SiteRequest::read(&json!({"id": "plant-7"}), "").unwrap().id, "plant-7");
    for bad in ["", "a b", "../x", "-a", "é", "a/b"] {
        let faults = SiteRequest::read(&json!({"id": bad}), "").unwrap_err();
        assert_eq!(faults[0].code, Code::KeyInvalid, "{bad}");
    }
    assert!(!format!("{:?}", SiteToken { id: "a".into(), token: "secret-1".into() }).contains("secret-1"));
}
