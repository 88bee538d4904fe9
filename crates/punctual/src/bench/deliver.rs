//! Due messages: decided, queued, sent over the memory channel and settled, with their attempts written.

use anyhow::{Result, ensure};
use jiff::{SignedDuration, Timestamp};
use punctual_engine::{Actor, Handed, Listeners};
use punctual_model::{Audience, ChannelKey, Clock, NewNotification, NotificationId};
use punctual_store::{maintenance::HeldSnapshot, notifications};
use punctual_workflows::messages::{NewMessage, send_at};

use super::{Bench, Measured, Rig, drain::is_busy, ingest::BATCH};

pub(super) async fn measure(bench: &Bench, jobs: usize) -> Result<Measured> {
    measure_with(bench, "deliver", jobs, false).await
}

/// The same, while a snapshot of the database is held or not.
pub(super) async fn measure_with(
    bench: &Bench,
    test: &'static str,
    jobs: usize,
    is_held: bool,
) -> Result<Measured> {
    let rig = bench.rig("deliver", Listeners::default()).await?;
    measure_on(bench, rig, test, jobs, is_held).await
}

/// The same on this database.
pub(super) async fn measure_on(
    bench: &Bench,
    rig: Rig,
    test: &'static str,
    jobs: usize,
    is_held: bool,
) -> Result<Measured> {
    make_due(bench, &rig, jobs).await?;
    rig.settle_down().await?;
    let held = if is_held { Some(HeldSnapshot::take(&rig.url).await?) } else { None };
    let started = bench.clock.now();
    let running = rig.engine.run();
    until_delivered(bench, &rig, jobs).await?;
    let took = bench.clock.now().duration_since(started);
    running.stop().await;
    drop(held);
    rig.remove().await?;
    Ok(Measured::rate(test, jobs, took.unsigned_abs()))
}

/// Messages that are due at once, over the memory channel.
pub(super) async fn make_due(bench: &Bench, rig: &Rig, jobs: usize) -> Result<()> {
    make_due_over(bench, rig, jobs, &ChannelKey::memory()).await
}

pub(super) async fn make_due_over(bench: &Bench, rig: &Rig, jobs: usize, channel: &ChannelKey) -> Result<()> {
    let now = bench.clock.now();
    make(rig, jobs, |number| message(number, now, channel.clone())).await
}

/// Messages over the memory channel of which so many a second become due, from this moment on.
pub(super) async fn make_due_from(rig: &Rig, jobs: usize, from: Timestamp, a_second: i64) -> Result<()> {
    let due = |number: usize| {
        let number = i64::try_from(number).unwrap_or(i64::MAX);
        from + SignedDuration::from_micros(number.saturating_mul(1_000_000) / a_second)
    };
    make(rig, jobs, |number| message(number, due(number), ChannelKey::memory())).await
}

async fn make(rig: &Rig, jobs: usize, message: impl Fn(usize) -> NewMessage) -> Result<()> {
    let numbers: Vec<usize> = (0..jobs).collect();
    for batch in numbers.chunks(BATCH) {
        let messages: Vec<NewMessage> = batch.iter().map(|number| message(*number)).collect();
        send_at(&rig.engine, &Actor::named("bench"), &messages).await?;
    }
    Ok(())
}

/// Waits until nothing is due or under way any more, and makes sure that all of it was delivered.
pub(super) async fn until_delivered(bench: &Bench, rig: &Rig, jobs: usize) -> Result<()> {
    loop {
        bench.clock.sleep_until(bench.clock.now() + SignedDuration::from_millis(20)).await;
        if !is_busy_at_all(bench, rig).await? {
            break;
        }
    }
    let mut reader = rig.engine.store.read().await?;
    let kpis = notifications::kpis(&mut reader.conn(), Default::default(), None).await?;
    ensure!(usize::try_from(kpis.delivered) == Ok(jobs), "delivered {} of {jobs}", kpis.delivered);
    Ok(())
}

/// Whether work is due or a notification is to be sent.
async fn is_busy_at_all(bench: &Bench, rig: &Rig) -> Result<bool> {
    if is_busy(&rig.engine, bench).await? {
        return Ok(true);
    }
    let mut reader = rig.engine.store.read().await?;
    Ok(notifications::is_busy(&mut reader.conn()).await?)
}

pub(super) fn message(number: usize, now: Timestamp, channel: ChannelKey) -> NewMessage {
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
