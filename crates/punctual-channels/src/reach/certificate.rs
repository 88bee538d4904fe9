//! When a certificate ends: the one field of X.509 that is read here.

use jiff::{Timestamp, civil::DateTime, tz::TimeZone};

const SEQUENCE: u8 = 0x30;
const INTEGER: u8 = 0x02;
const VERSION: u8 = 0xa0;
const UTC_TIME: u8 = 0x17;
const GENERALIZED_TIME: u8 = 0x18;

/// The end of the validity of a certificate in DER.
pub(super) fn ends(der: &[u8]) -> Option<Timestamp> {
    let (certificate, _) = element(der, SEQUENCE)?;
    let (mut rest, _) = element(certificate, SEQUENCE)?;
    if rest.first() == Some(&VERSION) {
        rest = element(rest, VERSION)?.1;
    }
    let (_, rest) = element(rest, INTEGER)?;
    let (_signature, rest) = element(rest, SEQUENCE)?;
    let (_issuer, rest) = element(rest, SEQUENCE)?;
    let (validity, _) = element(rest, SEQUENCE)?;
    let (_, not_after) = time(validity)?;
    time(not_after).map(|(at, _)| at)
}

/// The content of the first element, which must be of this type, and what follows it.
fn element(der: &[u8], tag: u8) -> Option<(&[u8], &[u8])> {
    let [first, length, rest @ ..] = der else { return None };
    if *first != tag {
        return None;
    }
    let (length, rest) = match length {
        0..=0x7f => (usize::from(*length), rest),
        0x81..=0x84 => {
            let (digits, rest) = rest.split_at_checked(usize::from(length & 0x7f))?;
            (digits.iter().fold(0, |sum, digit| (sum << 8) | usize::from(*digit)), rest)
        }
        _ => return None,
    };
    rest.split_at_checked(length)
}

fn time(der: &[u8]) -> Option<(Timestamp, &[u8])> {
    let tag = *der.first()?;
    let (text, rest) = element(der, tag)?;
    let text = str::from_utf8(text).ok()?.strip_suffix('Z')?;
    let text = match tag {
        // Two digits of a year: 50 and later are of the last century.
        UTC_TIME => {
            let century = if text.get(..2)? >= "50" { "19" } else { "20" };
            format!("{century}{text}")
        }
        GENERALIZED_TIME => text.to_owned(),
        _ => return None,
    };
    let at = DateTime::strptime("%Y%m%d%H%M%S", &text).ok()?;
    Some((at.to_zoned(TimeZone::UTC).ok()?.timestamp(), rest))
}

#[cfg(test)]
mod tests {
    use rustls::pki_types::{CertificateDer, pem::PemObject};

    use super::*;

    #[test]
    fn the_end_of_a_certificate_is_read_and_nonsense_is_none() {
        let pem = include_bytes!("../../tests/it/tls/server.pem");
        let certificate = CertificateDer::from_pem_slice(pem).unwrap();
        let der: &[u8] = certificate.as_ref();
        let end = ends(der).expect("an end");
        assert!(end > "2026-01-01T00:00:00Z".parse().unwrap(), "{end}");
        for cut in 0..der.len().min(200) {
            let _ = ends(&der[..cut]);
        }
        assert_eq!(ends(b""), None);
        assert_eq!(ends(&[SEQUENCE, 0x84, 0xff, 0xff, 0xff, 0xff]), None);
    }
}
