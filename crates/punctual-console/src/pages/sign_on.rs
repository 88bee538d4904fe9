//! The single sign-on of the installation: set up, tried and removed. What the configuration file says wins, and is only
//! shown.

use std::collections::BTreeMap;

use askama::Template;
use axum::{
    Router,
    extract::State,
    http::Uri,
    routing::{get, post},
};
use punctual_engine::{
    CommandError, GivenSecret,
    commands::{MAPPINGS_MAX, MappingSettings, NewSignOn, SignOn, SignOnSettings},
};
use punctual_model::{Role, SignOnFault, SignOnRequest};
use punctual_store::business_units;

use crate::{
    App, Shared,
    answer::{self, Page, Refused, see_other},
    form::{Fields, Signed},
    frame::{Frame, Visit},
    meanwhile::{Change, Labelled, Opened, labelled},
    words,
};

const HERE: &str = "/settings/sign-on";
/// Business units that the form offers.
const OFFERED: i64 = 500;
/// Empty rows for further groups.
const SPARE: usize = 3;
const SCOPES: &str = "openid email profile";

pub fn routes() -> Router<Shared> {
    Router::new()
        .route("/settings/sign-on", get(show))
        .route("/settings/sign-on/save", post(save))
        .route("/settings/sign-on/test", post(test))
        .route("/settings/sign-on/remove", post(remove))
}

