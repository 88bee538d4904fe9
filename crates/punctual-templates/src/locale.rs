//! Which variant a reader gets: the nearest language that the template has.

use std::collections::BTreeMap;

/// The usual spelling of a language tag: `AR_iq` becomes `ar-IQ`, `ZH-hant` becomes `zh-Hant`.
pub fn normalise(tag: &str) -> String {
    let mut parts = Vec::new();
    for (index, part) in tag.trim().split(['-', '_']).filter(|part| !part.is_empty()).enumerate() {
        let part = part.to_ascii_lowercase();
        parts.push(match (index, part.len()) {
            (0, _) => part,
            (_, 2) => part.to_ascii_uppercase(),
            (_, 4) if part.starts_with(|first: char| first.is_ascii_alphabetic()) => {
                part[..1].to_ascii_uppercase() + &part[1..]
            }
            _ => part,
        });
    }
    parts.join("-")
}

/// The variant for a reader: `ar-IQ`, else `ar`, else the default's own chain, else the first there is.
///
/// `None` only when there are no variants at all. Keys are compared in their usual spelling, so that a
/// template stored under `pt_br` serves `pt-BR`.
pub fn pick<'a, V>(
    variants: &'a BTreeMap<String, V>,
    default: &str,
    locale: Option<&str>,
) -> Option<(&'a str, &'a V)> {
    locale
        .into_iter()
        .chain([default])
        .find_map(|tag| nearest(variants, tag))
        .or_else(|| variants.iter().next())
        .map(|(key, variant)| (key.as_str(), variant))
}

/// The variant of this tag or of the nearest shorter one.
fn nearest<'a, V>(variants: &'a BTreeMap<String, V>, tag: &str) -> Option<(&'a String, &'a V)> {
    let mut tag = normalise(tag);
    loop {
        // Stored keys are nearly always in their usual spelling already.
        let found = variants
            .get_key_value(&tag)
            .or_else(|| variants.iter().find(|(key, _)| !tag.is_empty() && normalise(key) == tag));
        if found.is_some() {
            return found;
        }
        tag.truncate(tag.rfind('-')?);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(have: &[&str], default: &str, locale: Option<&str>, expected: Option<&str>) {
        let variants: BTreeMap<String, ()> = have.iter().map(|key| ((*key).to_owned(), ())).collect();
        let got = pick(&variants, default, locale).map(|(key, ())| key);
        assert_eq!(got, expected, "{have:?} {default} {locale:?}");
    }

    #[test]
    fn a_tag_has_one_usual_spelling() {
        for (given, usual) in [
            ("AR_iq", "ar-IQ"),
            ("zh-hant-tw", "zh-Hant-TW"),
            ("EN", "en"),
            ("de--CH", "de-CH"),
            ("es-419", "es-419"),
            ("", ""),
            (" fr_FR ", "fr-FR"),
            ("x-éé", "x-éé"),
        ] {
            assert_eq!(normalise(given), usual);
        }
    }

    #[test]
    fn a_reader_gets_the_nearest_language_and_else_the_default() {
        check(&["en", "ar", "ar-IQ"], "en", Some("ar-IQ"), Some("ar-IQ"));
        check(&["en", "ar"], "en", Some("ar-IQ"), Some("ar"));
        check(&["en", "ar"], "en", Some("AR_iq"), Some("ar"));
        check(&["en", "zh-Hant"], "en", Some("zh-Hant-TW"), Some("zh-Hant"));
        check(&["en", "pt_br"], "en", Some("pt-BR"), Some("pt_br"));
        check(&["en", "ar"], "en", Some("fr"), Some("en"));
        check(&["en", "ar"], "en", None, Some("en"));
        check(&["en", "ar"], "en-GB", Some("fr"), Some("en"));
        check(&["ar", "de"], "en", Some("fr"), Some("ar"));
        check(&["en"], "en", Some(""), Some("en"));
        check(&[], "en", Some("fr"), None);
    }

    #[test]
    fn a_longer_variant_does_not_serve_a_shorter_wish() {
        check(&["en", "ar-IQ"], "en", Some("ar"), Some("en"));
    }
}
