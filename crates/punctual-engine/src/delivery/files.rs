//! Files that go along: named in the row, read from the blobs when the message is sent, once for all of its targets.

use std::sync::Arc;

use punctual_model::channel::Attachment;
use punctual_store::notifications::NotificationRow;

use crate::{Engine, Opened, due::chain};

/// The files of one message. Each attempt copies them when it is its turn, so that no more than a channel's permits are in
/// memory at once.
pub(super) type Files = Arc<Vec<Attachment>>;

/// Why the files of a message could not be read.
pub(super) enum Unread {
    /// It is not there, and will not be later.
    Gone(String),
    /// The channel cannot send them.
    NotCarried(String),
    /// The blobs do not answer.
    Unreachable(String),
}

impl Engine {
    pub(super) async fn files_of(&self, channel: &Opened, row: &NotificationRow) -> Result<Files, Unread> {
        let Some(named) = &row.attachments else { return Ok(Files::default()) };
        let named =
            named.read().map_err(|_| Unread::Gone("the list of its files cannot be read".to_owned()))?;
        // What a caller brought is part of what they say. The files of a report are linked or named where they cannot go along.
        if named.iter().any(|file| file.upload().is_some()) && !channel.channel.carries_files() {
            return Err(Unread::NotCarried(format!("the channel {} cannot send attachments", channel.key)));
        }
        let mut files = Vec::with_capacity(named.len());
        for file in named {
            let content = match self.blobs.get(&file.blob).await {
                Ok(Some(content)) => content.to_vec(),
                Ok(None) => return Err(Unread::Gone(format!("the file {} is gone", file.file_name))),
                Err(error) => return Err(Unread::Unreachable(chain(&error))),
            };
            files.push(Attachment {
                file_name: file.file_name,
                media_type: file.media_type,
                content,
                content_id: file.content_id,
            });
        }
        Ok(Arc::new(files))
    }
}
