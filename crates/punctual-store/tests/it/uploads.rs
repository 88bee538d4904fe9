//! The statements of `uploads` and `upload_uses`.

use punctual_model::{FileRef, Reach};
use punctual_store::{
    notifications::{self, NotificationRow},
    uploads::{self, UploadRow},
};
use punctual_testkit::{TestBed, on_both};

on_both! {
    only_what_is_stored_and_within_reach_is_taken;
    what_is_used_is_not_removed;
    files_of_a_message_are_released_when_it_is_over;
}

fn row(bed: &TestBed, id: &str, unit: Option<&str>) -> UploadRow {
    UploadRow {
        id: id.into(),
        business_unit: unit.map(str::to_owned),
        digest: "00".into(),
        media_type: "text/csv".into(),
        bytes: 3,
        keep_until: bed.after(60),
        created_at: bed.now(),
    }
}

async fn insert(bed: &TestBed, rows: &[UploadRow]) {
    let mut tx = bed.begin().await;
    uploads::insert(&mut tx.conn(), rows).await.unwrap();
    let ids = rows.iter().map(|row| row.id.clone()).collect();
    assert_eq!(uploads::stored(&mut tx.conn(), ids).await.unwrap(), rows.len() as u64);
    tx.commit().await.unwrap();
}

async fn taken(bed: &TestBed, ids: &[&str], reach: &Reach) -> Vec<String> {
    let ids = ids.iter().map(|id| (*id).to_owned()).collect();
    let mut tx = bed.begin().await;
    let rows = uploads::take(&mut tx.conn(), ids, bed.now(), bed.after(60), reach).await.unwrap();
    tx.commit().await.unwrap();
    let mut ids: Vec<String> = rows.into_iter().map(|row| row.id).collect();
    ids.sort_unstable();
    ids
}

async fn only_what_is_stored_and_within_reach_is_taken(bed: TestBed) {
    insert(&bed, &[row(&bed, "nz", Some("nz")), row(&bed, "de", Some("de")), row(&bed, "all", None)]).await;
    let mut tx = bed.begin().await;
    uploads::insert(&mut tx.conn(), &[row(&bed, "half", Some("nz"))]).await.unwrap();
    tx.commit().await.unwrap();
    let ids = ["nz", "de", "all", "half", "none"];
    assert_eq!(taken(&bed, &ids, &Reach::Everything).await, ["all", "de", "nz"]);
    assert_eq!(taken(&bed, &ids, &Reach::Units(vec!["nz".into()])).await, ["nz"]);
    bed.wait(61);
    assert!(taken(&bed, &ids, &Reach::Everything).await.is_empty(), "its time is over");
}

fn file(upload: &str) -> FileRef {
    FileRef {
        blob: FileRef::upload_blob(upload),
        file_name: "a.csv".into(),
        media_type: "text/csv".into(),
        content_id: None,
        digest: Some("00".into()),
        bytes: Some(3),
    }
}

async fn doomed(bed: &TestBed) -> Vec<String> {
    let mut tx = bed.begin().await;
    let mut ids = uploads::doom(&mut tx.conn(), bed.now(), 10).await.unwrap();
    uploads::delete(&mut tx.conn(), ids.clone()).await.unwrap();
    tx.commit().await.unwrap();
    ids.sort_unstable();
    ids
}

async fn what_is_used_is_not_removed(bed: TestBed) {
    insert(&bed, &["used", "shared", "unused"].map(|id| row(&bed, id, None))).await;
    let mut rows = Vec::new();
    for files in [vec![file("used"), file("shared")], vec![file("shared")]] {
        let mut new = bed.message("x");
        new.attachments = files;
        let channel = new.channel.clone().unwrap();
        rows.push(NotificationRow::new(new, channel, bed.now()));
    }
    rows.sort_by_key(|row| row.id);
    let mut tx = bed.begin().await;
    let refs: Vec<&NotificationRow> = rows.iter().collect();
    assert_eq!(notifications::insert_absent(&mut tx.conn(), &refs).await.unwrap().len(), 2);
    tx.commit().await.unwrap();
    bed.wait(61);
    assert_eq!(doomed(&bed).await, ["unused"]);
    assert_eq!(
        taken(&bed, &["used"], &Reach::Everything).await,
        ["used"],
        "what is in use may be used again"
    );
    bed.wait(61);
    bed.tick().await;
    bed.wait(400 * 24 * 3600);
    bed.engine.purge_confirmed(bed.now()).await.unwrap();
    assert!(doomed(&bed).await.is_empty(), "the purge has removed them with their messages");
    assert!(taken(&bed, &["used", "shared"], &Reach::Everything).await.is_empty());
}

async fn files_of_a_message_are_released_when_it_is_over(bed: TestBed) {
    insert(&bed, &[row(&bed, "used", None)]).await;
    let id = bed.schedule("s-1", "t", bed.after(100)).await;
    let key = bed.work_by_id(id).await.key;
    let mut tx = bed.begin().await;
    uploads::use_by_message(&mut tx.conn(), &key, &[file("used")]).await.unwrap();
    tx.commit().await.unwrap();
    let over = async |before| {
        let mut tx = bed.begin().await;
        let count = uploads::release_messages_over(&mut tx.conn(), before, 10).await.unwrap();
        tx.commit().await.unwrap();
        count
    };
    bed.wait(61);
    assert_eq!(over(bed.now()).await, 0, "its work row is pending");
    assert!(doomed(&bed).await.is_empty());
    bed.wait(60);
    bed.tick().await;
    assert_eq!(over(bed.now()).await, 0, "it was over just now");
    assert_eq!(over(bed.after(1)).await, 1);
    assert_eq!(doomed(&bed).await, ["used"]);
}
