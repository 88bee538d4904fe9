//! Rooms where people read together: what Teams and Slack share. The URL of a room's webhook is the right to post
//! there, so it is a secret of the channel, and what is in a list is only a name for people.

use punctual_model::{Outgoing, SecretReference};

use crate::{
    guard::{CheckedUrl, Guard},
    settings::Reader,
};

/// The longest name.
const LONGEST_NAME: usize = 200;

/// The setting `url`, checked as far as it is known.
pub(crate) fn room_url(reader: &mut Reader<'_>, guard: &Guard, hosts: &[&str]) -> Option<CheckedUrl> {
    let text = reader.text("url")?;
    if SecretReference::is_meant(text) {
        return None;
    }
    reader.provider_url("url", text, guard, hosts)
}

/// A target is a name of one line; a URL is refused, because everyone with read access sees lists.
pub(crate) fn check_room(address: &str) -> Result<(), String> {
    if address.contains("://") {
        return Err(
            "the URL belongs into the channel, where it is kept secret; a target is a name".to_owned()
        );
    }
    if address.trim().is_empty() || address.len() > LONGEST_NAME || address.chars().any(char::is_control) {
        return Err("a target is a name of one line, such as `ops`".to_owned());
    }
    Ok(())
}

/// The body, and that files were left behind where there were some: a webhook of a room takes none.
pub(crate) fn body_of(message: &Outgoing) -> String {
    let body = message.body.trim();
    let names: Vec<&str> = message.attachments.iter().map(|file| file.file_name.as_str()).collect();
    if names.is_empty() { body.to_owned() } else { format!("{body}\n(Not sent here: {})", names.join(", ")) }
}

/// At most so many characters: a message with its end cut off helps more than one that is refused.
pub(crate) fn shortened(text: &str, most: usize) -> String {
    const END: &str = "\n… (shortened)";
    match text.char_indices().nth(most) {
        None => text.to_owned(),
        Some(_) => {
            let keep = most.saturating_sub(END.chars().count());
            let at = text.char_indices().nth(keep).map_or(text.len(), |(at, _)| at);
            format!("{}{END}", &text[..at])
        }
    }
}

#[cfg(test)]
mod tests {
    use punctual_model::channel::Attachment;

    use super::*;

    #[test]
    fn a_long_text_is_cut_and_says_so() {
        assert_eq!(shortened("short", 5), "short");
        let cut = shortened(&"ä".repeat(100), 50);
        assert_eq!(cut.chars().count(), 50);
        assert!(cut.ends_with("… (shortened)"));
    }

    #[test]
    fn files_that_stay_behind_are_named() {
        let mut message = crate::test_message();
        assert_eq!(body_of(&message), "Body");
        let (file_name, media_type) = ("kpis.xlsx".to_owned(), "text/csv".to_owned());
        message.attachments.push(Attachment { file_name, media_type, content: Vec::new(), content_id: None });
        assert_eq!(body_of(&message), "Body\n(Not sent here: kpis.xlsx)");
    }

    #[test]
    fn a_target_is_a_name_and_no_url() {
        assert!(check_room("ops").is_ok() && check_room("#Ops Büro").is_ok());
        for bad in ["", " ", "https://hooks.slack.com/services/x", "a\nb", &"x".repeat(300)] {
            assert!(check_room(bad).is_err(), "{bad}");
        }
    }
}
