//! `#[derive(Record)]` and `#[derive(SetRow)]`: a struct is a row that is read, or a row of a set that is written.
//!
//! Both are for the store alone; its traits of these names say what the code is for.

use proc_macro::{Delimiter, Literal, TokenStream, TokenTree};

use crate::fill;

/// A struct with named fields.
struct Struct {
    name: TokenStream,
    /// What stands between the angle brackets: a lifetime, or nothing.
    lifetime: TokenStream,
    fields: Vec<Field>,
}

struct Field {
    name: TokenStream,
    kind: TokenStream,
    /// The name of its column, a literal: its own, or what `#[column("…")]` says.
    column: TokenStream,
    /// Marked `#[column(skip)]`: it is no column of the set.
    skip: bool,
}

pub(crate) fn record(input: TokenStream) -> Result<TokenStream, &'static str> {
    let read = parse(input)?;
    let columns = listed(read.fields.iter().map(|field| field.column.clone()));
    let cells = listed(read.fields.iter().map(|f| fill("NAME: cells.next()?", &[("NAME", f.name.clone())])));
    Ok(fill(
        "impl crate::db::Record for NAME {
            const COLUMNS: &'static [&'static str] = &[LIST];
            fn decode(cells: &mut crate::db::Cells<'_>) -> ::std::result::Result<Self, crate::error::DriverError> {
                Ok(Self { CELLS })
            }
        }",
        &[("NAME", read.name), ("LIST", columns), ("CELLS", cells)],
    ))
}

pub(crate) fn set_row(input: TokenStream) -> Result<TokenStream, &'static str> {
    let read = parse(input)?;
    let written: Vec<&Field> = read.fields.iter().filter(|field| !field.skip).collect();
    let fields = listed(written.iter().map(|field| {
        fill(
            "crate::db::Field { name: TEXT, kind: <TYPE as crate::db::Encode>::KIND }",
            &[("TEXT", field.column.clone()), ("TYPE", field.kind.clone())],
        )
    }));
    let arms = written.iter().enumerate().map(|(number, field)| {
        let number = TokenStream::from(TokenTree::from(Literal::usize_unsuffixed(number)));
        let words = [("NUMBER", number), ("FIELD", field.name.clone())];
        fill("NUMBER => crate::db::Encode::encode(&self.FIELD),", &words)
    });
    Ok(fill(
        "impl<LIFETIME> crate::db::SetRow for NAME<LIFETIME> {
            const FIELDS: &'static [crate::db::Field] = &[LIST];
            fn cell(&self, field: usize) -> crate::db::Value<'_> {
                match field { ARMS _ => crate::db::Value::Null }
            }
        }",
        &[("LIFETIME", read.lifetime), ("NAME", read.name), ("LIST", fields), ("ARMS", arms.collect())],
    ))
}

fn parse(input: TokenStream) -> Result<Struct, &'static str> {
    let mut tokens = input.into_iter();
    let is_struct =
        |token: &TokenTree| matches!(token, TokenTree::Ident(word) if word.to_string() == "struct");
    tokens.find(is_struct).ok_or("only a struct is a row")?;
    let name = tokens.next().ok_or("a struct has a name")?.into();
    let mut lifetime = Vec::new();
    for token in tokens {
        match token {
            TokenTree::Group(body) if body.delimiter() == Delimiter::Brace => {
                let inner = lifetime.len().saturating_sub(1);
                let lifetime = lifetime.into_iter().take(inner).skip(1).collect();
                return Ok(Struct { name, lifetime, fields: fields(body.stream())? });
            }
            other => lifetime.push(other),
        }
    }
    Err("a row has named fields")
}

fn fields(body: TokenStream) -> Result<Vec<Field>, &'static str> {
    let mut fields = Vec::new();
    let mut tokens = body.into_iter().peekable();
    while tokens.peek().is_some() {
        let (mut skip, mut column, mut name) = (false, None, None);
        let (mut kind, mut depth) = (Vec::new(), 0_i32);
        // Attributes and visibility, then the name before the colon.
        for token in tokens.by_ref() {
            match &token {
                TokenTree::Group(group) if group.delimiter() == Delimiter::Bracket => {
                    match marked(group.stream()) {
                        Some(TokenTree::Ident(word)) => skip |= word.to_string() == "skip",
                        other => column = other.or(column),
                    }
                }
                TokenTree::Punct(mark) if mark.as_char() == ':' => break,
                TokenTree::Ident(_) => name = Some(token),
                _ => {}
            }
        }
        for token in tokens.by_ref() {
            match &token {
                TokenTree::Punct(mark) if mark.as_char() == '<' => depth += 1,
                TokenTree::Punct(mark) if mark.as_char() == '>' => depth -= 1,
                TokenTree::Punct(mark) if mark.as_char() == ',' && depth == 0 => break,
                _ => {}
            }
            kind.push(token);
        }
        let name = name.ok_or("a field has a name")?.into();
        let column = column.map_or_else(|| literal(&name), TokenStream::from);
        fields.push(Field { name, kind: kind.into_iter().collect(), column, skip });
    }
    Ok(fields)
}

/// The content of `column(…)`.
fn marked(attribute: TokenStream) -> Option<TokenTree> {
    let mut tokens = attribute.into_iter();
    let is_ours = tokens.next().is_some_and(|word| word.to_string() == "column");
    match tokens.next() {
        Some(TokenTree::Group(inner)) if is_ours => inner.stream().into_iter().next(),
        _ => None,
    }
}

fn literal(name: &TokenStream) -> TokenStream {
    TokenTree::from(Literal::string(name.to_string().trim_start_matches("r#"))).into()
}

fn listed(items: impl Iterator<Item = TokenStream>) -> TokenStream {
    items.map(|item| fill("ITEM,", &[("ITEM", item)])).collect()
}
