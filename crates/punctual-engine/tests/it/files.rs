//! Files that go along with a message: read when it is sent, once for all of its targets.

use punctual_engine::{
    Actor,
    uploads::{FileContent, NewUpload, WantedFile},
};
use punctual_model::FileRef;
use punctual_store::uploads::UploadRow;
use punctual_testkit::{TestBed, on_both};

on_both! {
    files_go_along_to_every_target;
    a_message_whose_file_is_gone_is_parked_without_an_attempt;
    a_channel_that_cannot_send_files_parks_what_a_caller_attached;
    uploads_live_as_long_as_what_uses_them;
}

fn file(blob: &str) -> FileRef {
    FileRef {
        digest: None,
        bytes: None,
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

fn upload(content: &[u8]) -> NewUpload {
    NewUpload { business_unit: None, media_type: "text/csv".into(), content: content.to_vec() }
}

async fn attached(bed: &TestBed, id: &str) -> Vec<FileRef> {
    let file = WantedFile {
        name: "figures.csv".into(),
        media_type: None,
        content: FileContent::Upload(id.to_owned()),
    };
    let mut made = bed.engine.attach(&Actor::named("test"), vec![vec![file]]).await.unwrap();
    made.pop().unwrap().unwrap()
}

async fn a_channel_that_cannot_send_files_parks_what_a_caller_attached(bed: TestBed) {
    bed.channel("inbox:default", "inbox").await;
    let row = bed.engine.upload(vec![upload(b"a,b")]).await.unwrap().pop().unwrap();
    let mut new = bed.message_over("inbox:default", &["x"]);
    new.attachments = attached(&bed, &row.id).await;
    let id = bed.accept_one(new).await;
    bed.tick().await;
    let row = bed.notification(&id).await;
    assert_eq!(
        (row.status.as_str(), row.reason_code.as_deref()),
        ("parked", Some("attachments-not-supported"))
    );
}

async fn uploads_live_as_long_as_what_uses_them(bed: TestBed) {
    let rows = bed.engine.upload(vec![upload(b"used"), upload(b"not used")]).await.unwrap();
    let mut new = bed.message("x");
    new.attachments = attached(&bed, &rows[0].id).await;
    bed.accept_one(new).await;
    bed.tick().await;
    assert_eq!(bed.sent()[0].attachments, ["figures.csv"]);
    let is_there = async |row: &UploadRow| {
        let blob = bed.engine.blobs.get(&FileRef::upload_blob(&row.id)).await.unwrap();
        blob.is_some()
    };
    bed.wait(23 * 3600);
    bed.engine.purge(bed.now()).await.unwrap();
    assert!(is_there(&rows[0]).await && is_there(&rows[1]).await);
    bed.wait(2 * 3600);
    bed.engine.purge(bed.now()).await.unwrap();
    assert!(is_there(&rows[0]).await && !is_there(&rows[1]).await);
    let file = WantedFile {
        name: "late.csv".into(),
        media_type: None,
        content: FileContent::Upload(rows[1].id.clone()),
    };
    let late = bed.engine.attach(&Actor::named("test"), vec![vec![file]]).await.unwrap();
    assert_eq!(late, [Err(0)], "what was removed cannot be attached");
    bed.wait(400 * 24 * 3600);
    bed.engine.purge_confirmed(bed.now()).await.unwrap();
    assert!(!is_there(&rows[0]).await, "it goes with its message");
}
