//! Making a mail from a message: headers that cannot be split, texts and files.

use std::time::{Duration, SystemTime};

use jiff::Timestamp;
use lettre::{
    Address, Message,
    message::{
        Attachment as Part, Mailbox, MultiPart, SinglePart,
        header::{ContentType, HeaderName, HeaderValue},
    },
};
use punctual_model::{
    Envelope, Outgoing, ReasonCode,
    attachment::{check_file_name, check_media_type},
    channel::Attachment,
    envelope::{canonical_header, check_header},
};
use sha2::{Digest, Sha256};

use crate::text::is_header_text;

/// Why a message can be no mail.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ComposeFault {
    pub reason: ReasonCode,
    pub detail: String,
}

impl ComposeFault {
    fn new(reason: ReasonCode, detail: impl Into<String>) -> Self {
        Self { reason, detail: detail.into() }
    }
}

/// The mail of one attempt; only its date differs from that of another one.
pub(super) fn compose(
    from: &Mailbox,
    replies: Option<&Mailbox>,
    to: Address,
    message: Outgoing,
) -> Result<Message, ComposeFault> {
    if !is_header_text(&message.subject) {
        return Err(ComposeFault::new(ReasonCode::SubjectInvalid, "the subject must be one line"));
    }
    let refused = |detail| ComposeFault::new(ReasonCode::HeaderInvalid, detail);
    let mut headers = own_headers(&message.envelope).map_err(refused)?;
    if !headers.iter().any(|(name, _)| name == "Auto-Submitted") {
        // Keeps holiday notices of the other side from answering.
        headers.push(("Auto-Submitted".to_owned(), "auto-generated".to_owned()));
    }
    let mut builder = Message::builder()
        .from(from.clone())
        .to(Mailbox::new(None, to))
        .subject(message.subject)
        .date(date(message.at))
        .message_id(Some(message_id(&message.message_id, from)));
    for (name, value) in headers {
        let name =
            HeaderName::new_from_ascii(name).map_err(|_| refused("a header has no valid name".to_owned()))?;
        builder = builder.raw_header(HeaderValue::new(name, value));
    }
    if let Some(mailbox) = reply_to(&message.envelope).map_err(refused)?.or(replies.cloned()) {
        builder = builder.reply_to(mailbox);
    }
    if let Some(link) = &message.unsubscribe {
        if !is_link(link) {
            let detail = "the link to unsubscribe must be one line";
            return Err(ComposeFault::new(ReasonCode::SubjectInvalid, detail));
        }
        // RFC 8058: the mail program posts to the link, without asking and without a page.
        for (name, value) in [
            (HeaderName::new_from_ascii_str("List-Unsubscribe"), format!("<{link}>")),
            (HeaderName::new_from_ascii_str("List-Unsubscribe-Post"), ONE_CLICK.to_owned()),
        ] {
            builder = builder.raw_header(HeaderValue::new(name, value));
        }
    }
    let has_html = message.html.is_some();
    let (inside, beside): (Vec<_>, Vec<_>) =
        message.attachments.into_iter().partition(|file| has_html && file.content_id.is_some());
    let written = match message.html {
        None => Written::Plain(SinglePart::plain(message.body)),
        Some(html) => Written::Both(with_html(message.body, html, inside)?),
    };
    let composed = match (written, beside.is_empty()) {
        (Written::Plain(part), true) => builder.singlepart(part),
        (Written::Both(parts), true) => builder.multipart(parts),
        (written, false) => {
            let mut mixed = match written {
                Written::Plain(part) => MultiPart::mixed().singlepart(part),
                Written::Both(parts) => MultiPart::mixed().multipart(parts),
            };
            for file in beside {
                mixed = mixed.singlepart(attach(file)?);
            }
            builder.multipart(mixed)
        }
    };
    composed.map_err(|_| ComposeFault::new(ReasonCode::AddressInvalid, "the mail has no valid envelope"))
}

/// What a mail program posts to a link to unsubscribe.
pub(crate) const ONE_CLICK: &str = "List-Unsubscribe=One-Click";

/// Whether a link is valid between the brackets of a header.
pub(crate) fn is_link(link: &str) -> bool {
    is_header_text(link) && link.is_ascii() && !link.contains(['<', '>', ' ', ','])
}

/// What a mail says, before the files beside it.
enum Written {
    Plain(SinglePart),
    Both(MultiPart),
}

/// The text in both forms; pictures belong to the HTML alone, so that a reader of plain text is not bothered with them.
fn with_html(plain: String, html: String, pictures: Vec<Attachment>) -> Result<MultiPart, ComposeFault> {
    if pictures.is_empty() {
        return Ok(MultiPart::alternative_plain_html(plain, html));
    }
    let mut related = MultiPart::related().singlepart(SinglePart::html(html));
    for file in pictures {
        related = related.singlepart(attach(file)?);
    }
    Ok(MultiPart::alternative().singlepart(SinglePart::plain(plain)).multipart(related))
}

