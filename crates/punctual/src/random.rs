//! The system's source of randomness.
#![expect(clippy::disallowed_methods, reason = "this is the only source of randomness")]

use punctual_model::Random;

pub struct SystemRandom;

impl Random for SystemRandom {
    fn bytes(&self, into: &mut [u8]) {
        if let Err(error) = getrandom::fill(into) {
            // Without it no key, link or id is safe; there is nothing to continue with.
            eprintln!("punctual: the system gives no random bytes: {error}");
            std::process::abort();
        }
    }
}
