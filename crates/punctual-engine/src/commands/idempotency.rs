//! Stored responses of idempotency keys, so that a repeated request gets the same response.

use punctual_boxed::boxed;
use punctual_store::{
    Lane, StoreError,
    idempotency::{self, Answered},
};

use crate::Engine;

impl Engine {
    /// Keeps the answer to a request of this owner with this key.
    #[boxed]
    pub async fn remember_answer(&self, owner: &str, key: &str, answer: &Answered) -> Result<(), StoreError> {
        let mut tx = self.store.begin(Lane::Intake).await?;
        idempotency::remember(&mut tx.conn(), self.clock.now(), owner, key, answer).await?;
        tx.commit().await
    }
}
