//! Cookies as this console reads and writes them: the session's, that of a single sign-on under way, the chosen zone,
//! and two that the page's own script keeps.

use axum::http::{HeaderMap, HeaderValue, header};

/// Over TLS the browser itself sees to it that no other host or path can set this one.
const SECURE: &str = "__Host-punctual-session";
const PLAIN: &str = "punctual-session";

/// The value of a cookie.
pub fn get<'h>(headers: &'h HeaderMap, name: &str) -> Option<&'h str> {
    let all = headers.get_all(header::COOKIE).into_iter().filter_map(|value| value.to_str().ok());
    let mut pairs = all.flat_map(|text| text.split(';')).filter_map(|pair| pair.trim().split_once('='));
    pairs.find(|(found, _)| *found == name).map(|(_, value)| value)
}

/// Whether the browser speaks TLS, as the proxy in front says. Who lies here only weakens or breaks their own cookie.
pub fn is_secure(headers: &HeaderMap) -> bool {
    headers.get("x-forwarded-proto").is_some_and(|proto| proto.as_bytes().eq_ignore_ascii_case(b"https"))
}

/// The session's secret.
pub fn session(headers: &HeaderMap) -> Option<&str> {
    get(headers, if is_secure(headers) { SECURE } else { PLAIN }).filter(|value| !value.is_empty())
}

/// A header that gives the browser its session.
pub fn set_session(headers: &HeaderMap, secret: &str) -> Option<HeaderValue> {
    let text = if is_secure(headers) {
        format!("{SECURE}={secret}; Path=/; HttpOnly; SameSite=Strict; Secure")
    } else {
        format!("{PLAIN}={secret}; Path=/; HttpOnly; SameSite=Strict")
    };
    HeaderValue::try_from(text).ok()
}

/// A header that takes it away.
pub fn clear_session(headers: &HeaderMap) -> Option<HeaderValue> {
    let secure = is_secure(headers);
    let (name, more) = if secure { (SECURE, "; Secure") } else { (PLAIN, "") };
    HeaderValue::try_from(format!("{name}=; Path=/; HttpOnly; SameSite=Strict; Max-Age=0{more}")).ok()
}

const SECURE_SIGN_ON: &str = "__Host-punctual-sign-on";
const PLAIN_SIGN_ON: &str = "punctual-sign-on";

/// What stands for a single sign-on that is under way.
pub fn sign_on(headers: &HeaderMap) -> Option<&str> {
    get(headers, if is_secure(headers) { SECURE_SIGN_ON } else { PLAIN_SIGN_ON })
}

/// A header that gives it to the browser for so many seconds, or takes it away. It is sent along when the provider leads
/// people back, which no strict cookie would be.
pub fn set_sign_on(headers: &HeaderMap, value: &str, seconds: i64) -> Option<HeaderValue> {
    let secure = is_secure(headers);
    let (name, more) = if secure { (SECURE_SIGN_ON, "; Secure") } else { (PLAIN_SIGN_ON, "") };
    HeaderValue::try_from(format!("{name}={value}; Path=/; HttpOnly; SameSite=Lax; Max-Age={seconds}{more}"))
        .ok()
}

/// The zone of the browser, which the page's own script keeps here.
pub const ZONE: &str = "punctual-zone";
/// The zone that somebody chose in place of it.
pub const ZONE_CHOSEN: &str = "punctual-zone-chosen";

/// The name of a zone from one of these cookies.
pub fn zone(headers: &HeaderMap, name: &str) -> Option<String> {
    get(headers, name).map(|name| name.replace("%2F", "/"))
}

/// A header that remembers the chosen zone for a year, or forgets it.
pub fn set_zone(headers: &HeaderMap, zone: Option<&str>) -> Option<HeaderValue> {
    let (value, lasts) = zone.map_or((String::new(), 0), |zone| (zone.replace('/', "%2F"), 31_536_000));
    let more = if is_secure(headers) { "; Secure" } else { "" };
    let text = format!("{ZONE_CHOSEN}={value}; Path=/; HttpOnly; SameSite=Strict; Max-Age={lasts}{more}");
    HeaderValue::try_from(text).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cookie_is_found_among_others_and_the_kind_of_connection_decides_which() {
        let mut headers = HeaderMap::new();
        headers.insert(
            "cookie",
            HeaderValue::from_static("a=1; punctual-session=abc; __Host-punctual-session=x"),
        );
        assert_eq!((get(&headers, "a"), session(&headers)), (Some("1"), Some("abc")));
        assert!(!set_session(&headers, "s").unwrap().to_str().unwrap().contains("Secure"));
        headers.insert("x-forwarded-proto", HeaderValue::from_static("https"));
        assert_eq!(session(&headers), Some("x"));
        let set = set_session(&headers, "s").unwrap();
        assert_eq!(set, "__Host-punctual-session=s; Path=/; HttpOnly; SameSite=Strict; Secure");
    }
}
