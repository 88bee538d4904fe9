//! `#[boxed]`: an async function whose body is compiled in its own crate only.
//!
//! The compiler makes the body of an async function again in every crate that awaits it, and with it all that it awaits: each
//! crate above the store would hold the store's statements and the database driver once more. A boxed future is a pointer to
//! code that is already there. It costs one allocation a call.

mod derive;

use std::iter;

use proc_macro::{Group, Ident, Literal, Punct, Spacing, Span, TokenStream, TokenTree};

/// Turns `async fn f(a: &A) -> R` into `fn f<'f>(a: &'f A) -> Pin<Box<dyn Future<Output = R> + Send + 'f>>`.
///
/// It refuses functions with parameters for types or lifetimes: a generic body is made by its callers anyway.
#[proc_macro_attribute]
pub fn boxed(_: TokenStream, function: TokenStream) -> TokenStream {
    rewritten(function).unwrap_or_else(refuse)
}

/// A row that is read: each field is the column of its name, or of the name in `#[column("…")]`.
#[proc_macro_derive(Record, attributes(column))]
pub fn derive_record(input: TokenStream) -> TokenStream {
    derive::record(input).unwrap_or_else(refuse)
}

/// A row of a set that is written: each field is a column of the set, of its own name or of that in `#[column("…")]`,
/// except those marked `#[column(skip)]`.
#[proc_macro_derive(SetRow, attributes(column))]
pub fn derive_set_row(input: TokenStream) -> TokenStream {
    derive::set_row(input).unwrap_or_else(refuse)
}

fn refuse(why: &'static str) -> TokenStream {
    let why = TokenStream::from(TokenTree::from(Literal::string(why)));
    fill("compile_error! { WHY }", &[("WHY", why)])
}

fn rewritten(function: TokenStream) -> Result<TokenStream, &'static str> {
    let mut tokens = function.into_iter();
    let mut head = TokenStream::new();
    loop {
        let token = tokens.next().ok_or("`boxed` goes before an async function")?;
        match &token {
            TokenTree::Ident(word) if word.to_string() == "async" => continue,
            TokenTree::Ident(word) if word.to_string() == "fn" => break head.extend([token]),
            _ => head.extend([token]),
        }
    }
    head.extend(tokens.next());
    let Some(TokenTree::Group(parameters)) = tokens.next() else {
        return Err("`boxed` takes no function with parameters for types or lifetimes");
    };
    let mut answer: Vec<TokenTree> = tokens.collect();
    let Some(TokenTree::Group(body)) = answer.pop() else { return Err("`boxed` wants a body") };
    let answer = match answer.len() {
        0 => fill("()", &[]),
        // What follows the arrow.
        _ => borrowing(answer.into_iter().skip(2).collect()),
    };
    Ok(fill(
        "HEAD<'f>(PARAMETERS)
            -> ::std::pin::Pin<::std::boxed::Box<dyn ::std::future::Future<Output = ANSWER> + ::std::marker::Send + 'f>>
        {
            ::std::boxed::Box::pin(async move {
                let answer: ANSWER = BODY;
                #[allow(unreachable_code, clippy::allow_attributes)]
                answer
            })
        }",
        &[
            ("HEAD", head),
            ("PARAMETERS", borrowing(parameters.stream())),
            ("ANSWER", answer),
            ("BODY", TokenTree::from(body).into()),
        ],
    ))
}

/// Gives every borrow that names no lifetime the one of the future. A connection keeps its own: it is borrowed mutably,
/// and would otherwise stay borrowed for as long as it lives.
fn borrowing(tokens: TokenStream) -> TokenStream {
    let mut out: Vec<TokenTree> = Vec::new();
    let mut tokens = tokens.into_iter().peekable();
    while let Some(token) = tokens.next() {
        match token {
            TokenTree::Punct(mark) if mark.as_char() == '&' => {
                out.push(mark.into());
                if !matches!(tokens.peek(), Some(TokenTree::Punct(next)) if next.as_char() == '\'') {
                    out.extend(lifetime());
                }
            }
            TokenTree::Punct(mark) if mark.as_char() == '\'' => match tokens.next() {
                Some(TokenTree::Ident(name)) if name.to_string() == "_" && !is_connection(&out) => {
                    out.extend(lifetime());
                }
                name => out.extend(iter::once(mark.into()).chain(name)),
            },
            // What a closure borrows is its caller's affair.
            TokenTree::Group(group) if !follows(&out, 0, |word| word.starts_with("Fn")) => {
                let mut inner = Group::new(group.delimiter(), borrowing(group.stream()));
                inner.set_span(group.span());
                out.push(inner.into());
            }
            other => out.push(other),
        }
    }
    out.into_iter().collect()
}

/// Whether what was written last is `Conn<`.
fn is_connection(out: &[TokenTree]) -> bool {
    follows(out, 1, |word| word == "Conn")
}

fn follows(out: &[TokenTree], back: usize, is: impl Fn(&str) -> bool) -> bool {
    let word = out.len().checked_sub(back + 1).and_then(|place| out.get(place));
    matches!(word, Some(TokenTree::Ident(word)) if is(&word.to_string()))
}

fn lifetime() -> [TokenTree; 2] {
    [Punct::new('\'', Spacing::Joint).into(), Ident::new("f", Span::call_site()).into()]
}

/// The tokens of a text of ours, with what stands for its words in capitals.
fn fill(text: &str, words: &[(&str, TokenStream)]) -> TokenStream {
    fn replaced(tokens: TokenStream, words: &[(&str, TokenStream)]) -> TokenStream {
        let one = |token: TokenTree| match token {
            TokenTree::Ident(ident) => {
                let name = ident.to_string();
                let word = words.iter().find(|(word, _)| *word == name);
                word.map_or_else(|| TokenTree::Ident(ident).into(), |(_, tokens)| tokens.clone())
            }
            TokenTree::Group(group) => {
                TokenTree::from(Group::new(group.delimiter(), replaced(group.stream(), words))).into()
            }
            other => TokenStream::from(other),
        };
        tokens.into_iter().map(one).collect()
    }
    // The text is ours and always reads.
    replaced(text.parse().unwrap_or_default(), words)
}
