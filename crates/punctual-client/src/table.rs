//! How the table of operations becomes methods: each line builds a [`Call`](crate::client::Call) and reads its answer.

/// `NAME: METHOD "/path/" part "/more" [Query] {Body} => json Answer;`, where the body is sent as JSON, or `(Vec<u8>)` for one that
/// has a media type of its own, and the answer is read as JSON or, with `bytes`, left as it is.
macro_rules! operations {
    ($(
        $(#[$doc:meta])+
        $name:ident: $method:ident $first:literal $($part:ident $rest:literal)*
            $([$query:ty])? $({$body:ty})? $(($raw:ty))? => $how:ident $answer:ty;
    )+) => {
        impl crate::Client {$(
            $(#[$doc])+
            pub async fn $name(
                &self,
                $($part: &str,)*
                $(query: &$query,)?
                $(body: &$body,)?
                $(content_type: &str, body: $raw,)?
            ) -> Result<$answer, crate::ApiError> {
                let call = crate::client::Call::new(reqwest::Method::$method, $first);
                $(let call = call.part(stringify!($part), $part).text($rest);)*
                $(let call = call.query::<$query>(query);)?
                $(let call = call.json::<$body>(body);)?
                $(let call = call.bytes::<$raw>(content_type, body);)?
                self.$how(call).await
            }
        )+}
    };
}

/// `iter_NAME: "/path/" part "" [Query] => Item;`: the items of all pages.
macro_rules! pages {
    ($(
        $(#[$doc:meta])+
        $name:ident: $first:literal $($part:ident $rest:literal)* [$query:ty] => $item:ty;
    )+) => {
        impl crate::Client {$(
            $(#[$doc])+
            pub fn $name(&self, $($part: &str,)* query: &$query) -> crate::Pages<$item> {
                let call = crate::client::Call::new(reqwest::Method::GET, $first);
                $(let call = call.part(stringify!($part), $part).text($rest);)*
                crate::Pages::of(self.clone(), call.query::<$query>(query))
            }
        )+}
    };
}

/// `Name { "fieldName" field_name: Type, … }`: one struct for each operation with parameters in its query.
macro_rules! queries {
    ($(
        $(#[$doc:meta])+
        $name:ident { $($text:literal $field:ident: $kind:ty,)+ }
    )+) => {
        pub mod queries {$(
            $(#[$doc])+
            #[derive(Clone, Debug, Default, PartialEq, serde::Serialize)]
            pub struct $name {
                $(#[serde(rename = $text)] pub $field: $kind,)+
            }
        )+}
        use queries::*;
    };
}

pub(crate) use {operations, pages, queries};
