//! Every form that the pages show, sent with wrong and with empty fields: what is refused names the field at fault, keeps what was
//! typed and stores nothing. Every address that takes a form is among them, or is listed here with why it is not.

use std::collections::{BTreeMap, BTreeSet};

use punctual_store::audit;
use punctual_testkit::{TestBed, console_routes, on_both};

use crate::{
    client::Client,
    every_page::{is_for_strangers, routes},
    samples::Samples,
    settings::with_adapters,
};

on_both! {
    what_a_form_refuses_is_named_kept_and_not_stored;
}

/// A form as a page shows it.
#[derive(Clone, Debug)]
pub struct Form {
    /// The route of its page, and of where it is sent.
    pub page: String,
    pub to: String,
    /// Names and values of what is sent along.
    pub fixed: Vec<(String, String)>,
    /// Names of what can be typed into, with the kind of the field.
    pub typed: Vec<(String, String)>,
    /// What stands in those.
    pub values: Vec<String>,
}

pub fn unescaped(text: &str) -> String {
    let signs = [("&#34;", "\""), ("&#39;", "'"), ("&#60;", "<"), ("&#62;", ">"), ("&#38;", "&")];
    signs.iter().fold(text.replace("&amp;", "&"), |text, (code, sign)| text.replace(code, sign))
}

fn value_of(attributes: &str, name: &str) -> Option<String> {
    let rest =
        format!(" {attributes}").split_once(&format!(" {name}=\"")).map(|(_, rest)| rest.to_owned())?;
    rest.split('"').next().map(unescaped)
}

/// The forms of a page that are sent with POST.
pub fn forms(page: &str, text: &str) -> Vec<Form> {
    let opened = text.split("<form ").skip(1).filter_map(|rest| {
        let (attributes, rest) = rest.split_once('>')?;
        let inside = rest.split("</form>").next()?;
        // What is not asked yet cannot be typed.
        let mut parts = inside.split("<fieldset ");
        let first = parts.next().unwrap_or_default().to_owned();
        let inside = parts.fold(first, |kept, part| {
            let is_hidden = part.split('>').next().is_some_and(|opened| opened.contains(" hidden"));
            kept + if is_hidden { part.split_once("</fieldset>").map_or("", |(_, rest)| rest) } else { part }
        });
        if value_of(attributes, "method").as_deref() != Some("post") {
            return None;
        }
        let mut form = Form {
            page: page.to_owned(),
            to: value_of(attributes, "action")?,
            fixed: Vec::new(),
            typed: Vec::new(),
            values: Vec::new(),
        };
        for input in inside.split("<input ").skip(1) {
            let Some((input, _)) = input.split_once('>') else { continue };
            let Some(name) = value_of(input, "name") else { continue };
            let kind = value_of(input, "type").unwrap_or_else(|| "text".to_owned());
            let value = value_of(input, "value").unwrap_or_default();
            match kind.as_str() {
                "hidden" => form.fixed.push((name, value)),
                "checkbox" | "radio" if input.contains(" checked") => form.fixed.push((name, value)),
                "checkbox" | "radio" | "file" => {}
                _ => {
                    form.typed.push((name, kind));
                    form.values.push(value);
                }
            }
        }
        for area in inside.split("<textarea ").skip(1) {
            let (area, rest) = area.split_once('>').unwrap_or((area, ""));
            // Secrets of several lines.
            let kind = if area.contains("autocomplete=\"off\"") { "password" } else { "area" };
            let Some(name) = value_of(area, "name") else { continue };
            form.typed.push((name, kind.to_owned()));
            let text = rest.split("</textarea>").next().unwrap_or_default();
            form.values.push(unescaped(text.strip_prefix('\n').unwrap_or(text)));
        }
        let button = inside.split("<button ").skip(1).find_map(|button| {
            let button = button.split('>').next()?;
            value_of(button, "name").filter(|name| name != "do").zip(value_of(button, "value"))
        });
        form.fixed.extend(button);
        for select in inside.split("<select ").skip(1) {
            let Some((attributes, rest)) = select.split_once('>') else { continue };
            let options = rest.split("</select>").next().unwrap_or_default();
            let chosen = options.split("<option").skip(1).find(|option| option.contains(" selected"));
            let chosen = chosen.or_else(|| options.split("<option").nth(1)).unwrap_or_default();
            let chosen = chosen.split('>').next().and_then(|option| value_of(option, "value"));
            let name = value_of(attributes, "name");
            form.fixed.extend(name.zip(chosen.or_else(|| Some(String::new()))));
        }
        // Other buttons send the same fields to other places.
        let others = inside.split("formaction=\"").skip(1).filter_map(|rest| rest.split('"').next());
        let others: Vec<Form> = others.map(|to| Form { to: unescaped(to), ..form.clone() }).collect();
        Some(std::iter::once(form).chain(others))
    });
    opened.flatten().collect()
}

/// The route that an address belongs to.
fn route_of(address: &str, routes: &BTreeSet<String>) -> String {
    let path = address.split('?').next().unwrap_or_default();
    let fits = |route: &&String| {
        let (parts, own): (Vec<&str>, Vec<&str>) = (route.split('/').collect(), path.split('/').collect());
        parts.len() == own.len()
            && parts.iter().zip(own).all(|(part, own)| part.starts_with('{') || *part == own)
    };
    let exact = routes.get(path).or_else(|| routes.iter().find(fits));
    exact.cloned().unwrap_or_else(|| panic!("no route takes {address}"))
}

/// Something that no field of this kind takes, and that is found again.
fn wrong(kind: &str, n: usize) -> String {
    match kind {
        "number" => format!("x{n}"),
        "time" => format!("2{n}:99"),
        "date" | "datetime-local" => format!("never-{n}"),
        "password" => String::new(),
        _ => format!("\"✗{n}\"<&>§"),
    }
}

