//! The single sign-on set up in the console: by administrators without a limit, tried before it is kept, and after what the
//! configuration file says.

use std::sync::Arc;

use punctual_testkit::{TestBed, on_both};
use punctual_wire::keys::Scope;

use crate::{
    client::{Client, attribute},
    every_form::unescaped,
    sign_on::{Stage, found, is_in, sign_on_with},
};

on_both! {
    people_sign_on_as_it_was_set_up_on_the_page;
    what_is_wrong_stands_at_its_field_and_nothing_is_kept;
    what_another_administrator_saved_is_said_before_it_is_replaced;
    t12_another_issuer_asks_for_the_secret_again;
    the_file_wins_over_the_page_and_the_page_says_so;
    t11_only_an_administrator_without_a_limit_sets_it_up;
}

const PAGE: &str = "/settings/sign-on";

fn fields(issuer: &str) -> Vec<(&str, &str)> {
    vec![
        ("name", "Example ID"),
        ("issuer", issuer),
        ("clientId", "punctual"),
        ("clientSecret", "env:OIDC"),
        ("scopes", "openid email profile groups"),
        ("groupsClaim", "groups"),
        ("group-0", "ops"),
        ("role-0", "operator"),
        ("units-0", "nz"),
        ("group-1", ""),
        ("role-1", "viewer"),
        ("units-1", ""),
    ]
}

fn with<'a>(mut fields: Vec<(&'a str, &'a str)>, name: &'a str, value: &'a str) -> Vec<(&'a str, &'a str)> {
    fields.retain(|(field, _)| *field != name);
    fields.push((name, value));
    fields
}

async fn people_sign_on_as_it_was_set_up_on_the_page(bed: TestBed) {
    let (stage, issuer) = Stage::unset(&bed).await;
    let admin = &stage.client;
    assert!(admin.page(PAGE).await.contains("Not set up"));
    assert!(!admin.nobody().page("/sign-in").await.contains("Sign in with Example ID"));
    // Trying it asks the provider and keeps nothing.
    let tried = admin.act("/settings/sign-on/test", &fields(&issuer)).await;
    assert_eq!(tried.status, 200, "{}", tried.text);
    assert!(tried.text.contains(&format!("People would be sent to {issuer}/auth.")), "{}", tried.text);
    assert_eq!(bed.engine.sign_on_settings().await.unwrap(), None);
    admin.act("/settings/sign-on/save", &fields(&issuer)).await.leads_to("/settings/sign-on?done=saved");
    let kept = bed.engine.sign_on_settings().await.unwrap().unwrap();
    assert_eq!((kept.issuer.as_str(), kept.mappings.len()), (issuer.as_str(), 1));
    assert_eq!(bed.audit("sign-on", &issuer).await, ["put"]);
    let page = admin.page(PAGE).await;
    assert!(page.contains("People sign in with Example ID.") && page.contains("env:OIDC is kept"), "{page}");
    let ada = stage.stranger();
    assert!(ada.client.page("/sign-in").await.contains("Sign in with Example ID"));
    assert!(is_in(&ada.sign_on(&|_| {}).await));
    let row = found(&bed, "ada@example.org").await.unwrap();
    assert_eq!((row.role.as_str(), row.business_units.as_deref()), ("operator", Some("[\"nz\"]")));
    // Another role for the group holds from the next sign-on on, on this node and on every other.
    let changed = with(fields(&issuer), "role-0", "author");
    admin.act("/settings/sign-on/save", &changed).await.leads_to("/settings/sign-on?done=saved");
    assert!(is_in(&stage.stranger().sign_on(&|_| {}).await));
    assert_eq!(found(&bed, "ada@example.org").await.unwrap().role, "author");
    admin.act("/settings/sign-on/remove", &[]).await.leads_to("/settings/sign-on?done=removed");
    assert!(!stage.stranger().client.page("/sign-in").await.contains("Sign in with Example ID"));
    stage.stranger().client.get("/sign-in/with").await.refused(404, "not_found");
    assert_eq!(bed.audit("sign-on", &issuer).await, ["put", "put", "delete"]);
}

async fn what_is_wrong_stands_at_its_field_and_nothing_is_kept(bed: TestBed) {
    let (stage, issuer) = Stage::unset(&bed).await;
    for (field, value, says) in [
        ("issuer", "id.example.org", "The issuer is an address"),
        ("issuer", "http://10.0.0.1:99", "class=\"fault\""),
        ("clientId", "", "It is missing"),
        ("clientSecret", "hunter2-in-clear", "Say where the secret is"),
        ("clientSecret", "env:NOT_THERE", "There is nothing there."),
        ("units-0", "fr", "There is no business unit “fr”."),
        ("role-0", "root", "A role is one of"),
    ] {
        let reply = stage.client.act("/settings/sign-on/save", &with(fields(&issuer), field, value)).await;
        assert_eq!(reply.status, 422, "{field} = {value}: {}", reply.text);
        assert!(reply.text.contains(says), "{field} = {value}: {}", reply.text);
        assert!(reply.text.contains("Example ID"), "what was typed is kept");
    }
    let gone = stage.client.act("/settings/sign-on/test", &fields("http://127.0.0.1:1")).await;
    assert!(gone.text.contains("The provider does not answer"), "{}", gone.text);
    assert_eq!(bed.engine.sign_on_settings().await.unwrap(), None);
    stage.client.act("/settings/sign-on/remove", &[]).await.refused(404, "not_found");
}

