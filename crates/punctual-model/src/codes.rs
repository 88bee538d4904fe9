//! Declares enums of codes: each code is one line with its variant, its spelling in the database and the API, and a sentence
//! for people, so that a code without a sentence does not compile.

macro_rules! codes {
    ($(#[$about:meta])* $name:ident, else $unknown:ident: $($variant:ident $spelling:literal $sentence:literal,)+) => {
        $(#[$about])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, serde::Serialize, serde::Deserialize)]
        pub enum $name {
            $(#[doc = $sentence] #[serde(rename = $spelling)] $variant,)+
        }

        impl $name {
            /// Every one, in the order of the reference.
            pub const fn all() -> &'static [Self] {
                &[$(Self::$variant,)+]
            }

            /// The spelling in the database and the API.
            pub const fn as_str(self) -> &'static str {
                match self {
                    $(Self::$variant => $spelling,)+
                }
            }

            /// The sentence that people read, without a full stop.
            pub const fn sentence(self) -> &'static str {
                match self {
                    $(Self::$variant => $sentence,)+
                }
            }
        }

        impl std::str::FromStr for $name {
            type Err = $unknown;

            fn from_str(text: &str) -> Result<Self, $unknown> {
                match text {
                    $($spelling => Ok(Self::$variant),)+
                    _ => Err($unknown),
                }
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(self.as_str())
            }
        }
    };
}

pub(crate) use codes;
