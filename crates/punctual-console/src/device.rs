//! What a browser is, in a few words, from what it says about itself: enough to recognise one's own sessions.

use axum::http::{HeaderMap, header};

/// Programs by what they say, the more particular ones first: most say that they are Chrome and Safari too.
const PROGRAMS: [(&str, &str); 9] = [
    ("Edg/", "Edge"),
    ("OPR/", "Opera"),
    ("SamsungBrowser/", "Samsung Internet"),
    ("Firefox/", "Firefox"),
    ("FxiOS/", "Firefox"),
    ("HeadlessChrome/", "Chrome"),
    ("CriOS/", "Chrome"),
    ("Chrome/", "Chrome"),
    ("Safari/", "Safari"),
];

/// Systems, in the same way.
const SYSTEMS: [(&str, &str); 7] = [
    ("iPhone", "an iPhone"),
    ("iPad", "an iPad"),
    ("Android", "Android"),
    ("Windows", "Windows"),
    ("Mac OS X", "a Mac"),
    ("CrOS", "ChromeOS"),
    ("Linux", "Linux"),
];

/// `Firefox on Linux`.
pub fn of(headers: &HeaderMap) -> String {
    let text = headers.get(header::USER_AGENT).and_then(|value| value.to_str().ok()).unwrap_or_default();
    described(text)
}

fn described(agent: &str) -> String {
    let named = |table: &[(&str, &'static str)]| {
        table.iter().find(|(word, _)| agent.contains(word)).map(|(_, name)| *name)
    };
    match (named(&PROGRAMS), named(&SYSTEMS)) {
        (Some(program), Some(system)) => format!("{program} on {system}"),
        (Some(program), None) => program.to_owned(),
        (None, Some(system)) => format!("A program on {system}"),
        (None, None) => "An unknown program".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn browsers_are_named_by_what_they_are_and_not_by_what_they_claim() {
        let check = |agent: &str, expected: &str| assert_eq!(described(agent), expected);
        check("Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0", "Firefox on Linux");
        let edge = "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/140.0.0.0 Safari/537.36 Edg/140.0.0.0";
        check(edge, "Edge on Windows");
        let phone = "Mozilla/5.0 (iPhone; CPU iPhone OS 18_0 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.0 Mobile/15E148 Safari/604.1";
        check(phone, "Safari on an iPhone");
        check("curl/8.5.0", "An unknown program");
        check("<script>alert(1)</script>", "An unknown program");
    }
}
