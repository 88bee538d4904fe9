//! Files that go along with a message: read when it is sent, once for all of its targets.

use punctual_model::FileRef;
use punctual_testkit::{TestBed, on_both};

on_both! {
    files_go_along_to_every_target;
    a_message_whose_file_is_gone_is_parked_without_an_attempt;
}

fn file(blob: &str) -> FileRef {
    FileRef {
        blob: blob.into(),
        file_name: "figures.csv".into(),
        media_type: "text/csv".into(),
        content_id: None,
    }
}

async fn files_go_along_to_every_target(bed: TestBed) {
    bed.engine.blobs.put("runs/a/figures.csv", b"a,b".to_vec()).await.unwrap();
    let mut new = bed.message_over("memory:default", &["x", "y"]);
    new.attachments = vec![file("runs/a/figures.csv")];
    bed.accept_one(new).await;
    bed.tick().await;
    let sent = bed.sent();
    assert_eq!(sent.len(), 2);
    assert!(sent.iter().all(|one| one.attachments == ["figures.csv"]));
}

async fn a_message_whose_file_is_gone_is_parked_without_an_attempt(bed: TestBed) {
    let mut new = bed.message("x");
    new.attachments = vec![file("runs/none/figures.csv")];
    let id = bed.accept_one(new).await;
    bed.tick().await;
    let row = bed.notification(&id).await;
    assert_eq!((row.status.as_str(), row.reason_code.as_deref()), ("parked", Some("attachment-missing")));
    assert!(bed.sent().is_empty());
}
