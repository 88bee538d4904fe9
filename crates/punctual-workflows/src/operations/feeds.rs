//! Secret calendar links of an organisation or a person: create, revoke and serve.

use jiff::{SignedDuration, Timestamp};
use punctual_boxed::boxed;
use punctual_engine::{
    Actor, CommandError, Engine,
    keys::{hex, secret_hash},
};
use punctual_model::{AuditAction, Reach};
use punctual_store::{
    Lane, StoreError,
    operations::{
        feeds::{self, FeedRow},
        organisations, people,
        subjects::{self, Between},
    },
};

use super::calendar;

/// How far back and ahead a feed shows.
const BACK: SignedDuration = SignedDuration::from_hours(24 * 90);
const AHEAD: SignedDuration = SignedDuration::from_hours(24 * 366);
/// Events and tasks in one feed.
const MOST: i64 = 2_000;

/// Whose calendar it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Owner {
    Organisation(String),
    Person(String),
}

impl Owner {
    /// As it is stored.
    pub fn parts(&self) -> (&'static str, &str) {
        match self {
            Self::Organisation(id) => ("organisation", id),
            Self::Person(id) => ("person", id),
        }
    }
}

/// Makes the link to a calendar and returns its secret, which is stored nowhere. Making it again ends the old one.
#[boxed]
pub async fn make(engine: &Engine, by: &Actor, owner: &Owner) -> Result<(FeedRow, String), CommandError> {
    let now = engine.clock.now();
    let (owner_type, owner_id) = owner.parts();
    let mut tx = engine.store.begin(Lane::Intake).await?;
    let unit = match owner {
        Owner::Organisation(_) => {
            organisations::get(&mut tx.conn(), &by.reach(), owner_id).await?.map(|row| row.business_unit)
        }
        Owner::Person(_) => {
            people::get(&mut tx.conn(), &by.reach(), owner_id).await?.map(|row| row.business_unit)
        }
    };
    let unit = unit.filter(|unit| by.may_touch(unit.as_deref()));
    let business_unit = unit.ok_or_else(|| CommandError::not_found(owner_type, owner_id))?;
    let mut bytes = [0; 32];
    engine.random.bytes(&mut bytes);
    let secret = hex(&bytes);
    let row = FeedRow {
        owner_type: owner_type.to_owned(),
        owner_id: owner_id.to_owned(),
        secret_hash: secret_hash(&secret),
        business_unit,
        created_at: now,
    };
    feeds::put(&mut tx.conn(), now, &row).await?;
    by.audit(&mut tx, now, AuditAction::Put, "feed", owner_id, row.business_unit.as_deref()).await?;
    tx.commit().await?;
    Ok((row, secret))
}

/// Ends the link to a calendar.
#[boxed]
pub async fn end(engine: &Engine, by: &Actor, owner_type: &str, owner_id: &str) -> Result<(), CommandError> {
    let mut tx = engine.store.begin(Lane::Intake).await?;
    let row = feeds::of(&mut tx.conn(), owner_type, owner_id).await?;
    let row = row.filter(|row| by.may_touch(row.business_unit.as_deref()));
    let row = row.ok_or_else(|| CommandError::not_found("feed", owner_id))?;
    feeds::delete(&mut tx.conn(), owner_type, owner_id).await?;
    by.audit(
        &mut tx,
        engine.clock.now(),
        AuditAction::Delete,
        "feed",
        owner_id,
        row.business_unit.as_deref(),
    )
    .await?;
    Ok(tx.commit().await?)
}

/// The calendar behind a link, as a file; `None` for links that are unknown or ended.
#[boxed]
pub async fn calendar_of(engine: &Engine, secret: &str) -> Result<Option<String>, StoreError> {
    let mut reader = engine.store.read().await?;
    let Some(row) = feeds::by_hash(&mut reader.conn(), &secret_hash(secret)).await? else { return Ok(None) };
    let now = engine.clock.now();
    let is_organisation = row.owner_type == "organisation";
    let owner = |wanted: bool| wanted.then(|| row.owner_id.clone());
    let wanted = Between {
        from: now.checked_sub(BACK).unwrap_or(Timestamp::MIN),
        to: now.checked_add(AHEAD).unwrap_or(Timestamp::MAX),
        organisation: owner(is_organisation),
        person: owner(!is_organisation),
        limit: MOST,
        ..Between::default()
    };
    // Another unit may have used the same id for its own organisation; the link shows only what it was made for.
    let unit = Reach::limited_to(row.business_unit.clone().map(|unit| vec![unit]));
    let rows = subjects::between(&mut reader.conn(), &unit, &wanted).await?;
    let name = if is_organisation {
        organisations::get(&mut reader.conn(), &unit, &row.owner_id).await?.map(|row| row.name)
    } else {
        people::get(&mut reader.conn(), &unit, &row.owner_id).await?.map(|row| row.name)
    };
    Ok(Some(calendar::write(&name.unwrap_or(row.owner_id), &rows)))
}
