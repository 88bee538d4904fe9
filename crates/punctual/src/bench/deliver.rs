//! Due messages: decided, queued, sent over the memory channel and settled, with their attempts written.

use anyhow::{Result, ensure};
use jiff::SignedDuration;
use punctual_engine::{Actor, Handed, Listeners};
use punctual_model::{Audience, ChannelKey, Clock, NewNotification, NotificationId};
use punctual_store::notifications;
use punctual_workflows::messages::{NewMessage, send_at};

use super::{Bench, Measured, drain::is_busy, ingest::BATCH};

pub(super) async fn measure(bench: &Bench, jobs: usize) -> Result<Measured> {
    let rig = bench.rig("deliver", Listeners::default()).await?;
    let now = bench.clock.now();
    let numbers: Vec<usize> = (0..jobs).collect();
    for batch in numbers.chunks(BATCH) {
        let messages: Vec<NewMessage> =
            batch.iter().map(|number| message(*number, now, ChannelKey::memory())).collect();
        send_at(&rig.engine, &Actor::named("bench"), &messages).await?;
    }
    rig.settle_down().await?;
    let started = bench.clock.now();
    let running = rig.engine.run();
    loop {
        bench.clock.sleep_until(bench.clock.now() + SignedDuration::from_millis(20)).await;
        if is_busy(&rig.engine, bench).await? {
            continue;
        }
        let mut reader = rig.engine.store.read().await?;
        if !notifications::is_busy(&mut reader.conn()).await? {
            break;
        }
    }
    let took = bench.clock.now().duration_since(started);
    running.stop().await;
    let mut reader = rig.engine.store.read().await?;
    let kpis = notifications::kpis(&mut reader.conn(), Default::default(), None).await?;
    drop(reader);
    ensure!(usize::try_from(kpis.delivered) == Ok(jobs), "delivered {} of {jobs}", kpis.delivered);
    rig.remove().await?;
    Ok(Measured::rate("deliver", jobs, took.unsigned_abs()))
}

pub(super) fn message(number: usize, now: jiff::Timestamp, channel: ChannelKey) -> NewMessage {
    let audience = Audience::Targets(vec![format!("user-{number}@example.org")]);
    let id = NotificationId(Default::default());
    let mut content = NewNotification::new(id, audience, "Your order has an update", body(number));
    content.channel = Some(channel);
    let content = Handed::stored(content);
    NewMessage { id: format!("bench-{number}"), send_at: now, content, revive: false }
}

pub(super) fn body(number: usize) -> String {
    format!("Parcel {number} arrives today, open the app to see where it is and when it will be there.")
}
