//! Links that sign in once, and texts as they are in an address.

use punctual_engine::Engine;
use punctual_model::Clock;
use punctual_store::StoreError;

/// Makes a link (the part after the address) that signs in once as the oldest key that may do everything; `None` where
/// there is no such key.
pub async fn sign_in_link(engine: &Engine, wall: &dyn Clock) -> Result<Option<String>, StoreError> {
    let secret = engine.make_sign_in_link(wall.now()).await?;
    Ok(secret.map(|secret| format!("/sign-in?token={secret}")))
}

/// A text as a value in an address.
pub fn encoded(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for byte in text.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'~' | b':' => {
                out.push(char::from(byte))
            }
            other => out.push_str(&format!("%{other:02X}")),
        }
    }
    out
}

/// `?a=1&b=2` of what is given, without what is empty; empty itself where nothing is left.
pub fn query<'p>(pairs: impl IntoIterator<Item = (&'p str, &'p str)>) -> String {
    let mut out = String::new();
    for (name, value) in pairs.into_iter().filter(|(_, value)| !value.is_empty()) {
        out.push(if out.is_empty() { '?' } else { '&' });
        out.push_str(&encoded(name));
        out.push('=');
        out.push_str(&encoded(value));
    }
    out
}

/// Whether a text is a path of this console and cannot lead anywhere else.
pub fn is_own_path(path: &str) -> bool {
    path.starts_with('/')
        && !path.starts_with("//")
        && !path.contains('\\')
        && path.bytes().all(|byte| byte.is_ascii_graphic())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_carry_any_text_and_lead_nowhere_else() {
        assert_eq!(query([("q", "100% é&"), ("x", ""), ("s", "a:b")]), "?q=100%25%20%C3%A9%26&s=a:b");
        assert_eq!(query([("q", "")]), "");
        assert!(is_own_path("/outbox?status=parked"));
        for foreign in ["", "outbox", "//evil.example", "/\\evil.example", "https://evil.example", "/a\nb"] {
            assert!(!is_own_path(foreign), "{foreign}");
        }
    }
}
