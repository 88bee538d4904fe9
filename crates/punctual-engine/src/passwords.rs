//! Password rules and hashing: Argon2id with 19 MiB, two passes and one lane.
//!
//! Hashing deliberately takes memory and tens of milliseconds, so it runs outside the request tasks with a low concurrency.

use argon2::{
    Algorithm, Argon2, Params, PasswordHash, PasswordHasher, PasswordVerifier, Version,
    password_hash::SaltString,
};
use punctual_model::{Fault, Random, Secret};
use tokio::sync::Semaphore;

/// Shorter ones are guessed. Nothing else is asked of a password but that it is not the email.
pub const SHORTEST: usize = 12;
/// Nobody types more, and hashing a megabyte would keep a core busy.
pub const LONGEST: usize = 1_024;
const MEMORY_KIB: u32 = 19 * 1_024;
const PASSES: u32 = 2;
const LANES: u32 = 1;
/// Passwords that are hashed at once on this node: each takes 19 MiB and a core.
static AT_ONCE: Semaphore = Semaphore::const_new(4);

/// What is wrong with a password that somebody chose, at `pointer`.
pub fn fault(password: &str, email: &str, pointer: &str) -> Option<Fault> {
    let count = password.chars().count();
    let detail = if count < SHORTEST {
        format!("A password has at least {SHORTEST} characters; this one has {count}.")
    } else if password.len() > LONGEST {
        format!("A password has at most {LONGEST} bytes.")
    } else if password.to_lowercase() == email.to_lowercase() {
        "The password must not be the email address.".to_owned()
    } else {
        return None;
    };
    Some(Fault::new(pointer, "password_weak", detail))
}

fn argon2() -> Argon2<'static> {
    let params = Params::new(MEMORY_KIB, PASSES, LANES, None).unwrap_or(Params::DEFAULT);
    Argon2::new(Algorithm::Argon2id, Version::V0x13, params)
}

/// The hash of a password, with its salt and its cost.
pub(crate) async fn hash(random: &dyn Random, password: &Secret) -> Option<String> {
    let mut salt = [0; 16];
    random.bytes(&mut salt);
    let password = password.clone();
    beside(move || hashed(&salt, password.expose())).await.flatten()
}

fn hashed(salt: &[u8], password: &str) -> Option<String> {
    let salt = SaltString::encode_b64(salt).ok()?;
    argon2().hash_password(password.as_bytes(), &salt).ok().map(|hash| hash.to_string())
}

/// Whether this is the password. Where there is none to compare with, the same work is done, so that the time does not
/// tell whether there is such an account.
pub(crate) async fn matches(stored: Option<String>, password: &Secret) -> bool {
    let password = password.clone();
    let compared = beside(move || {
        let known = stored.is_some();
        let stored = stored.unwrap_or_else(|| NOBODYS.to_owned());
        let parsed = PasswordHash::new(&stored).ok();
        let same =
            parsed.is_some_and(|hash| argon2().verify_password(password.expose().as_bytes(), &hash).is_ok());
        same && known
    });
    compared.await.unwrap_or(false)
}

/// A hash of the same cost, for accounts that do not exist.
const NOBODYS: &str =
    "$argon2id$v=19$m=19456,t=2,p=1$AAAAAAAAAAAAAAAAAAAAAA$AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA";

/// Runs it on a thread for blocking work, a few at a time.
async fn beside<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Option<T> {
    let _permit = AT_ONCE.acquire().await.ok()?;
    tokio::task::spawn_blocking(work).await.ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Fixed;

    impl Random for Fixed {
        fn bytes(&self, into: &mut [u8]) {
            into.fill(7);
        }
    }

    #[tokio::test]
    async fn t02_a_password_is_hashed_with_argon2id_and_compared() {
        let hash = hash(&Fixed, &Secret::new("correct horse battery")).await.unwrap();
        assert!(hash.starts_with("$argon2id$v=19$m=19456,t=2,p=1$"), "{hash}");
        assert!(matches(Some(hash.clone()), &Secret::new("correct horse battery")).await);
        assert!(!matches(Some(hash), &Secret::new("correct horse batterx")).await);
        assert!(!matches(Some("no hash".into()), &Secret::new("x")).await);
        assert!(!matches(None, &Secret::new("")).await);
        assert!(PasswordHash::new(NOBODYS).unwrap().hash.is_some(), "it costs as much as a real one");
    }

    #[test]
    fn a_password_is_long_and_not_the_email_and_nothing_else_is_asked() {
        let weak = |password: &str| fault(password, "ada@example.org", "/password").is_some();
        assert!(weak("elevenchars") && weak("") && weak("Ada@Example.ORG") && weak(&"x".repeat(1_025)));
        assert!(!weak("twelve chars") && !weak("aaaaaaaaaaaa") && !weak("ééééééàààààà"));
    }
}
