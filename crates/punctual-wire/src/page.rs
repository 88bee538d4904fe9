//! Pages of a list: the items, and a cursor for the next ones.

use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use crate::{
    fields::Fields,
    limits::{PAGE_DEFAULT, PAGE_MAX},
    problem::Code,
};

/// One page of a list.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Page<T> {
    pub items: Vec<T>,
    /// Send it as `cursor` for the next page; null on the last page. If few rows match a filter, a page may be short or empty
    /// and still have a next page.
    pub next_cursor: Option<String>,
}

/// Which page is wanted: `?cursor=…&limit=…`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct PageQuery {
    /// The `nextCursor` of the page before.
    #[param(value_type = Option<String>)]
    pub cursor: Option<i64>,
    /// Items on one page, 1 to 200.
    #[param(value_type = Option<u32>, minimum = 1, maximum = 200, default = 50)]
    pub limit: u32,
}

impl<T> Page<T> {
    /// A page made of one row more than `limit`: the surplus row only shows that there is a next page.
    /// `position` gives the place of the last item shown.
    pub fn cut(mut items: Vec<T>, limit: u32, position: impl FnOnce(&T) -> i64) -> Self {
        let limit = limit as usize;
        let more = items.len() > limit;
        items.truncate(limit);
        let next_cursor = items.last().filter(|_| more).map(|last| encode_cursor(position(last)));
        Self { items, next_cursor }
    }

    /// Like [`Page::cut`], for a list in order of name.
    pub fn cut_by_name(mut items: Vec<T>, limit: u32, name: impl FnOnce(&T) -> &str) -> Self {
        let limit = limit as usize;
        let more = items.len() > limit;
        items.truncate(limit);
        let next_cursor = items.last().filter(|_| more).map(|last| encode_name_cursor(name(last)));
        Self { items, next_cursor }
    }

    /// A page of a list that is walked in stretches: it may be short, or empty, and still go on.
    pub fn stretch(items: Vec<T>, next: Option<i64>) -> Self {
        Self { items, next_cursor: next.map(encode_cursor) }
    }

    /// The same for a list in order of name.
    pub fn stretch_by_name(items: Vec<T>, next: Option<&str>) -> Self {
        Self { items, next_cursor: next.map(encode_name_cursor) }
    }

    /// A page that is the whole list.
    pub fn whole(items: Vec<T>) -> Self {
        Self { items, next_cursor: None }
    }

    pub fn map<U>(self, shape: impl FnMut(T) -> U) -> Page<U> {
        Page { items: self.items.into_iter().map(shape).collect(), next_cursor: self.next_cursor }
    }
}

/// Which page of a list in order of name is wanted.
#[derive(Clone, Debug, PartialEq, Eq, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct NamePageQuery {
    /// The `nextCursor` of the page before.
    pub cursor: Option<String>,
    /// Items on one page, 1 to 200.
    #[param(value_type = Option<u32>, minimum = 1, maximum = 200, default = 50)]
    pub limit: u32,
}

impl PageQuery {
    /// Reads both parameters from a query's fields.
    pub fn read(fields: &mut Fields<'_>) -> Self {
        Self { limit: read_limit(fields), cursor: read_cursor(fields, decode_cursor) }
    }
}

impl NamePageQuery {
    /// The name after which the page begins.
    pub fn after(&self) -> &str {
        self.cursor.as_deref().unwrap_or_default()
    }

    /// Rows to read for it: one more than it shows, so that it is seen whether there is a next one.
    pub fn rows(&self) -> i64 {
        i64::from(self.limit) + 1
    }

    /// Reads both parameters from a query's fields; the cursor is the last name of the page before.
    pub fn read(fields: &mut Fields<'_>) -> Self {
        Self { limit: read_limit(fields), cursor: read_cursor(fields, decode_name_cursor) }
    }
}

fn read_limit(fields: &mut Fields<'_>) -> u32 {
    let Some(value) = fields.get("limit") else { return PAGE_DEFAULT };
    let number = value.as_str().and_then(|text| text.parse().ok());
    number.filter(|limit| (1..=PAGE_MAX).contains(limit)).unwrap_or_else(|| {
        let detail = format!("`limit` takes a whole number from 1 to {PAGE_MAX}.");
        fields.refuse("limit", Code::PageSize, detail);
        PAGE_DEFAULT
    })
}

fn read_cursor<T>(fields: &mut Fields<'_>, decode: impl Fn(&str) -> Option<T>) -> Option<T> {
    let place = fields.get("cursor")?.as_str().and_then(decode);
    if place.is_none() {
        let detail = "`cursor` takes the `nextCursor` of an earlier page, unchanged.";
        fields.refuse("cursor", Code::CursorInvalid, detail);
    }
    place
}

/// Twelve bytes (a place and its checksum) are sixteen digits of base64url, with nothing left over: each cursor has
/// one spelling.
const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

/// Hides a place in a list from clients, so that they cannot come to rely on what it means.
pub fn encode_cursor(position: i64) -> String {
    let mut bytes = [0; 12];
    bytes[..8].copy_from_slice(&position.to_be_bytes());
    bytes[8..].copy_from_slice(&checksum(position).to_be_bytes());
    let mut cursor = String::with_capacity(16);
    for three in bytes.chunks_exact(3) {
        let group = u32::from_be_bytes([0, three[0], three[1], three[2]]);
        cursor.extend([18, 12, 6, 0].map(|shift| char::from(DIGITS[(group >> shift) as usize & 63])));
    }
    cursor
}

