//! Every form about something that is stored, saved by two people who opened it at the same time: the second learns what the first
//! changed, loses nothing that was typed, and can go on.

use std::collections::BTreeSet;

use punctual_store::audit;
use punctual_testkit::{TestBed, on_both};

use crate::{
    client::{Client, Reply},
    every_form::{Form, forms, unescaped},
    every_page::{is_for_strangers, routes},
    samples::Samples,
    settings::with_adapters,
};

on_both! {
    what_somebody_else_changed_is_said_before_it_is_replaced;
}

/// The tests of these pages do the same: the consumer wants a broker's adapter, the sign-on is not set up here.
const ELSEWHERE: &[&str] = &["/consumers/edit", "/settings/sign-on"];

/// Sends a form with one field changed; what is planned first is then done.
async fn send(client: &Client, form: &Form, changed: usize, value: &str) -> Reply {
    let mut form = form.clone();
    value.clone_into(&mut form.values[changed]);
    // What goes to another place wants its secret again.
    let secret = form.typed.iter().position(|(name, _)| name == "/settings/password");
    if let Some(secret) = secret {
        "b".clone_into(&mut form.values[secret]);
    }
    let mut reply = client.act(&form.to, &fields(&form)).await;
    let planned = || forms(&form.page, &reply.text).into_iter().find(|one| one.to == form.to);
    if let Some(planned) = planned().filter(|_| reply.status == 200 && reply.text.contains("id=\"plan\"")) {
        reply = client.act(&planned.to, &fields(&planned)).await;
    }
    reply
}

/// What a browser sends, without the token.
fn fields(form: &Form) -> Vec<(&str, &str)> {
    let typed = form.typed.iter().zip(&form.values).map(|((name, _), value)| (name, value));
    let all = form.fixed.iter().map(|(name, value)| (name, value)).chain(typed);
    all.map(|(name, value)| (name.as_str(), value.as_str())).filter(|(name, _)| *name != "token").collect()
}

async fn what_somebody_else_changed_is_said_before_it_is_replaced(bed: TestBed) {
    let bed = with_adapters(&bed);
    let samples = Samples::make(&bed).await;
    let client = Client::admin(&bed).await;
    let last = async || audit::last_id(&mut bed.read().await.conn()).await.unwrap();
    let (mut tried, mut faults) = (BTreeSet::new(), Vec::new());
    let is_left_out =
        |route: &str| is_for_strangers(route) || route.ends_with("/new") || ELSEWHERE.contains(&route);
    for route in routes().iter().filter(|route| !is_left_out(route)) {
        let page = client.page(&samples.fill(route)).await;
        let is_about =
            |form: &Form, name: &str| form.fixed.iter().any(|(own, value)| own == name && !value.is_empty());
        for form in forms(route, &page) {
            // What is prefilled and stored as a whole says what it was opened on.
            let has_known = is_about(&form, "known");
            if has_known && !is_about(&form, "base") && !form.typed.is_empty() {
                faults.push(format!("{route}: the form to {} does not say what it was opened on", form.to));
            }
            // What only shows what was typed stores nothing.
            let shows =
                ["/check", "/preview", "/test", "/html", "/try"].iter().any(|end| form.to.ends_with(end));
            if !is_about(&form, "base") || shows || !tried.insert(form.to.clone()) {
                continue;
            }
            let mut changed = None;
            let mut refused = Vec::new();
            let all = form.typed.iter().enumerate();
            let all = all
                .filter(|(_, (name, kind))| ["text", "area"].contains(&kind.as_str()) && name != "/timeZone");
            let attempts = all.flat_map(|(at, (name, _))| {
                let own = form.values[at].as_str();
                let both = if own.is_empty() { vec![("1", "2"), ("nz", "de")] } else { vec![("1", "2")] };
                both.into_iter()
                    .map(move |(one, other)| (at, name, format!("{own}{one}"), format!("{own}{other}")))
            });
            for (at, name, theirs, mine) in attempts {
                let before = last().await;
                let reply = send(&client, &form, at, &theirs).await;
                if reply.status == 303 && last().await != before {
                    changed = Some((at, name, theirs, mine));
                    break;
                }
                let why = reply.text.split("class=\"fault\"").nth(1).and_then(|rest| rest.split('<').next());
                refused.push(format!("{name} {}: {}", reply.status, why.unwrap_or_default()));
            }
            let Some((at, name, theirs, mine)) = changed else {
                faults.push(format!("{route}: no field can be changed: {refused:?}"));
                continue;
            };
            let before = last().await;
            let reply = send(&client, &form, at, &mine).await;
            let text = unescaped(&reply.text);
            if reply.status != 409 || !text.contains("meanwhile</strong>") || last().await != before {
                faults.push(format!("{route}: {name} was replaced, {}", reply.status));
                continue;
            }
            if !text.contains(&format!("is now <code>{theirs}</code>")) || !text.contains(&mine) {
                faults.push(format!("{route}: {theirs} is not named, or {mine} is lost"));
            }
            let again = forms(route, &reply.text).into_iter().find(|one| one.to == form.to);
            let again = again.unwrap_or_else(|| panic!("{route}: no form to go on with"));
            let own = again.typed.iter().position(|(own, _)| own == name).unwrap();
            let reply = send(&client, &again, own, &mine).await;
            if reply.status != 303 {
                faults.push(format!("{route}: it cannot go on, {}", reply.status));
            }
        }
    }
    assert!(faults.is_empty(), "{faults:#?}\n{tried:#?}");
    assert!(tried.len() >= 14, "{tried:#?}");
}
