//! The files of notifications and messages: kept before anything that uses them is accepted.

use std::collections::HashSet;

use punctual_engine::uploads::{FileContent, WantedFile};
use punctual_model::{ChannelKey, FileRef, attachment::BYTES_MAX};
use punctual_wire::{
    Code, FieldError, Problem, attachments::AttachmentRequest, content::Content, handling::Handling,
};

use crate::{App, answer::Failure, auth::Principal};

/// What one message of a request wants to bring along.
pub(crate) struct Wanted {
    pub files: Vec<AttachmentRequest>,
    pub business_unit: Option<String>,
    /// Where the message is in the request.
    pub pointer: String,
    /// The channels that it may be sent over, as far as it names them.
    pub channels: Vec<NamedChannel>,
}

/// A channel that a message may be sent over, and where its request says so.
pub(crate) struct NamedChannel {
    pub pointer: String,
    pub key: String,
}

impl NamedChannel {
    /// Its own channel, or the usual one of its kind; none where that is for its list to say. Then those of its failover.
    pub(crate) fn of(content: &Content, kind: &str, handling: &Handling, pointer: &str) -> Vec<Self> {
        let usual = || ChannelKey::for_targets(kind).to_string();
        let first = content.channel.clone().or_else(|| content.list.is_none().then(usual));
        let first = first.map(|key| Self { pointer: format!("{pointer}/channel"), key });
        let next = handling.failover.iter().enumerate();
        let next = next
            .map(|(place, key)| Self { pointer: format!("{pointer}/failover/{place}"), key: key.clone() });
        first.into_iter().chain(next).collect()
    }
}

impl Wanted {
    /// The channels among those that do not exist: its message is parked until they do.
    fn warnings(&self, unknown: &HashSet<String>) -> Vec<FieldError> {
        let missing = self.channels.iter().filter(|one| unknown.contains(&one.key));
        missing.map(|one| FieldError::channel_unknown(&one.pointer, &one.key)).collect()
    }

    /// Refuses files for a channel that is open here and cannot send any.
    pub(crate) fn check_channels(&self, app: &App) -> Result<(), Problem> {
        if self.files.is_empty() {
            return Ok(());
        }
        let cannot = |one: &&NamedChannel| app.engine.channels.carries_files(&one.key) == Some(false);
        match self.channels.iter().find(cannot) {
            None => Ok(()),
            Some(NamedChannel { key, .. }) => {
                let detail = format!("The channel `{key}` cannot send attachments; mail and webhooks can.");
                let pointer = format!("{}/attachments", self.pointer);
                Err(vec![FieldError::new(pointer, Code::AttachmentsNotSupported, detail)].into())
            }
        }
    }
}

/// New messages with their files in place, each with what it is warned of. One whose files are refused is refused.
pub(crate) async fn complete<T>(
    app: &App,
    caller: &Principal,
    unknown: &HashSet<String>,
    many: Vec<(T, Wanted)>,
    with: impl Fn(T, Vec<FileRef>) -> T,
) -> Result<Vec<Result<(T, Vec<FieldError>), Problem>>, Failure> {
    let (many, wanted): (Vec<_>, Vec<_>) = many.into_iter().unzip();
    let warnings: Vec<Vec<FieldError>> = wanted.iter().map(|one| one.warnings(unknown)).collect();
    let files = attach(app, caller, wanted).await?;
    let made = many.into_iter().zip(warnings).zip(files);
    Ok(made.map(|((new, warnings), files)| Ok((with(new, files?), warnings))).collect())
}

/// The files of each message, as they are stored. A message without files costs nothing.
async fn attach(
    app: &App,
    caller: &Principal,
    wanted: Vec<Wanted>,
) -> Result<Vec<Result<Vec<FileRef>, Problem>>, Failure> {
    if wanted.iter().all(|one| one.files.is_empty()) {
        return Ok(wanted.into_iter().map(|_| Ok(Vec::new())).collect());
    }
    let (mut files, mut pointers) = (Vec::with_capacity(wanted.len()), Vec::with_capacity(wanted.len()));
    for one in wanted {
        let unit = one.business_unit;
        files.push(one.files.into_iter().map(|file| as_wanted(file, unit.as_deref())).collect());
        pointers.push(format!("{}/attachments", one.pointer));
    }
    let attached = app.engine.attach(&caller.by, files).await?;
    let checked = attached.into_iter().zip(pointers).map(|(files, pointer)| {
        let files = files.map_err(|place| {
            let detail = "There is no such blob; upload it to `/api/v1/blobs`, it is kept for a day.";
            vec![FieldError::new(format!("{pointer}/{place}/blob"), Code::BlobUnknown, detail)]
        })?;
        let bytes: i64 = files.iter().filter_map(|file| file.bytes).sum();
        if usize::try_from(bytes).is_ok_and(|bytes| bytes > BYTES_MAX) {
            let detail =
                format!("The files have {bytes} bytes together; {BYTES_MAX} are sent with one message.");
            return Err(vec![FieldError::new(pointer, Code::OutOfRange, detail)].into());
        }
        Ok(files)
    });
    Ok(checked.collect())
}

fn as_wanted(file: AttachmentRequest, unit: Option<&str>) -> WantedFile {
    let content = match (file.content, file.blob) {
        (_, Some(id)) => FileContent::Upload(id),
        (content, None) => FileContent::Inline {
            business_unit: unit.map(str::to_owned),
            bytes: content.map(|bytes| bytes.0).unwrap_or_default(),
        },
    };
    WantedFile { name: file.name, media_type: file.content_type, content }
}
