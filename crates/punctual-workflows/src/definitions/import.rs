//! The import: first a dry run that is rolled back, then the same with a commit.

use futures_util::future::join_all;
use punctual_boxed::boxed;
use punctual_engine::CommandError;
use punctual_model::Fault;
use punctual_store::{Lane, StoreError, Tx};
use punctual_wire::definitions::{
    DefinitionAction, DefinitionChange, DefinitionKind, DefinitionsPlan, GivenDefinitions, KeptDefinition,
};
use serde_json::Value;

use super::{
    Context,
    diff::differences,
    document::{Bundle, Document},
    read,
    write::{self, AfterCommit},
};

/// How often an import starts again because somebody else has changed a definition meanwhile.
const ATTEMPTS: usize = 3;
/// Faults that one answer names.
const FAULTS: usize = 1_000;

/// Definitions that are wanted.
#[derive(Clone, Debug)]
pub struct Import {
    pub definitions: GivenDefinitions,
    /// Say what would change, and change nothing.
    pub plan: bool,
    /// Remove what is not given, of the kinds that are.
    pub prune: bool,
}

/// What is wrong with one definition.
#[derive(Clone, Debug, PartialEq)]
pub struct Refusal {
    pub kind: DefinitionKind,
    pub id: String,
    pub fault: Fault,
}

/// Why nothing was imported.
#[derive(Debug, thiserror::Error)]
pub enum ImportError {
    #[error("{} faults in the definitions", .0.len())]
    Refused(Vec<Refusal>),
    #[error(transparent)]
    Command(#[from] CommandError),
}

impl From<StoreError> for ImportError {
    fn from(error: StoreError) -> Self {
        Self::Command(error.into())
    }
}

impl Import {
    /// Says what changes, and changes it unless only the plan is wanted: all of it, or nothing with every reason.
    #[boxed]
    pub async fn run(&self, context: &Context<'_>) -> Result<DefinitionsPlan, ImportError> {
        let unreachable = self.check_destinations(context).await?;
        for _ in 0..ATTEMPTS {
            let trial = match self.pass(context, |_, _| true).await {
                Err(ImportError::Command(CommandError::Stale)) => continue,
                trial => trial?,
            };
            let Pass { tx, before, after, mut refused, kept, .. } = trial;
            tx.rollback().await;
            refused.extend(unreachable.iter().cloned());
            refused.extend(self.misnamed(&after, &refused));
            if !refused.is_empty() {
                refused.truncate(FAULTS);
                return Err(ImportError::Refused(refused));
            }
            let changes = changes(&before, &after);
            let given: usize = self.definitions.values().map(|of_kind| of_kind.len()).sum();
            let changed = changes.iter().filter(|change| change.action != DefinitionAction::Delete).count();
            let plan = DefinitionsPlan {
                applied: !self.plan && !changes.is_empty(),
                unchanged: given.saturating_sub(changed) as u64,
                changes,
                kept,
            };
            if !plan.applied {
                return Ok(plan);
            }
            let is_changed = |kind: DefinitionKind, id: &str| {
                plan.changes.iter().any(|change| change.kind == kind.name() && change.id == id)
            };
            let done = match self.pass(context, is_changed).await {
                Err(ImportError::Command(CommandError::Stale)) => continue,
                done => done?,
            };
            // Somebody has changed a definition since the trial: it is planned again.
            if !done.refused.is_empty() || done.before != before || done.after != after {
                done.tx.rollback().await;
                continue;
            }
            done.tx.commit().await?;
            done.left.run(context.engine, context.providers).await;
            return Ok(plan);
        }
        Err(CommandError::Stale.into())
    }

    /// Writes what differs and is chosen, and reads what came of it. What is given as it is stored is not written.
    async fn pass(
        &self,
        context: &Context<'_>,
        is_chosen: impl Fn(DefinitionKind, &str) -> bool,
    ) -> Result<Pass, ImportError> {
        let mut tx = context.engine.store.begin(Lane::Intake).await?;
        let before = read::everything(&mut tx.conn(), context.engine).await?;
        let (mut left, mut refused, mut kept) = (AfterCommit::default(), Vec::new(), Vec::new());
        for (kind, id, value) in self.wanted() {
            let known = stored(&before, kind, id);
            if !is_chosen(kind, id) || known.is_some_and(|known| known.value() == value) {
                continue;
            }
            let saved = write::save(&mut tx, context, (kind, id), value, &mut left).await;
            if let Err(error) = saved {
                refused.extend(refusals(kind, id, error)?);
            }
        }
        for (kind, id) in self.pruned(&before).into_iter().rev() {
            if !is_chosen(kind, id) {
                continue;
            }
            match write::remove(&mut tx, context, (kind, id), &mut left).await {
                Ok(()) => {}
                Err(CommandError::NotAllowed { state, .. }) => kept.push(KeptDefinition {
                    kind: kind.name().to_owned(),
                    id: id.to_owned(),
                    reason: format!("It is {state}."),
                }),
                Err(error) => refused.extend(refusals(kind, id, error)?),
            }
        }
        let after = read::everything(&mut tx.conn(), context.engine).await?;
        Ok(Pass { tx, before, after, refused, kept, left })
    }

