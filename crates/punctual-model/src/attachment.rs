//! The rules for attachments: file names, media types and sizes.

/// The media types that may be attached, beside pictures: what people send each other, nothing that runs.
const MEDIA_TYPES: &[&str] = &[
    "text/plain",
    "text/csv",
    "text/html",
    "text/calendar",
    "text/markdown",
    "application/pdf",
    "application/json",
    "application/xml",
    "application/zip",
    "application/gzip",
    "application/rtf",
    "application/vnd.oasis.opendocument.text",
    "application/vnd.oasis.opendocument.spreadsheet",
    "application/vnd.openxmlformats-officedocument.presentationml.presentation",
    "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
    "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
];

/// Files of one message.
pub const FILES_MAX: usize = 20;
/// Bytes of the files that one message brings inline, together: a request is held in memory.
pub const INLINE_BYTES_MAX: usize = 10 << 20;
/// Bytes of all files of one message: most relays take mails of 25 to 35 MB, and base64 adds a third.
pub const BYTES_MAX: usize = 25 << 20;

/// Why a file is not sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FileFault {
    #[error("a file name is one line of 1 to 200 bytes without slashes, quotes or control characters")]
    Name,
    #[error("files of this media type are not sent; send documents, pictures, text or archives")]
    MediaType,
}

/// Whether a file name is allowed. It is written into a mail header and becomes a file on the recipient's disk.
pub fn check_file_name(name: &str) -> Result<(), FileFault> {
    let is_odd = |c: char| c.is_control() || "/\\\"".contains(c) || is_direction(c);
    let fits = (1..=200).contains(&name.len()) && !name.contains(is_odd);
    let is_plain = name.trim() == name && name.chars().any(|c| c != '.');
    if fits && is_plain { Ok(()) } else { Err(FileFault::Name) }
}

/// Characters that turn the direction of writing: with them `exe.pdf` can be read for what ends in `exe`.
fn is_direction(c: char) -> bool {
    matches!(c, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// Whether files of this media type are sent. Parameters such as `charset` may follow it.
pub fn check_media_type(media_type: &str) -> Result<(), FileFault> {
    if media_type.len() > 200 || !media_type.bytes().all(|b| b.is_ascii_graphic() || b == b' ') {
        return Err(FileFault::MediaType);
    }
    let essence = media_type.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    let is_token = |text: &str| {
        !text.is_empty() && text.bytes().all(|b| b.is_ascii_alphanumeric() || b"!#$&^_.+-".contains(&b))
    };
    let is_picture = essence.strip_prefix("image/").is_some_and(is_token);
    if is_picture || MEDIA_TYPES.contains(&essence.as_str()) { Ok(()) } else { Err(FileFault::MediaType) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn t09_names_are_one_line_and_no_path() {
        for name in ["a.pdf", "Rechnung März.pdf", ".profile", "عقد.pdf"] {
            assert_eq!(check_file_name(name), Ok(()), "{name}");
        }
        let long = "x".repeat(201);
        for name in
            ["", ".", "..", " a", "a ", "../a", "a\\b", "a\r\nb", "a\0", "a\"b", "fdp.\u{202e}exe", &long]
        {
            assert_eq!(check_file_name(name), Err(FileFault::Name), "{name:?}");
        }
    }

    #[test]
    fn t09_nothing_that_runs_is_sent() {
        for kind in ["application/pdf", "image/png", "image/svg+xml", "TEXT/CSV", "text/plain; charset=utf-8"]
        {
            assert_eq!(check_media_type(kind), Ok(()), "{kind}");
        }
        for kind in [
            "",
            "application/x-msdownload",
            "image/",
            "image/a b",
            "text/csv\r\nX: y",
            "application/octet-stream",
        ] {
            assert_eq!(check_media_type(kind), Err(FileFault::MediaType), "{kind:?}");
        }
    }
}