/// Why a file is not sent by mail, if it is not.
pub(crate) fn check_attachment(file: &Attachment) -> Result<(), String> {
    check_file_name(&file.file_name).map_err(|fault| fault.to_string())?;
    check_media_type(&file.media_type).map_err(|fault| fault.to_string())?;
    let is_id = |id: &str| {
        (1..=100).contains(&id.len()) && id.bytes().all(|b| b.is_ascii_alphanumeric() || b".@_-".contains(&b))
    };
    if !file.content_id.as_deref().is_none_or(is_id) {
        return Err("a content id is made of letters, digits, dots and @".to_owned());
    }
    Ok(())
}

fn attach(file: Attachment) -> Result<SinglePart, ComposeFault> {
    let fault = |detail| ComposeFault::new(ReasonCode::AttachmentInvalid, detail);
    check_attachment(&file).map_err(fault)?;
    let media_type = ContentType::parse(&file.media_type)
        .map_err(|_| fault("the media type cannot be read".to_owned()))?;
    let part = match file.content_id {
        Some(id) => Part::new_inline_with_name(id, file.file_name),
        None => Part::new(file.file_name),
    };
    Ok(part.body(file.content, media_type))
}

/// The headers that a message brings, as they are written; they were checked when it was accepted, and are here again.
pub(crate) fn own_headers(envelope: &Envelope) -> Result<Vec<(String, String)>, String> {
    let headers = envelope.headers.iter().map(|(name, value)| {
        check_header(name, value).map_err(|fault| fault.to_string())?;
        Ok((canonical_header(name), value.clone()))
    });
    headers.collect()
}

/// Where answers to a message go, if it says so.
pub(crate) fn reply_to(envelope: &Envelope) -> Result<Option<Mailbox>, String> {
    let Some(text) = &envelope.reply_to else { return Ok(None) };
    let mailbox = text.parse::<Mailbox>().ok().filter(|_| is_header_text(text));
    mailbox.map(Some).ok_or_else(|| "`replyTo` is no mail address".to_owned())
}

/// The Message-ID, the same in every attempt, in the domain of the sender: spam filters distrust one that no mail comes
/// from. A text that is not valid in one is hashed.
pub(crate) fn message_id(id: &str, from: &Mailbox) -> String {
    let word = |text: &str| {
        !text.is_empty()
            && text.len() <= 200
            && text.bytes().all(|b| b.is_ascii_alphanumeric() || b"!#$%&'*+-/=?^_`{|}~.".contains(&b))
    };
    match id.split_once('@') {
        Some((left, right)) if word(left) && word(right) => format!("<{id}>"),
        None if word(id) => format!("<{id}@{}>", id_domain(from)),
        _ => {
            let hex: String =
                Sha256::digest(id.as_bytes()).iter().map(|byte| format!("{byte:02x}")).collect();
            format!("<{hex}@{}>", id_domain(from))
        }
    }
}

fn id_domain(from: &Mailbox) -> String {
    ascii_domain(from).unwrap_or_else(|| "punctual.invalid".to_owned())
}

/// The domain of a sender as a name of ASCII letters with a dot in it; nothing for an address such as `[10.0.0.1]`.
pub(super) fn ascii_domain(from: &Mailbox) -> Option<String> {
    // The parser for URLs knows how names in other scripts are spelled.
    let url = reqwest::Url::parse(&format!("https://{}/", from.email.domain())).ok()?;
    url.domain().filter(|name| name.contains('.')).map(str::to_owned)
}

/// The date for the header. Outside 1970 to 9999 the mail library would panic.
fn date(at: Timestamp) -> SystemTime {
    const LATEST: u64 = 253_402_300_799;
    let seconds = u64::try_from(at.as_second()).unwrap_or(0).min(LATEST);
    SystemTime::UNIX_EPOCH + Duration::from_secs(seconds)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_id_is_stable_and_always_well_formed() {
        let from = |text: &str| text.parse::<Mailbox>().unwrap();
        for (sender, domain) in [
            ("Desk <a@mail.example.com>", "mail.example.com"),
            ("a@bücher.example", "xn--bcher-kva.example"),
            ("a@localhost", "punctual.invalid"),
        ] {
            assert_eq!(message_id("0190-ab.1", &from(sender)), format!("<0190-ab.1@{domain}>"));
        }
        let message_id = |id: &str| message_id(id, &from("a@punctual.invalid"));
        assert_eq!(message_id("a@b.example"), "<a@b.example>");
        for odd in ["", "a b", "a>\r\nBcc: x", "é", "a@b@c", "@", &"x".repeat(300)] {
            let made = message_id(odd);
            assert_eq!(made, message_id(odd));
            assert_eq!(made.len(), 64 + "<@punctual.invalid>".len(), "{odd:?}");
        }
        assert_ne!(message_id("a b"), message_id("a  b"));
    }

    #[test]
    fn a_date_of_any_year_can_be_written() {
        for at in [Timestamp::MIN, Timestamp::MAX, Timestamp::UNIX_EPOCH] {
            let mail = Message::builder().date(date(at));
            drop(mail);
        }
    }
}
