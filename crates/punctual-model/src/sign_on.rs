//! The contract of a single sign-on provider: the sign-in address, and the identity that the provider returns.

use futures_util::future::BoxFuture;
use jiff::Timestamp;

use crate::Secret;

/// What is sent along when somebody leaves for the provider.
#[derive(Clone, Debug)]
pub struct SignOnRequest {
    /// Comes back with the answer, and shows that this browser asked.
    pub state: String,
    /// Comes back inside the token, and shows that the token was made for this request.
    pub nonce: String,
    /// The hash of the verifier (RFC 7636, S256).
    pub challenge: String,
    /// Where the provider sends people back to.
    pub redirect_uri: String,
}

/// What somebody brings back from the provider.
#[derive(Clone, Debug)]
pub struct SignOnAnswer {
    pub code: Secret,
    pub verifier: Secret,
    pub nonce: String,
    pub redirect_uri: String,
    pub now: Timestamp,
}

/// Who the provider says that somebody is, after every check.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Identity {
    pub issuer: String,
    pub subject: String,
    pub email: Option<String>,
    /// The provider says that the mailbox is theirs.
    pub email_verified: bool,
    pub name: Option<String>,
    pub groups: Vec<String>,
}

/// Why nobody is signed in.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SignOnFault {
    /// It may work later.
    #[error("the provider cannot be reached: {0}")]
    Unreachable(String),
    /// What came back is not good; it says which check failed.
    #[error("the answer of the provider is not good: {0}")]
    Refused(String),
}

/// A provider that people sign in with.
pub trait IdentityProvider: Send + Sync {
    /// What the button says: `Sign in with …`.
    fn name(&self) -> &str;

    /// Who vouches, as the tokens name it.
    fn issuer(&self) -> &str;

    /// Where the browser is sent.
    fn start(&self, request: SignOnRequest) -> BoxFuture<'_, Result<String, SignOnFault>>;

    /// Who it is. The code is redeemed and the token is checked.
    fn finish(&self, answer: SignOnAnswer) -> BoxFuture<'_, Result<Identity, SignOnFault>>;

    /// Where the browser is sent to sign out there too, if the provider has such a page.
    fn sign_out(&self, back_to: &str) -> BoxFuture<'_, Result<Option<String>, SignOnFault>>;
}
