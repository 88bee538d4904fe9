//! A reference to a secret outside the database: `file:NAME` or `env:NAME`.
//!
//! A name is one word, so no setting can refer to a file outside the secrets directory or to an unrelated variable. The binary
//! reads the secret.

use std::fmt;

/// The longest name.
const LONGEST: usize = 200;
/// What the variables with secrets begin with.
pub const VARIABLE_PREFIX: &str = "PUNCTUAL_SECRET_";

/// Where a secret is kept.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct SecretReference(Place);

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Place {
    File(String),
    Env(String),
}

/// Why a text that is meant as a reference is none.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ReferenceFault {
    #[error(
        "`file:` is followed by the plain name of a file in the directory for secrets, such as `file:smtp`: no \
         folder, no leading dot, at most 200 bytes"
    )]
    File,
    #[error(
        "`env:` is followed by letters, digits and `_`, such as `env:SMTP`, which reads the variable `PUNCTUAL_SECRET_SMTP`"
    )]
    Env,
}

impl SecretReference {
    /// Reads a secret setting: `None` where it is the secret itself, a fault where it is meant as a reference and
    /// names no secret.
    pub fn parse(text: &str) -> Option<Result<Self, ReferenceFault>> {
        if let Some(name) = text.strip_prefix("file:") {
            return Some(match is_file_name(name) {
                true => Ok(Self(Place::File(name.to_owned()))),
                false => Err(ReferenceFault::File),
            });
        }
        let name = text.strip_prefix("env:")?;
        Some(match is_variable(name) {
            true => Ok(Self(Place::Env(name.to_owned()))),
            false => Err(ReferenceFault::Env),
        })
    }

    /// Whether the text is meant as a reference, right or wrong: it is then no secret itself.
    pub fn is_meant(text: &str) -> bool {
        Self::parse(text).is_some()
    }

    /// The name of the file in the directory for secrets, where it is one.
    pub fn file_name(&self) -> Option<&str> {
        match &self.0 {
            Place::File(name) => Some(name),
            Place::Env(_) => None,
        }
    }

    /// The variable that holds the secret, where it is one.
    pub fn variable(&self) -> Option<String> {
        match &self.0 {
            Place::File(_) => None,
            Place::Env(name) => Some(format!("{VARIABLE_PREFIX}{name}")),
        }
    }

    /// The reference to use instead of one of an earlier version, such as `file:smtp` for `file:/run/secrets/smtp`.
    pub fn instead_of(old: &str) -> Option<Self> {
        let (kind, name) = old.split_once(':')?;
        let name = name.rsplit(['/', '\\']).next().unwrap_or(name);
        let plain = |c: char| if c.is_ascii_alphanumeric() { c } else { '_' };
        let text = match kind {
            "file" => format!("file:{}", name.trim_start_matches('.')),
            "env" => format!("env:{}", name.chars().map(plain).collect::<String>()),
            _ => return None,
        };
        Self::parse(&text)?.ok()
    }
}

impl fmt::Display for SecretReference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Place::File(name) => write!(f, "file:{name}"),
            Place::Env(name) => write!(f, "env:{name}"),
        }
    }
}

fn is_file_name(name: &str) -> bool {
    !name.is_empty()
        && name.len() <= LONGEST
        && !name.starts_with('.')
        && !name.contains("..")
        && !name.contains(['/', '\\', ':'])
        && !name.chars().any(char::is_control)
}

fn is_variable(name: &str) -> bool {
    (1..=LONGEST).contains(&name.len()) && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn t12_a_reference_is_one_plain_name() {
        for text in ["file:smtp", "file:nats.creds", "file:with blanks", "env:SMTP", "env:a_1", "env:_"] {
            let reference = SecretReference::parse(text).unwrap().unwrap();
            assert_eq!(reference.to_string(), text);
        }
        let long = format!("file:{}", "a".repeat(LONGEST + 1));
        for text in [
            "file:",
            "file:/run/secrets/smtp",
            "file:///run/secrets/smtp",
            "file:a/b",
            "file:..",
            "file:../master.key",
            "file:a..b",
            "file:.hidden",
            "file:a\\b",
            "file:C:secret",
            "file:a\0b",
            "file:a\nb",
            long.as_str(),
        ] {
            assert_eq!(SecretReference::parse(text), Some(Err(ReferenceFault::File)), "{text:?}");
        }
        for text in ["env:", "env:A-B", "env:A B", "env:PÄTH", "env:A=B", "env:A\0"] {
            assert_eq!(SecretReference::parse(text), Some(Err(ReferenceFault::Env)), "{text:?}");
        }
        for text in ["", "hunter2", "https://a.example/file:x", "File:x", "ENV:X", " env:X"] {
            assert!(!SecretReference::is_meant(text), "{text:?}");
        }
    }

    #[test]
    fn a_variable_has_the_prefix_of_secrets() {
        let reference = SecretReference::parse("env:SMTP").unwrap().unwrap();
        assert_eq!(reference.variable().as_deref(), Some("PUNCTUAL_SECRET_SMTP"));
        assert_eq!(reference.file_name(), None);
        assert_eq!(SecretReference::parse("file:smtp").unwrap().unwrap().file_name(), Some("smtp"));
    }

    #[test]
    fn an_old_reference_has_a_new_one_to_use_instead() {
        for (old, new) in [
            ("file:/run/secrets/smtp", Some("file:smtp")),
            ("file:smtp", Some("file:smtp")),
            ("file:/home/x/.smtp", Some("file:smtp")),
            ("file:/", None),
            ("env:SMTP_PASSWORD", Some("env:SMTP_PASSWORD")),
            ("env:SMTP-PASSWORD", Some("env:SMTP_PASSWORD")),
            ("env:", None),
        ] {
            let instead = SecretReference::instead_of(old).map(|reference| reference.to_string());
            assert_eq!(instead.as_deref(), new, "{old}");
        }
    }
}
