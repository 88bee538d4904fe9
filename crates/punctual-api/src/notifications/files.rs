//! The files of notifications and messages: kept before anything that uses them is accepted.

use punctual_engine::uploads::{FileContent, WantedFile};
use punctual_model::{FileRef, attachment::BYTES_MAX};
use punctual_wire::{Code, FieldError, Problem, attachments::AttachmentRequest};

use crate::{App, answer::Failure, auth::Principal};

/// What one message of a request wants to bring along.
pub(crate) struct Wanted {
    pub files: Vec<AttachmentRequest>,
    pub business_unit: Option<String>,
    /// Where the message is in the request.
    pub pointer: String,
    /// The channels that it may be sent over, as far as it names them, each with where it does.
    pub channels: Vec<(String, String)>,
}

impl Wanted {
    /// Refuses files for a channel that is open here and cannot send any.
    pub(crate) fn check_channels(&self, app: &App) -> Result<(), Problem> {
        if self.files.is_empty() {
            return Ok(());
        }
        let cannot = |(_, key): &&(String, String)| app.engine.channels.carries_files(key) == Some(false);
        match self.channels.iter().find(cannot) {
            None => Ok(()),
            Some((_, key)) => {
                let detail = format!("The channel `{key}` cannot send attachments; mail and webhooks can.");
                let pointer = format!("{}/attachments", self.pointer);
                Err(vec![FieldError::new(pointer, Code::AttachmentsNotSupported, detail)].into())
            }
        }
    }
}

/// Keeps the files of new messages and has them named in each; a message whose files are refused is refused. With each comes
/// what is said about channels that nobody has defined: it is taken, and parked unless they are there by then.
pub(crate) async fn complete<T>(
    app: &App,
    caller: &Principal,
    many: Vec<(T, Wanted)>,
    name: impl Fn(T, Vec<FileRef>) -> T,
) -> Result<Vec<Result<(T, Vec<FieldError>), Problem>>, Failure> {
    let (many, wanted): (Vec<T>, Vec<Wanted>) = many.into_iter().unzip();
    let named = wanted.iter().flat_map(|one| one.channels.iter().map(|(_, key)| key.clone()));
    let unknown = app.engine.unknown_channels(named.collect()).await?;
    let said = |one: &Wanted| {
        let missing = one.channels.iter().filter(|(_, key)| unknown.contains(key));
        missing.map(|(pointer, key)| FieldError::channel_unknown(pointer, key)).collect()
    };
    let warnings: Vec<Vec<FieldError>> = wanted.iter().map(said).collect();
    let kept = keep(app, caller, wanted).await?;
    let made = many.into_iter().zip(kept).zip(warnings);
    Ok(made.map(|((new, files), warnings)| Ok((name(new, files?), warnings))).collect())
}

/// The files of each message, as they are stored. A message without files costs nothing.
async fn keep(
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
