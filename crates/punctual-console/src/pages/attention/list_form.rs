//! The list that parked messages name and that does not exist: made here, so that they can be sent.

use std::collections::BTreeMap;

use askama::Template;
use axum::{extract::State, http::Uri};
use punctual_engine::{CommandError, commands::NewList};
use punctual_store::channels;
use punctual_wire::{FieldError, lists::ListRequest, names};
use serde_json::json;

use crate::{
    Shared,
    answer::{self, Page, see_other},
    form::{Fields, Signed},
    frame::{Frame, Visit},
    pages::entries::{by_field, listed, refused},
};

/// As long as a list's name may be.
const NAME_MAX: usize = 200;

#[derive(Template)]
#[template(path = "attention_list.html")]
struct ListPage {
    frame: Frame,
    name: String,
    channel: String,
    channels: Vec<String>,
    targets: String,
    unit: String,
    faults: BTreeMap<String, String>,
}

/// What is in the form.
#[derive(Default)]
struct Entered {
    name: String,
    channel: String,
    targets: String,
    unit: String,
}

impl Entered {
    fn read(fields: &Fields) -> Self {
        let text = |name: &str| fields.text(name).to_owned();
        Self {
            name: text("name"),
            channel: text("channel"),
            targets: text("targets"),
            unit: text("businessUnit"),
        }
    }

    /// The request that the API would get: its checks are ours.
    fn checked(&self) -> Result<ListRequest, Vec<FieldError>> {
        let unnamed = names::name_fault(&self.name, NAME_MAX, &|| "/name".to_owned());
        let kind = self.channel.split_once(':').map_or(self.channel.as_str(), |(kind, _)| kind);
        let targets = listed(&self.targets);
        let mut body = json!({ "type": kind, "channel": self.channel, "targets": targets });
        if !self.unit.is_empty() {
            body["businessUnit"] = json!(self.unit);
        }
        match (unnamed, ListRequest::read(&body, "")) {
            (None, read) => read,
            (Some(fault), read) => {
                Err(std::iter::once(fault).chain(read.err().into_iter().flatten()).collect())
            }
        }
    }
}

pub async fn show(State(app): State<Shared>, visit: Visit, uri: Uri) -> Page {
    visit.must_author()?;
    form(&app, &visit, Entered::read(&Fields::of_query(&uri)), Vec::new()).await
}

async fn form(app: &Shared, visit: &Visit, entered: Entered, faults: Vec<FieldError>) -> Page {
    let mut reader = app.engine.store.read_for_people().await?;
    let stored = channels::all(&mut reader.conn()).await?;
    drop(reader);
    let mut channels: Vec<String> = stored.into_iter().map(|row| row.key).collect();
    channels.extend(app.engine.channels.built_in().iter().map(|key| (*key).to_owned()));
    channels.sort_unstable();
    channels.dedup();
    let field = |pointer: &str| pointer.split('/').nth(1).unwrap_or_default().replace("type", "channel");
    let is_refused = !faults.is_empty();
    answer::form(
        &ListPage {
            frame: visit.frame(app, &format!("Create list {}", entered.name), "/attention").await?,
            faults: by_field(&faults, field),
            name: entered.name,
            channel: entered.channel,
            channels,
            targets: entered.targets,
            unit: entered.unit,
        },
        is_refused,
    )
}

pub async fn save(State(app): State<Shared>, signed: Signed) -> Page {
    let Signed { visit, fields } = signed;
    visit.must_author()?;
    let entered = Entered::read(&fields);
    let request = match entered.checked() {
        Ok(request) => request,
        Err(faults) => return form(&app, &visit, entered, faults).await,
    };
    let new = NewList {
        name: entered.name.clone(),
        kind: request.kind,
        channel: request.channel,
        targets: request.targets,
        business_unit: visit.viewer.unit_or_first(&entered.unit),
    };
    match app.engine.save_list(&visit.viewer.by, new).await {
        Err(error @ CommandError::Invalid(_)) => return form(&app, &visit, entered, refused(error)).await,
        done => done?,
    };
    see_other("/attention?done=listed.1.0")
}
