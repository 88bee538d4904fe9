//! Every form that the pages show, refused in a real browser: a summary above it, each field tied to what is wrong with it, and the first of them
//! with the focus.
//!
//! On SQLite alone: the browser sees no database.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use crate::{
    browser::{Stage, on_sqlite},
    editors_browser::forgive_refusals,
    every_page::{is_for_strangers, routes},
    samples::Samples,
    settings::with_adapters,
};

/// Fills a form with what no field takes and sends it, past the checks of the browser itself.
const SEND: &str = r##"(() => {
    const forms = [...document.querySelectorAll('main form[method=post]')];
    const form = forms[AT];
    if (!form) return null;
    document.querySelectorAll('details').forEach((one) => { one.open = true; });
    const typed = [...form.elements].filter((one) => one.name && one.name !== 'reason' && !one.disabled && !one.closest('[hidden]') &&
        ((one.tagName === 'INPUT' && !['hidden', 'checkbox', 'radio', 'file', 'submit'].includes(one.type)) || one.tagName === 'TEXTAREA'));
    if (!typed.length) return '';
    typed.forEach((one, n) => { if (one.type !== 'password') { if (one.tagName === 'INPUT') one.type = 'text'; one.value = `"✗${n}"<&>§`; } });
    form.noValidate = true;
    window.before = true;
    const button = form.querySelector('button.primary') ?? form.querySelector('button:not([hidden]):not([name=do])');
    setTimeout(() => form.requestSubmit(button));
    return form.getAttribute('action') + ' ' + typed.map((one) => one.name.replaceAll(/[0-9]+/g, '0')).join(' ');
})()"##;

/// What is wrong with how a page says that a form was refused; null where it was not.
const SAID: &str = r##"(() => {
    const invalid = [...document.querySelectorAll('main form [aria-invalid=true]')];
    if (!invalid.length) return null;
    const faults = [];
    if (!document.querySelector('main [role=alert]')) faults.push('no summary');
    invalid.forEach((one) => {
        const ids = (one.getAttribute('aria-describedby') ?? '').split(' ').filter(Boolean);
        if (!ids.some((id) => document.getElementById(id)?.closest('.fault, [role=alert]'))) faults.push(`${one.name} is tied to nothing`);
    });
    const links = [...document.querySelectorAll('main [role=alert] a[href^="#"]')];
    links.filter((one) => !document.getElementById(one.getAttribute('href').slice(1))).forEach((one) => faults.push(`${one.textContent} leads nowhere`));
    if (document.activeElement.getAttribute('aria-invalid') !== 'true') faults.push(`the focus is on ${document.activeElement.name ?? document.activeElement.tagName}`);
    return faults;
})()"##;

#[test]
fn every_refused_form_says_where_in_a_browser() {
    on_sqlite(async |bed| {
        let bed = with_adapters(&bed);
        let samples = Samples::make(&bed).await;
        let mut stage = Stage::on(&bed).await;
        stage.sign_in().await;
        let (mut sent, mut faults) = (BTreeSet::new(), Vec::new());
        let mut refused = BTreeSet::new();
        // The script of the public survey holds back what is not complete; its own tests are about that.
        for route in routes().iter().filter(|route| !is_for_strangers(route) && !route.starts_with("/s/")) {
            for at in 0.. {
                stage.open(&samples.fill(route)).await;
                if stage.browser.eval("document.querySelector('main form[method=post]') === null").await
                    == json!(true)
                {
                    break;
                }
                let form = stage.browser.eval(&SEND.replace("AT", &at.to_string())).await;
                let Some(form) = form.as_str() else { break };
                if form.is_empty() {
                    continue;
                }
                if !sent.insert(form.to_owned()) {
                    // The same form on another page is met once.
                    stage
                        .browser
                        .until("window.before === undefined && document.readyState === 'complete'")
                        .await;
                    continue;
                }
                stage
                    .browser
                    .until("window.before === undefined && document.readyState === 'complete'")
                    .await;
                // The focus comes with the first frame.
                stage
                    .browser
                    .eval("new Promise((done) => { setTimeout(done, 2000); requestAnimationFrame(() => requestAnimationFrame(() => requestAnimationFrame(done))); }).then(() => true)")
                    .await;
                let said: Value = stage.browser.eval(SAID).await;
                let Some(said) = said.as_array() else { continue };
                refused.insert(form.split(' ').next().unwrap_or_default().to_owned());
                faults.extend(said.iter().map(|fault| format!("{route}: {form}: {fault}")));
            }
        }
        assert!(faults.is_empty(), "{} faults: {faults:#?}", faults.len());
        assert!(refused.len() > 20, "{refused:#?}");
        forgive_refusals(&mut stage);
        // What no field takes is shown again in fields of times and dates, which the browser's own checks would have kept out.
        stage.browser.events.retain(|message| {
            !message["params"]["entry"]["text"]
                .as_str()
                .unwrap_or_default()
                .contains("does not conform to the required format")
        });
        stage.finish();
    });
}