/// Forms that take whatever is typed.
const TAKE_ANYTHING: &[&str] = &[
    // What leads on to a list to choose from.
    "/zone",
    // A reason, in the words of whoever gives it.
    "/reminders/remove",
    "/reports/rollouts/back",
    "/reports/rollouts/end",
    // What is shown as far as it can be made, with what is wrong beside it.
    "/reports/preview",
    // What became of the test message is said above the form.
    "/channels/test",
];

/// Forms on pages that only an act, another session or another state shows; each has tests of its own.
const ELSEWHERE: &[&str] = &[
    // Buttons beside the forms of editors: they show what is typed.
    "/operations/preview",
    "/outbox/preview",
    "/reminders/preview",
    "/settings/templates/html",
    "/settings/templates/preview",
    "/surveys/preview",
    "/surveys/try",
    "/account/password",
    "/attention/act",
    "/inbox",
    "/invitation",
    "/notifications/{id}/acknowledge",
    "/operations/repair",
    "/outbox/act",
    "/reports/{guid}/runs/{run}/retry",
    "/restore/confirm",
    "/restore/settle",
    "/s/{publicId}/opened",
    "/settings/personal-data/erase",
    "/settings/personal-data/export",
    "/settings/sign-on/remove",
    "/settings/users/end-sessions",
    "/sign-in",
    "/sign-in/again",
    "/suppressions/remove",
    "/surveys/subscribers/retry",
    "/views/remove",
    "/views/save",
    "/work/act",
];

async fn what_a_form_refuses_is_named_kept_and_not_stored(bed: TestBed) {
    let bed = with_adapters(&bed);
    let samples = Samples::make(&bed).await;
    let client = Client::admin(&bed).await;
    let taking: BTreeSet<String> = console_routes()
        .into_iter()
        .filter(|(_, methods)| methods.contains("post"))
        .map(|(route, _)| route)
        .collect();
    let mut found: Vec<Form> = Vec::new();
    let mut without_fields: BTreeSet<String> = BTreeSet::new();
    for route in routes().iter().filter(|route| !is_for_strangers(route)) {
        let page = client.page(&samples.fill(route)).await;
        for form in forms(route, &page) {
            if form.typed.is_empty() {
                without_fields.insert(route_of(&form.to, &taking));
            }
            let is_known = found.iter().any(|one| one.to == form.to && one.typed == form.typed);
            if !form.typed.is_empty() && !is_known {
                found.push(form);
            }
        }
    }
    let last = async || audit::last_id(&mut bed.read().await.conn()).await.unwrap();
    let mut statuses: BTreeMap<String, BTreeSet<u16>> = BTreeMap::new();
    let mut faults = BTreeSet::new();
    for form in &found {
        let to = route_of(&form.to, &taking);
        for is_empty in [false, true] {
            let typed: Vec<(String, String)> = form
                .typed
                .iter()
                .enumerate()
                .map(|(n, (name, kind))| {
                    (name.clone(), if is_empty { String::new() } else { wrong(kind, n) })
                })
                .collect();
            let sent: Vec<(&str, &str)> = form
                .fixed
                .iter()
                .chain(&typed)
                .filter(|(name, _)| name != "token")
                .map(|(name, value)| (name.as_str(), value.as_str()))
                .collect();
            let before = last().await;
            let reply = client.act(&form.to, &sent).await;
            let status = reply.status;
            statuses.entry(to.clone()).or_default().insert(status);
            let mut fault = |what: String| {
                faults.insert(format!("{} → {to}, empty {is_empty}, {}: {what}", form.page, reply.status));
            };
            if reply.status >= 500 {
                fault("it fails".to_owned());
            }
            // A program, and the script of the page, learn from the status that nothing was done.
            let is_refused =
                reply.text.contains("aria-invalid=\"true\"") || reply.text.contains("role=\"alert\"");
            if reply.status == 200 && is_refused {
                fault("it is refused with 200".to_owned());
            }
            if status < 400 {
                continue;
            }
            if last().await != before {
                fault("something was stored".to_owned());
            }
            if ![422, 409].contains(&status) {
                continue;
            }
            // An act that is not possible any more has no form to go back to.
            if status == 409 && !reply.text.contains("role=\"alert\"") {
                continue;
            }
            if !reply.text.contains("aria-invalid=\"true\"") && !reply.text.contains("role=\"alert\"") {
                fault("no field is named".to_owned());
            }
            let text = unescaped(&reply.text);
            for (name, value) in typed.iter().filter(|(_, value)| !text.contains(value.as_str())) {
                fault(format!("{name} lost {value}"));
            }
        }
    }
    let refused = |to: &&String| statuses[*to].iter().any(|status| [409, 422].contains(status));
    let lenient = statuses.keys().filter(|to| !refused(to) && !TAKE_ANYTHING.contains(&to.as_str()));
    faults.extend(lenient.map(|to| format!("{to} refuses nothing: {:?}", statuses[to])));
    let is_met =
        |to: &str| statuses.contains_key(to) || without_fields.contains(to) || ELSEWHERE.contains(&to);
    let left = taking.iter().filter(|to| !is_met(to));
    faults.extend(left.map(|to| format!("{to} has no form with a field on any page")));
    assert!(faults.is_empty(), "{faults:#?}");
    let listed = TAKE_ANYTHING.iter().chain(ELSEWHERE).filter(|to| !taking.contains(**to));
    let listed: Vec<&&str> = listed.collect();
    assert!(listed.is_empty(), "nothing takes a form at these: {listed:?}");
}
