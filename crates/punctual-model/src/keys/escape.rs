//! How one part of a key is written and read back, and the compact form of an instant.

use jiff::{
    Timestamp,
    civil::{Date, Time},
    tz::Offset,
};

const HEX: &[u8; 16] = b"0123456789ABCDEF";

/// Appends one part: `%`, `:` and control characters become `%` and the upper-case hex of each byte.
pub(super) fn push_part(key: &mut String, part: &str) {
    // Nearly every part is a plain id, and then it is copied whole.
    if part.bytes().all(|byte| (b' '..0x7f).contains(&byte) && byte != b'%' && byte != b':') {
        key.push_str(part);
        return;
    }
    for character in part.chars() {
        if character == '%' || character == ':' || character.is_control() {
            for byte in character.encode_utf8(&mut [0; 4]).bytes() {
                key.push('%');
                key.push(char::from(HEX[usize::from(byte >> 4)]));
                key.push(char::from(HEX[usize::from(byte & 15)]));
            }
        } else {
            key.push(character);
        }
    }
}

/// Reads a part back; none when a `%` is not followed by two hex digits, or the bytes are no text.
pub(super) fn unescape(part: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(part.len());
    let mut rest = part.bytes();
    while let Some(byte) = rest.next() {
        bytes.push(match byte {
            b'%' => hex_digit(rest.next()?)? << 4 | hex_digit(rest.next()?)?,
            other => other,
        });
    }
    String::from_utf8(bytes).ok()
}

fn hex_digit(byte: u8) -> Option<u8> {
    HEX.iter().position(|digit| *digit == byte).and_then(|at| u8::try_from(at).ok())
}

/// An instant in UTC without separators: `20260514T051234Z`. A fraction is written only when there
/// is one, so that two instants never look alike.
pub(super) fn compact(at: Timestamp) -> String {
    let local = Offset::UTC.to_datetime(at);
    let sign = if local.year() < 0 { "-" } else { "" };
    let mut text = format!(
        "{sign}{:04}{:02}{:02}T{:02}{:02}{:02}",
        local.year().unsigned_abs(),
        local.month(),
        local.day(),
        local.hour(),
        local.minute(),
        local.second(),
    );
    if local.subsec_nanosecond() != 0 {
        let fraction = format!(".{:09}", local.subsec_nanosecond());
        text.push_str(fraction.trim_end_matches('0'));
    }
    text.push('Z');
    text
}

/// Reads what [`compact`] writes, and none of the other ways to write an instant.
pub(super) fn parse_compact(text: &str) -> Option<Timestamp> {
    let (negative, digits) = match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text),
    };
    let (date, time) = digits.strip_suffix('Z')?.split_once('T')?;
    let (time, fraction) = time.split_once('.').unwrap_or((time, ""));
    if date.len() != 8 || time.len() != 6 || fraction.len() > 9 {
        return None;
    }
    let number = |text: &str| -> Option<i32> {
        if text.bytes().all(|byte| byte.is_ascii_digit()) { text.parse().ok() } else { None }
    };
    let (date, time, nanosecond) = (number(date)?, number(time)?, number(&format!("{fraction:0<9}"))?);
    let year = i16::try_from(date / 10_000).ok()?;
    let two = |number: i32| i8::try_from(number % 100).ok();
    let date = Date::new(if negative { -year } else { year }, two(date / 100)?, two(date)?).ok()?;
    let time = Time::new(two(time / 10_000)?, two(time / 100)?, two(time)?, nanosecond).ok()?;
    Offset::UTC.to_timestamp(date.to_datetime(time)).ok()
}