/// The place of a cursor, unless it is damaged.
pub fn decode_cursor(cursor: &str) -> Option<i64> {
    if cursor.len() != 16 {
        return None;
    }
    let mut bytes = Vec::with_capacity(12);
    for four in cursor.as_bytes().chunks_exact(4) {
        let mut group = 0;
        for digit in four {
            group = group << 6 | DIGITS.iter().position(|known| known == digit)? as u32;
        }
        bytes.extend_from_slice(&group.to_be_bytes()[1..]);
    }
    let position = i64::from_be_bytes(bytes[..8].try_into().ok()?);
    (bytes[8..] == checksum(position).to_be_bytes()).then_some(position)
}

/// The same for a place in a list in order of name: checksum and name in hexadecimal.
pub fn encode_name_cursor(name: &str) -> String {
    let checksum = fnv(name.as_bytes()).to_be_bytes();
    checksum.iter().chain(name.as_bytes()).map(|byte| format!("{byte:02x}")).collect()
}

/// The name of a cursor, unless it is damaged.
pub fn decode_name_cursor(cursor: &str) -> Option<String> {
    let digit = |byte: u8| char::from(byte).to_digit(16).filter(|_| !byte.is_ascii_uppercase());
    let pairs = cursor.as_bytes().chunks(2).map(|pair| match pair {
        [high, low] => u8::try_from(digit(*high)? << 4 | digit(*low)?).ok(),
        _ => None,
    });
    let bytes: Vec<u8> = pairs.collect::<Option<_>>()?;
    let (sum, name) = bytes.split_at_checked(4)?;
    (sum == fnv(name).to_be_bytes()).then(|| String::from_utf8(name.to_vec()).ok())?
}

fn checksum(position: i64) -> u32 {
    fnv(&position.to_be_bytes())
}

/// FNV-1a. It finds damage and guesses, it is no signature: a cursor gives no right to anything.
fn fnv(bytes: &[u8]) -> u32 {
    bytes.iter().fold(0x811C_9DC5, |hash, &byte| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;
    use crate::{fields::query_object, problem::FieldError};

    fn read(parameters: &[(&str, &str)]) -> Result<PageQuery, Vec<FieldError>> {
        let query =
            query_object(parameters.iter().map(|(name, value)| (name.to_string(), value.to_string())));
        let mut fields = Fields::query(&query);
        let page = PageQuery::read(&mut fields);
        fields.finish().map(|()| page)
    }

    #[test]
    fn the_page_asked_for_is_read() {
        assert_eq!(read(&[]), Ok(PageQuery { cursor: None, limit: 50 }));
        let cursor = encode_cursor(-7);
        assert_eq!(
            read(&[("limit", "200"), ("cursor", &cursor)]),
            Ok(PageQuery { cursor: Some(-7), limit: 200 })
        );
    }

    #[test]
    fn a_wrong_size_or_cursor_is_refused() {
        #[track_caller]
        fn check(name: &str, value: &str, code: &str) {
            let faults = read(&[(name, value)]).unwrap_err();
            assert_eq!(
                (faults[0].pointer.as_str(), faults[0].code.as_str()),
                (&*format!("/{name}"), code),
                "{value}"
            );
        }
        for limit in ["0", "201", "-1", "ten", "", "99999999999999999999"] {
            check("limit", limit, "page_size");
        }
        for cursor in ["", "7", "AAAAAAAAAAAAAAAA", "ääääääää", "AAAAAAAAAAAAAAAA="] {
            check("cursor", cursor, "cursor_invalid");
        }
    }

    #[test]
    fn a_surplus_row_makes_a_next_page() {
        let page = Page::cut(vec![10, 20, 30], 2, |last| *last);
        assert_eq!((page.items.as_slice(), page.next_cursor), ([10, 20].as_slice(), Some(encode_cursor(20))));
        let page = Page::cut(vec![10, 20], 2, |last| *last).map(|n| n + 1);
        assert_eq!(serde_json::to_value(page).unwrap(), json!({"items": [11, 21], "nextCursor": null}));
    }

    proptest! {
        #[test]
        fn a_cursor_leads_back_to_its_place(position in any::<i64>()) {
            let cursor = encode_cursor(position);
            prop_assert!(cursor.len() == 16 && cursor.bytes().all(|byte| DIGITS.contains(&byte)));
            prop_assert_eq!(decode_cursor(&cursor), Some(position));
        }

        #[test]
        fn one_changed_digit_is_noticed(position in any::<i64>(), at in 0..16_usize, digit in 0..64_usize) {
            let mut cursor = encode_cursor(position).into_bytes();
            prop_assume!(cursor[at] != DIGITS[digit]);
            cursor[at] = DIGITS[digit];
            prop_assert_eq!(decode_cursor(&String::from_utf8(cursor).unwrap()), None);
        }

        #[test]
        fn a_name_cursor_leads_back_to_its_name(name in ".{0,20}", text in "[0-9a-fA-F]{0,20}") {
            prop_assert_eq!(decode_name_cursor(&encode_name_cursor(&name)), Some(name));
            if let Some(name) = decode_name_cursor(&text) {
                prop_assert_eq!(encode_name_cursor(&name), text);
            }
        }

        #[test]
        fn any_text_is_decoded_or_refused(text in ".{0,20}") {
            if let Some(position) = decode_cursor(&text) {
                prop_assert_eq!(encode_cursor(position), text);
            }
        }
    }
}
