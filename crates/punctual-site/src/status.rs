//! The status of a notification: the site's own while it has it, central's after, the last known if central is away.

use jiff::Timestamp;
use punctual_store::{
    Lane, StoreError,
    site_buffer::outgoing::{self, OutgoingState},
};
use punctual_wire::{names::guid, site_agent::NotifyStatus, sites::SiteNotificationStatus};

use crate::Agent;

impl Agent {
    /// Once central has it, this never goes back to `forwarding`.
    pub async fn status(&self, id: &str) -> Result<NotifyStatus, StoreError> {
        let Some(id) = guid(id) else { return Ok(NotifyStatus::unknown(id)) };
        let mut reader = self.store.read().await?;
        let known = outgoing::by_id(&mut reader.conn(), &id).await?;
        drop(reader);
        match known {
            // tidy-allow: the word of the buffer's table
            Some(known) if known.state != "handed_over" || is_settled(&known.status) => {
                Ok(shape(known, false))
            }
            known => self.ask_central(&id, known).await,
        }
    }

    async fn ask_central(&self, id: &str, known: Option<OutgoingState>) -> Result<NotifyStatus, StoreError> {
        let site = self.link().site.clone();
        let answer = match &site {
            Some(site) => self.central.status(site, id).await,
            // Nothing was ever forwarded, so there is nothing that central could know.
            None => Ok(None),
        };
        match (answer, known) {
            (Ok(Some(reported)), known) => {
                let reason_code = reported.reason_code.clone();
                let now_known = learned(id, reported, known.as_ref());
                if known.as_ref().is_some_and(|known| *known != now_known) {
                    self.learn(&now_known).await;
                }
                Ok(NotifyStatus { reason_code, ..shape(now_known, false) })
            }
            (Ok(None), _) => Ok(NotifyStatus::unknown(id)),
            (Err(_), Some(known)) => Ok(shape(known, true)),
            (Err(_), None) => Ok(NotifyStatus { central_unreachable: true, ..NotifyStatus::unknown(id) }),
        }
    }

    async fn learn(&self, known: &OutgoingState) {
        let written: Result<(), StoreError> = async {
            let mut tx = self.store.begin(Lane::Intake).await?;
            outgoing::learn(&mut tx.conn(), known).await?;
            tx.commit().await
        }
        .await;
        if let Err(error) = written {
            tracing::debug!(notification.id = known.id, %error, "the status that central returned could not be stored");
        }
    }
}

/// Whether central will never say anything else, so that it need not be asked again. A parked one may be retried.
fn is_settled(status: &str) -> bool {
    // tidy-allow: a word of central, which may have more
    matches!(status, "delivered" | "discarded" | "withdrawn")
}

fn learned(id: &str, reported: SiteNotificationStatus, known: Option<&OutgoingState>) -> OutgoingState {
    let enqueued_at = known.map(|known| known.enqueued_at);
    OutgoingState {
        id: id.to_owned(),
        state: "handed_over".to_owned(),
        status: reported.status.into_owned(),
        retry_count: reported.retry_count,
        last_error: reported.last_error,
        enqueued_at: enqueued_at.or(reported.enqueued_at.map(|at| at.as_microsecond())).unwrap_or_default(),
        delivered_at: reported.delivered_at.map(|at| at.as_microsecond()),
    }
}

fn shape(known: OutgoingState, central_unreachable: bool) -> NotifyStatus {
    let instant = |micros: i64| Timestamp::from_microsecond(micros).ok();
    NotifyStatus {
        id: known.id,
        status: known.status.into(),
        retry_count: known.retry_count,
        last_error: known.last_error,
        reason_code: None,
        enqueued_at: instant(known.enqueued_at),
        delivered_at: known.delivered_at.and_then(instant),
        central_unreachable,
    }
}
