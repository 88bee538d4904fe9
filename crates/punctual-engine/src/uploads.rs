//! Uploaded files: stored before a message that uses them is accepted, and removed when nothing uses them.

use std::{collections::HashMap, time::Duration};

use jiff::Timestamp;
use punctual_boxed::boxed;
use punctual_model::FileRef;
use punctual_store::{
    Lane,
    uploads::{self, UploadRow},
};
use sha2::{Digest, Sha256};

use crate::{Actor, Engine, EngineError, config::later, keys::hex};

/// How long a file is kept that nothing uses yet.
const UNUSED_FOR: Duration = Duration::from_secs(24 * 60 * 60);
/// Files removed in one transaction.
const REMOVED_AT_ONCE: i64 = 100;

/// A file that is to be kept.
pub struct NewUpload {
    pub business_unit: Option<String>,
    pub media_type: String,
    pub content: Vec<u8>,
}

/// A file that is to go along with a message.
pub struct WantedFile {
    pub name: String,
    /// For an upload, only where it is to differ from what it was uploaded with.
    pub media_type: Option<String>,
    pub content: FileContent,
}

/// Where the content of a file comes from.
pub enum FileContent {
    Inline {
        business_unit: Option<String>,
        bytes: Vec<u8>,
    },
    /// The id of an upload.
    Upload(String),
}

/// What a media type is where a caller does not say.
const UNKNOWN_TYPE: &str = "application/octet-stream";

impl Engine {
    /// Keeps files until something uses them, for a day at most. When it returns they are on disk.
    #[boxed]
    pub async fn upload(&self, new: Vec<NewUpload>) -> Result<Vec<UploadRow>, EngineError> {
        if new.is_empty() {
            return Ok(Vec::new());
        }
        let now = self.clock.now();
        let rows: Vec<UploadRow> = new.iter().map(|one| self.upload_row(one, now)).collect();
        let mut tx = self.store.begin(Lane::Intake).await?;
        uploads::insert(&mut tx.conn(), &rows).await?;
        tx.commit().await?;
        for (row, new) in rows.iter().zip(new) {
            self.blobs.put(&FileRef::upload_blob(&row.id), new.content).await?;
        }
        let mut tx = self.store.begin(Lane::Intake).await?;
        uploads::stored(&mut tx.conn(), rows.iter().map(|row| row.id.clone()).collect()).await?;
        tx.commit().await?;
        Ok(rows)
    }

    fn upload_row(&self, new: &NewUpload, now: Timestamp) -> UploadRow {
        UploadRow {
            id: self.random.ordered_uuid(now).to_string(),
            business_unit: new.business_unit.clone(),
            digest: hex(&Sha256::digest(&new.content)),
            media_type: new.media_type.clone(),
            bytes: i64::try_from(new.content.len()).unwrap_or(i64::MAX),
            keep_until: later(now, UNUSED_FOR),
            created_at: now,
        }
    }

    /// The files of messages that are about to be accepted, for each message in order: inline ones are kept, uploads are
    /// looked up among those that the caller may use. An upload that is not there is named by its place.
    #[boxed]
    pub async fn attach(
        &self,
        by: &Actor,
        wanted: Vec<Vec<WantedFile>>,
    ) -> Result<Vec<Result<Vec<FileRef>, usize>>, EngineError> {
        let known = self.known_uploads(by, &wanted).await?;
        let mut inline = Vec::new();
        let mut resolved = Vec::with_capacity(wanted.len());
        for files in wanted {
            let before = inline.len();
            let placed = files.into_iter().enumerate();
            let placed: Result<Vec<Placed>, usize> =
                placed.map(|(at, file)| place(file, &known, &mut inline).ok_or(at)).collect();
            if placed.is_err() {
                inline.truncate(before);
            }
            resolved.push(placed);
        }
        let kept = self.upload(inline).await?;
        let finish = |files: Vec<Placed>| {
            let finished = files.into_iter().filter_map(|one| match one {
                Placed::Known(file) => Some(file),
                Placed::New(index, name) => Some(file_ref(kept.get(index)?, name, None)),
            });
            finished.collect()
        };
        Ok(resolved.into_iter().map(|files| files.map(finish)).collect())
    }

    async fn known_uploads(
        &self,
        by: &Actor,
        wanted: &[Vec<WantedFile>],
    ) -> Result<HashMap<String, UploadRow>, EngineError> {
        let ids = wanted.iter().flatten().filter_map(|file| match &file.content {
            FileContent::Upload(id) => Some(id.clone()),
            FileContent::Inline { .. } => None,
        });
        let mut ids: Vec<String> = ids.collect();
        if ids.is_empty() {
            return Ok(HashMap::new());
        }
        ids.sort_unstable();
        ids.dedup();
        let now = self.clock.now();
        let mut tx = self.store.begin(Lane::Intake).await?;
        let rows = uploads::take(&mut tx.conn(), ids, now, later(now, UNUSED_FOR), &by.reach()).await?;
        tx.commit().await?;
        Ok(rows.into_iter().map(|row| (row.id.clone(), row)).collect())
    }

    /// Removes files that nothing uses any more: first nobody can use them, then the blob goes, then the row.
    pub(crate) async fn purge_uploads(
        &self,
        now: Timestamp,
        over_before: Timestamp,
    ) -> Result<usize, EngineError> {
        loop {
            let mut tx = self.store.begin(Lane::Claim).await?;
            let released =
                uploads::release_messages_over(&mut tx.conn(), over_before, REMOVED_AT_ONCE).await?;
            tx.commit().await?;
            if released == 0 {
                break;
            }
        }
        let mut removed = 0;
        loop {
            let mut tx = self.store.begin(Lane::Claim).await?;
            let doomed = uploads::doom(&mut tx.conn(), now, REMOVED_AT_ONCE).await?;
            tx.commit().await?;
            if doomed.is_empty() {
                return Ok(removed);
            }
            for id in &doomed {
                if let Err(error) = self.blobs.delete(&FileRef::upload_blob(id)).await {
                    // The rows stay, and the next purge removes these files.
                    tracing::warn!(upload.id = id, %error, "an expired upload could not be removed");
                    return Ok(removed);
                }
            }
            removed += doomed.len();
            let mut tx = self.store.begin(Lane::Claim).await?;
            uploads::delete(&mut tx.conn(), doomed).await?;
            tx.commit().await?;
        }
    }
}

enum Placed {
    Known(FileRef),
    /// The file at this place of what was kept.
    New(usize, String),
}

/// Where a file will be; nothing for an upload that is not known.
fn place(
    file: WantedFile,
    known: &HashMap<String, UploadRow>,
    inline: &mut Vec<NewUpload>,
) -> Option<Placed> {
    match file.content {
        FileContent::Upload(id) => Some(Placed::Known(file_ref(known.get(&id)?, file.name, file.media_type))),
        FileContent::Inline { business_unit, bytes } => {
            let media_type = file.media_type.unwrap_or_else(|| UNKNOWN_TYPE.to_owned());
            inline.push(NewUpload { business_unit, media_type, content: bytes });
            Some(Placed::New(inline.len() - 1, file.name))
        }
    }
}

fn file_ref(row: &UploadRow, file_name: String, media_type: Option<String>) -> FileRef {
    FileRef {
        blob: FileRef::upload_blob(&row.id),
        file_name,
        media_type: media_type.unwrap_or_else(|| row.media_type.clone()),
        content_id: None,
        digest: Some(row.digest.clone()),
        bytes: Some(row.bytes),
    }
}