#[derive(Template)]
#[template(path = "sign_on.html")]
struct SignOnPage {
    frame: Frame,
    sentence: String,
    done: Option<&'static str>,
    /// What trying it came to, and whether that is good.
    tried: Option<(bool, String)>,
    of_file: Option<OfFile>,
    is_kept: bool,
    redirect_uri: String,
    entered: SignOnSettings,
    /// What was typed now; what is stored is not sent again by a form that somebody only opened.
    secret: String,
    /// Where the stored secret is.
    kept_secret: Option<String>,
    no_secret: bool,
    scopes: String,
    mappings: Vec<Row>,
    faults: BTreeMap<String, String>,
    base: String,
    changes: Option<Vec<Change>>,
    one: &'static str,
    here: &'static str,
    roles: [&'static str; 4],
    offered: Vec<(String, String)>,
}

/// What the configuration file says.
struct OfFile {
    name: String,
    issuer: String,
    mappings: Vec<(String, &'static str, String)>,
}

/// One row of the form.
struct Row {
    at: usize,
    group: String,
    role: String,
    units: String,
    fault: Option<String>,
}

fn read(fields: &Fields) -> NewSignOn {
    let text = |name: &str| fields.text(name).trim().to_owned();
    let parts = |text: &str| -> Vec<String> {
        text.split([',', ' ', '\n', '\r']).filter(|word| !word.is_empty()).map(str::to_owned).collect()
    };
    // One more than may be, so that too many are refused and not dropped.
    let mappings = (0..=MAPPINGS_MAX + SPARE).filter_map(|at| {
        let group = text(&format!("group-{at}"));
        let units = parts(fields.text(&format!("units-{at}")));
        (!group.is_empty() || !units.is_empty()).then(|| MappingSettings {
            group,
            role: text(&format!("role-{at}")),
            business_units: Some(units).filter(|units| !units.is_empty()),
        })
    });
    let settings = SignOnSettings {
        name: text("name"),
        issuer: text("issuer"),
        client_id: text("clientId"),
        client_secret: None,
        scopes: parts(fields.text("scopes")),
        groups_claim: text("groupsClaim"),
        mappings: mappings.collect(),
    };
    let client_secret = match text("clientSecret") {
        given if !given.is_empty() => GivenSecret::Given(given),
        _ if !text("noSecret").is_empty() => GivenSecret::TakenAway,
        _ => GivenSecret::LeftOut,
    };
    NewSignOn { settings, client_secret }
}

/// What a form about nothing yet has in its fields.
fn usual() -> SignOnSettings {
    SignOnSettings {
        scopes: SCOPES.split(' ').map(str::to_owned).collect(),
        groups_claim: "groups".to_owned(),
        ..SignOnSettings::default()
    }
}

/// What is stored, as the form shows it; secrets are named, not shown.
fn fields_of(stored: Option<&SignOnSettings>) -> Labelled {
    let Some(stored) = stored else { return Labelled::new() };
    let mut fields = labelled([
        ("Name", &stored.name),
        ("Issuer", &stored.issuer),
        ("Client id", &stored.client_id),
        ("Client secret", stored.client_secret.as_deref().unwrap_or_default()),
        ("Scopes", &stored.scopes.join(" ")),
        ("Claim with the groups", &stored.groups_claim),
    ]);
    for (n, mapping) in stored.mappings.iter().enumerate() {
        let units =
            mapping.business_units.as_ref().map_or_else(|| "all units".to_owned(), |units| units.join(" "));
        fields.push((format!("Group {}", n + 1), format!("{}, {}, {units}", mapping.group, mapping.role)));
    }
    fields
}

/// What is stored, in a form that changes nothing.
fn unchanged(settings: SignOnSettings) -> NewSignOn {
    NewSignOn { settings, client_secret: GivenSecret::LeftOut }
}

/// What else a page shows than the settings.
#[derive(Default)]
struct Shown {
    faults: BTreeMap<String, String>,
    done: Option<&'static str>,
    tried: Option<(bool, String)>,
    opened: Opened,
}

async fn show(State(app): State<Shared>, visit: Visit, uri: Uri) -> Page {
    visit.must_admin()?;
    let done = match Fields::of_query(&uri).text("done") {
        "saved" => Some("Saved. The sign-in page offers it now."),
        "removed" => Some("Removed. Accounts that came from the provider stay."),
        _ => None,
    };
    let stored = app.engine.sign_on_settings().await?;
    let opened = Opened::on(&fields_of(stored.as_ref()));
    let shown = Shown { done, opened, ..Shown::default() };
    form(&app, &visit, unchanged(stored.unwrap_or_else(usual)), shown).await
}

async fn form(app: &App, visit: &Visit, entered: NewSignOn, shown: Shown) -> Page {
    let NewSignOn { settings: entered, client_secret } = entered;
    let stored = app.engine.sign_on_settings().await?;
    let is_kept = stored.is_some();
    let mut reader = app.engine.store.read_for_people().await?;
    let offered = business_units::page(&mut reader.conn(), &visit.viewer.by.reach(), "", OFFERED).await?;
    drop(reader);
    let of_file = app.sign_on.of_file().map(|sign_on| of_file(sign_on));
    let Shown { faults, done, tried, opened } = shown;
    let refusal = Refused::of(!faults.is_empty(), &opened);
    answer::form(
        &SignOnPage {
            frame: visit.frame(app, "Single sign-on", HERE).await?,
            sentence: match (&of_file, is_kept) {
                (Some(_), _) => {
                    "Set up in the configuration file, which takes precedence over this page.".to_owned()
                }
                (None, true) => format!("People sign in with {}.", entered.name),
                (None, false) => "Not set up: people sign in with passwords and keys.".to_owned(),
            },
            done,
            tried,
            of_file,
            is_kept,
            redirect_uri: format!("{}/sign-in/answer", app.engine.public_address()),
            kept_secret: stored.and_then(|stored| stored.client_secret),
            no_secret: client_secret == GivenSecret::TakenAway,
            secret: match client_secret {
                GivenSecret::Given(given) => given,
                GivenSecret::LeftOut | GivenSecret::TakenAway => String::new(),
            },
            scopes: entered.scopes.join(" "),
            mappings: rows(&entered, &faults),
            entered,
            faults,
            base: opened.base,
            changes: opened.changes,
            one: "sign-on",
            here: HERE,
            roles: Role::ALL.map(Role::as_str),
            offered: offered.into_iter().map(|unit| (unit.id, unit.name)).collect(),
        },
        refusal,
    )
}

fn of_file(sign_on: &SignOn) -> OfFile {
    let mappings = sign_on.mappings.iter().map(|mapping| {
        let units = mapping.business_units.as_ref().map(|units| units.join(", "));
        (mapping.group.clone(), mapping.role.as_str(), units.unwrap_or_else(|| "all".to_owned()))
    });
    OfFile {
        name: sign_on.provider.name().to_owned(),
        issuer: sign_on.provider.issuer().to_owned(),
        mappings: mappings.collect(),
    }
}

fn rows(entered: &SignOnSettings, faults: &BTreeMap<String, String>) -> Vec<Row> {
    let fault = |at: usize| {
        let of_row = format!("mappings/{at}/");
        faults.iter().find(|(place, _)| place.starts_with(&of_row)).map(|(_, detail)| detail.clone())
    };
    let given = entered.mappings.iter().enumerate().map(|(at, mapping)| Row {
        at,
        group: mapping.group.clone(),
        role: mapping.role.clone(),
        units: mapping.business_units.as_ref().map_or_else(String::new, |units| units.join(", ")),
        fault: fault(at),
    });
    let count = entered.mappings.len();
    let spare = (count..count + SPARE).map(|at| Row {
        at,
        group: String::new(),
        role: Role::Viewer.as_str().to_owned(),
        units: String::new(),
        fault: None,
    });
    given.chain(spare).collect()
}

/// Faults by the field they stand at: `issuer`, `mappings/0/role`.
fn by_field(error: CommandError) -> Result<BTreeMap<String, String>, CommandError> {
    match error {
        CommandError::Invalid(faults) => Ok(faults
            .into_iter()
            .map(|fault| {
                let said = words::said(&fault.pointer, &fault.detail);
                (fault.pointer.trim_start_matches('/').to_owned(), said)
            })
            .collect()),
        other => Err(other),
    }
}

async fn save(State(app): State<Shared>, form_sent: Signed) -> Page {
    let Signed { visit, fields } = form_sent;
    visit.must_admin()?;
    let entered = read(&fields);
    let stored = fields_of(app.engine.sign_on_settings().await?.as_ref());
    if let Some(opened) = Opened::overtaken(&fields, &stored) {
        return form(&app, &visit, entered, Shown { opened, ..Shown::default() }).await;
    }
    match app.engine.save_sign_on(&visit.viewer.by, &app.sign_on, &entered).await {
        Ok(()) => see_other(&format!("{HERE}?done=saved")),
        Err(error) => {
            let faults = by_field(error)?;
            form(&app, &visit, entered, Shown { faults, opened: Opened::sent(&fields), ..Shown::default() })
                .await
        }
    }
}

/// Asks the provider of what is in the form about itself, and keeps nothing.
async fn test(State(app): State<Shared>, form_sent: Signed) -> Page {
    let Signed { visit, fields } = form_sent;
    visit.must_admin()?;
    let entered = read(&fields);
    let completed = app.engine.completed_sign_on(&entered).await;
    let sign_on = match completed.and_then(|settings| app.sign_on.open(&settings)) {
        Ok(sign_on) => sign_on,
        Err(error) => {
            let faults = by_field(error)?;
            return form(
                &app,
                &visit,
                entered,
                Shown { faults, opened: Opened::sent(&fields), ..Shown::default() },
            )
            .await;
        }
    };
    let asked = SignOnRequest {
        state: "test".to_owned(),
        nonce: "test".to_owned(),
        challenge: "test".to_owned(),
        redirect_uri: format!("{}/sign-in/answer", app.engine.public_address()),
    };
    let tried = match sign_on.provider.start(asked).await {
        Ok(address) => {
            let page = address.split('?').next().unwrap_or_default().to_owned();
            (true, format!("The provider answers. People would be sent to {page}."))
        }
        Err(SignOnFault::Unreachable(why)) => (false, format!("The provider does not answer: {why}.")),
        Err(SignOnFault::Refused(why)) => {
            (false, format!("The provider's discovery document is not valid: {why}."))
        }
    };
    form(
        &app,
        &visit,
        entered,
        Shown { tried: Some(tried), opened: Opened::sent(&fields), ..Shown::default() },
    )
    .await
}

async fn remove(State(app): State<Shared>, form_sent: Signed) -> Page {
    form_sent.visit.must_admin()?;
    app.engine.remove_sign_on(&form_sent.visit.viewer.by).await?;
    see_other(&format!("{HERE}?done=removed"))
}