    fn wanted(&self) -> impl Iterator<Item = (DefinitionKind, &str, &Value)> {
        self.definitions
            .iter()
            .flat_map(|(kind, of_kind)| of_kind.iter().map(|(id, value)| (*kind, id.as_str(), value)))
    }

    /// What is there and not given, of the kinds that are given.
    fn pruned<'b>(&self, before: &'b Bundle) -> Vec<(DefinitionKind, &'b str)> {
        if !self.prune {
            return Vec::new();
        }
        let given =
            self.definitions.iter().filter_map(|(kind, given)| Some((kind, given, before.get(kind)?)));
        given
            .flat_map(|(kind, given, stored)| {
                stored.keys().filter(|id| !given.contains_key(*id)).map(|id| (*kind, id.as_str()))
            })
            .collect()
    }

    /// Looks up where new channels, subscribers and consumers connect to. That takes time, so that no transaction is open.
    async fn check_destinations(&self, context: &Context<'_>) -> Result<Vec<Refusal>, ImportError> {
        let before = super::export(context.engine).await?;
        let engine = context.engine;
        let reaching = [DefinitionKind::Channel, DefinitionKind::Subscriber, DefinitionKind::Consumer];
        let given = reaching.into_iter().flat_map(|kind| {
            self.definitions.get(&kind).into_iter().flatten().map(move |(id, value)| (kind, id, value))
        });
        let checks = given.filter_map(|(kind, id, value)| {
            let known = stored(&before, kind, id);
            if known.is_some_and(|known| known.value() == value) {
                return None;
            }
            let (adapter, settings) = write::destination(value)?;
            Some(async move {
                let checked = match kind {
                    DefinitionKind::Consumer => engine.check_consumer(&adapter, &settings).await,
                    _ => engine.check_channel(&adapter, &settings).await,
                };
                (kind, id, checked)
            })
        });
        let mut refused = Vec::new();
        for (kind, id, checked) in join_all(checks).await {
            // An adapter that is not there is refused with the others.
            if let Err(CommandError::Invalid(faults)) = checked {
                let inside = faults.into_iter().filter(|fault| fault.pointer.starts_with("/settings"));
                refused.extend(inside.map(|fault| Refusal { kind, id: id.clone(), fault }));
            }
        }
        Ok(refused)
    }

    /// What was taken and is not there under its id: it would be made again by every import.
    fn misnamed(&self, after: &Bundle, refused: &[Refusal]) -> Vec<Refusal> {
        let is_refused = |kind, id: &str| refused.iter().any(|one| one.kind == kind && one.id == id);
        self.wanted()
            .filter(|(kind, id, value)| {
                let says_nothing = value.as_object().is_some_and(|fields| fields.is_empty());
                stored(after, *kind, id).is_none() && !says_nothing && !is_refused(*kind, id)
            })
            .map(|(kind, id, _)| Refusal {
                kind,
                id: id.to_owned(),
                fault: Fault::new("", "key_invalid", "It would be stored under another id than this one."),
            })
            .collect()
    }
}

/// What one pass over the definitions came to; nothing is committed yet.
struct Pass {
    tx: Tx,
    before: Bundle,
    after: Bundle,
    refused: Vec<Refusal>,
    kept: Vec<KeptDefinition>,
    left: AfterCommit,
}

fn stored<'b>(bundle: &'b Bundle, kind: DefinitionKind, id: &str) -> Option<&'b Document> {
    bundle.get(&kind)?.get(id)
}

/// Faults of one definition. What is no fault of the definition ends the import.
fn refusals(kind: DefinitionKind, id: &str, error: CommandError) -> Result<Vec<Refusal>, ImportError> {
    let one = |code, detail: String| vec![Fault::new("", code, detail)];
    let faults = match error {
        CommandError::Invalid(faults) => faults,
        CommandError::NotFound { what, id } => one("not_found", format!("There is no {what} `{id}`.")),
        CommandError::IdReused { id, detail } => {
            one("id_reused", detail.unwrap_or_else(|| format!("The id `{id}` is taken.")))
        }
        CommandError::NotAllowed { action, state, .. } => {
            one("state_not_allowed", format!("It is {state}, so `{action}` is not possible."))
        }
        error @ (CommandError::Shared
        | CommandError::Stale
        | CommandError::Secrets(_)
        | CommandError::Engine(_)) => return Err(error.into()),
    };
    Ok(faults.into_iter().map(|fault| Refusal { kind, id: id.to_owned(), fault }).collect())
}

/// Every definition that is another one afterwards, by kind and id.
fn changes(before: &Bundle, after: &Bundle) -> Vec<DefinitionChange> {
    let mut changes = Vec::new();
    for kind in DefinitionKind::ALL {
        let ids =
            [before, after].into_iter().filter_map(|bundle| bundle.get(kind)).flat_map(|one| one.keys());
        let mut ids: Vec<&String> = ids.collect();
        ids.sort_unstable();
        ids.dedup();
        for id in ids {
            let (from, to) = (stored(before, *kind, id), stored(after, *kind, id));
            if from == to {
                continue;
            }
            changes.push(DefinitionChange {
                kind: kind.name().to_owned(),
                id: id.clone(),
                action: match (from, to) {
                    (None, _) => DefinitionAction::Create,
                    (_, None) => DefinitionAction::Delete,
                    _ => DefinitionAction::Update,
                },
                fields: differences(from, to),
            });
        }
    }
    changes
}