async fn t12_another_issuer_asks_for_the_secret_again(bed: TestBed) {
    let (stage, issuer) = Stage::unset(&bed).await;
    let admin = &stage.client;
    admin.act("/settings/sign-on/save", &fields(&issuer)).await.leads_to("/settings/sign-on?done=saved");
    let kept = async || {
        let kept = bed.engine.sign_on_settings().await.unwrap().unwrap();
        (kept.issuer, kept.client_secret)
    };
    let elsewhere = "http://127.0.0.1:1";
    let unsaid = |issuer| with(fields(issuer), "clientSecret", "");
    for act in ["save", "test"] {
        let refused = admin.act(&format!("/settings/sign-on/{act}"), &unsaid(elsewhere)).await;
        assert_eq!(refused.status, 422, "{act}: {}", refused.text);
        assert!(refused.text.contains("enter the secret reference again"), "{act}: {}", refused.text);
    }
    assert_eq!(kept().await, (issuer.clone(), Some("env:OIDC".to_owned())), "nothing was stored");
    // With the same issuer it is kept, whatever else is changed; and it can be taken away, or given for the other one.
    let renamed = with(unsaid(&issuer), "name", "Another name");
    admin.act("/settings/sign-on/save", &renamed).await.leads_to("/settings/sign-on?done=saved");
    assert_eq!(kept().await, (issuer.clone(), Some("env:OIDC".to_owned())));
    admin.act("/settings/sign-on/save", &fields(elsewhere)).await.leads_to("/settings/sign-on?done=saved");
    assert_eq!(kept().await, (elsewhere.to_owned(), Some("env:OIDC".to_owned())));
    let public = with(unsaid(&issuer), "noSecret", "1");
    admin.act("/settings/sign-on/save", &public).await.leads_to("/settings/sign-on?done=saved");
    assert_eq!(kept().await, (issuer, None));
}

async fn what_another_administrator_saved_is_said_before_it_is_replaced(bed: TestBed) {
    let (stage, issuer) = Stage::unset(&bed).await;
    let admin = &stage.client;
    let opened = unescaped(&attribute(&admin.page(PAGE).await, "name=\"base\" value=\""));
    let theirs = with(fields(&issuer), "name", "Their name");
    admin.act("/settings/sign-on/save", &theirs).await.leads_to("/settings/sign-on?done=saved");
    let mut mine = with(fields(&issuer), "name", "My name");
    mine.push(("base", opened.as_str()));
    let stale = admin.act("/settings/sign-on/save", &mine).await;
    assert_eq!(stale.status, 409, "{}", stale.text);
    assert!(
        stale.text.contains("is now <code>Their name</code>") && stale.text.contains("My name"),
        "{}",
        stale.text
    );
    assert_eq!(bed.engine.sign_on_settings().await.unwrap().unwrap().name, "Their name");
    let opened = unescaped(&attribute(&stale.text, "name=\"base\" value=\""));
    let again = with(mine, "base", &opened);
    admin.act("/settings/sign-on/save", &again).await.leads_to("/settings/sign-on?done=saved");
    assert_eq!(bed.engine.sign_on_settings().await.unwrap().unwrap().name, "My name");
}

async fn the_file_wins_over_the_page_and_the_page_says_so(bed: TestBed) {
    let client = Client::with_sign_on(&bed, Some(Arc::new(sign_on_with("http://127.0.0.1:1")))).await;
    client.sign_in(crate::client::ADMIN).await.leads_to("/");
    let other = with(fields("http://127.0.0.1:2"), "name", "Another ID");
    client.act("/settings/sign-on/save", &other).await.leads_to("/settings/sign-on?done=saved");
    let page = client.page(PAGE).await;
    assert!(
        page.contains("which takes precedence over this page") && page.contains("http://127.0.0.1:1"),
        "{page}"
    );
    let sign_in = client.nobody().page("/sign-in").await;
    assert!(sign_in.contains("Sign in with Example ID") && !sign_in.contains("Another ID"), "{sign_in}");
}

async fn t11_only_an_administrator_without_a_limit_sets_it_up(bed: TestBed) {
    let admin = Client::admin(&bed).await;
    let limited = admin.with_key(&[Scope::Admin], Some(&["nz"])).await;
    let author = admin.with_key(&[Scope::Author, Scope::Operate, Scope::Read], None).await;
    for client in [&limited, &author] {
        client.get(PAGE).await.refused(403, "scope_missing");
        for act in ["save", "test", "remove"] {
            let path = format!("/settings/sign-on/{act}");
            client.act(&path, &fields("http://127.0.0.1:1")).await.refused(403, "scope_missing");
        }
    }
    assert_eq!(bed.engine.sign_on_settings().await.unwrap(), None);
}
