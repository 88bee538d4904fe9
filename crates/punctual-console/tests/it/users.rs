//! People with accounts: invited by link, signed in with a password, with the rights that their role has at the moment.

use jiff::SignedDuration;
use punctual_engine::keys::is_well_formed;
use punctual_model::Clock;
use punctual_store::{audit, users};
use punctual_testkit::{TestBed, on_both};
use punctual_wire::keys::Scope;

use crate::client::{ADMIN, Client, Reply, attribute};

on_both! {
    somebody_is_invited_sets_a_password_and_signs_in;
    a_link_works_once_and_runs_out;
    a_weak_password_is_refused_and_leaves_the_link_as_it_is;
    t02_a_wrong_sign_in_says_nothing_about_accounts;
    t02_guesses_at_an_account_are_slowed_down_and_a_key_still_works;
    what_somebody_may_do_changes_at_once;
    a_limit_to_business_units_holds_for_people_as_for_keys;
    t02_a_new_password_ends_every_other_session;
    sessions_are_seen_and_ended;
    only_an_admin_manages_users;
    what_is_wrong_with_a_user_stands_beside_its_field;
}

const PASSWORD: &str = "correct horse battery";

/// The link that a page shows once, as a path.
fn link_in(reply: &Reply) -> String {
    let link = attribute(&reply.text, "id=\"link\" value=\"");
    link[link.find("/invitation").unwrap()..].to_owned()
}

/// Invites somebody over the console; the path of their link.
pub async fn invite(admin: &Client, email: &str, role: &str, units: Option<&str>) -> String {
    let mut fields = vec![("name", "Ada"), ("email", email), ("role", role), ("reach", "all")];
    if let Some(units) = units {
        fields.pop();
        fields.extend([("reach", "some"), ("businessUnits", units)]);
    }
    let reply = admin.act("/settings/users/save", &fields).await;
    assert_eq!(reply.status, 200, "{}", reply.text);
    link_in(&reply)
}

async fn set_password(client: &Client, link: &str, password: &str) -> Reply {
    let page = client.page(link).await;
    let secret = attribute(&page, "name=\"link\" value=\"");
    client.post("/invitation", &[("link", &secret), ("password", password), ("again", password)]).await
}

/// Somebody with an account of this role, signed in.
async fn person(admin: &Client, email: &str, role: &str, units: Option<&str>) -> Client {
    let link = invite(admin, email, role, units).await;
    let client = admin.nobody();
    set_password(&client, &link, PASSWORD).await.leads_to("/");
    client
}

async fn sign_in(client: &Client, email: &str, password: &str) -> Reply {
    client.post("/sign-in", &[("email", email), ("password", password)]).await
}

pub async fn id_of(bed: &TestBed, email: &str) -> String {
    users::by_email(&mut bed.read().await.conn(), email).await.unwrap().unwrap().id
}

async fn somebody_is_invited_sets_a_password_and_signs_in(bed: TestBed) {
    let id = bed.accept_one(bed.message_over("no:such", &["a"])).await;
    bed.tick().await;
    let admin = Client::admin(&bed).await;
    assert!(admin.page("/settings/users").await.contains("No users yet"));
    let ada = person(&admin, "Ada@Example.org", "operator", None).await;
    assert!(ada.page("/").await.contains(">Ada</span>"), "the page names who looks");
    let row = format!("{id}:{}", bed.notification(&id).await.version);
    ada.act("/outbox/act", &[("action", "retry"), ("row", &row)]).await.leads_to("/outbox?done=retry.1.0");
    let entries =
        audit::of(&mut bed.read().await.conn(), &punctual_model::Reach::Everything, "notification", &id)
            .await
            .unwrap();
    assert_eq!(entries.last().unwrap().actor, "ada@example.org", "the audit names the person");
    let again = admin.nobody();
    sign_in(&again, " ADA@example.org ", PASSWORD).await.leads_to("/");
    let user = id_of(&bed, "ada@example.org").await;
    let actions = bed.audit("user", &user).await;
    assert_eq!(actions, ["create", "invite", "set-password", "sign-in", "sign-in"]);
    assert!(admin.page("/settings/users").await.contains("ada@example.org"));
    let stored = users::get(&mut bed.read().await.conn(), &user).await.unwrap().unwrap();
    assert!(stored.password_hash.unwrap().starts_with("$argon2id$v=19$m=19456,t=2,p=1$"));
    assert!(stored.last_sign_in_at.is_some());
    bed.leaves_open("it is queued again");
}

async fn a_link_works_once_and_runs_out(bed: TestBed) {
    let admin = Client::admin(&bed).await;
    let link = invite(&admin, "ada@example.org", "viewer", None).await;
    let secret = link.split_once("token=").unwrap().1;
    let stranger = admin.nobody();
    // Opening it spends nothing.
    stranger.page(&link).await;
    set_password(&stranger, &link, PASSWORD).await.leads_to("/");
    let used = admin.nobody().get(&link).await;
    assert_eq!(used.status, 404);
    assert!(used.text.contains("This link does not work"));
    let fields = [("link", secret), ("password", "another password"), ("again", "another password")];
    assert_eq!(admin.nobody().post("/invitation", &fields).await.status, 404);
    sign_in(&admin.nobody(), "ada@example.org", PASSWORD).await.leads_to("/");
    let never = admin.nobody().get("/invitation?token=0000").await;
    assert_eq!((never.status, never.text), (404, used.text), "unknown and used look the same");
    // Another link, for a forgotten password: the old password is good until it is used.
    let id = id_of(&bed, "ada@example.org").await;
    let late = link_in(&admin.act("/settings/users/invite", &[("id", &id)]).await);
    admin.wall.set(admin.wall.now() + SignedDuration::from_hours(73));
    assert_eq!(admin.nobody().get(&late).await.status, 404);
    sign_in(&admin.nobody(), "ada@example.org", PASSWORD).await.leads_to("/");
}

async fn a_weak_password_is_refused_and_leaves_the_link_as_it_is(bed: TestBed) {
    let admin = Client::admin(&bed).await;
    let link = invite(&admin, "ada.lovelace@example.org", "viewer", None).await;
    let stranger = admin.nobody();
    for (password, says) in [
        ("elevenchars", "at least 12 characters"),
        ("Ada.Lovelace@example.org", "must not be the email"),
        (&"x".repeat(1_100), "at most 1024 bytes"),
    ] {
        let refused = set_password(&stranger, &link, password).await;
        assert_eq!(refused.status, 422, "{}", refused.text);
        assert!(refused.text.contains(says), "{}", refused.text);
    }
    let secret = link.split_once("token=").unwrap().1;
    let fields = [("link", secret), ("password", PASSWORD), ("again", "something else")];
    let refused = stranger.post("/invitation", &fields).await;
    assert!(refused.status == 422 && refused.text.contains("The two passwords differ."), "{}", refused.text);
    set_password(&stranger, &link, "aaaaaaaaaaaa").await.leads_to("/");
}

async fn t02_a_wrong_sign_in_says_nothing_about_accounts(bed: TestBed) {
    let admin = Client::admin(&bed).await;
    person(&admin, "ada@example.org", "viewer", None).await;
    person(&admin, "off@example.org", "viewer", None).await;
    let off = id_of(&bed, "off@example.org").await;
    admin.act("/settings/users/active", &[("id", &off), ("active", "no")]).await;
    invite(&admin, "new@example.org", "viewer", None).await;
    let mut answers = Vec::new();
    for (email, password) in [
        ("ada@example.org", "not her password"),
        ("nobody@example.org", PASSWORD),
        ("off@example.org", PASSWORD),
        ("new@example.org", ""),
        ("new@example.org", PASSWORD),
    ] {
        let refused = sign_in(&admin.nobody(), email, password).await.refused(401, "auth_failed");
        assert!(!refused.headers.contains_key("set-cookie"));
        answers.push(refused.text.replace(email, "EMAIL"));
    }
    answers.dedup();
    assert_eq!(answers.len(), 1, "{answers:#?}");
}

async fn t02_guesses_at_an_account_are_slowed_down_and_a_key_still_works(bed: TestBed) {
    let admin = Client::admin(&bed).await;
    person(&admin, "ada@example.org", "viewer", None).await;
    let stranger = admin.nobody();
    for _ in 0..10 {
        sign_in(&stranger, "ada@example.org", "a wrong password").await.refused(401, "auth_failed");
    }
    let slow = sign_in(&stranger, "ada@example.org", PASSWORD).await.refused(429, "rate_limited");
    assert!(slow.headers.contains_key("retry-after"));
    // The key for emergencies that Punctual made cannot be guessed and is never kept out.
    let key = admin.new_key(&[Scope::Admin], None).await;
    assert!(is_well_formed(&key));
    admin.nobody().sign_in(&key).await.leads_to("/");
    admin.wall.set(admin.wall.now() + SignedDuration::from_mins(10));
    sign_in(&stranger, "ada@example.org", PASSWORD).await.leads_to("/");
}

async fn what_somebody_may_do_changes_at_once(bed: TestBed) {
    let admin = Client::admin(&bed).await;
    let ada = person(&admin, "ada@example.org", "author", None).await;
    let id = id_of(&bed, "ada@example.org").await;
    ada.page("/operations/people/new").await;
    let save = async |role: &str| {
        let fields = [("known", id.as_str()), ("name", "Ada"), ("email", "ada@example.org"), ("role", role)];
        admin.act("/settings/users/save", &fields).await.leads_to("/settings/users?done=saved");
    };
    // A new name or the same role again is no change of rights.
    save("author").await;
    ada.page("/outbox").await;
    save("viewer").await;
    ada.get("/outbox").await.leads_to("/sign-in?next=%2Foutbox");
    let before = ada.cookie();
    sign_in(&ada, "ada@example.org", PASSWORD).await.leads_to("/");
    assert_ne!(ada.cookie(), before, "other rights, another session");
    ada.get("/operations/people/new").await.refused(403, "scope_missing");
    ada.page("/outbox").await;
    save("admin").await;
    ada.get("/settings/users").await.leads_to("/sign-in?next=%2Fsettings%2Fusers");
    sign_in(&ada, "ada@example.org", PASSWORD).await.leads_to("/");
    ada.page("/settings/users").await;
    let disable = [("id", id.as_str()), ("active", "no")];
    admin
        .act("/settings/users/active", &disable)
        .await
        .leads_to(&format!("/settings/users/{id}?done=disabled"));
    ada.get("/outbox").await.leads_to("/sign-in?next=%2Foutbox");
    sign_in(&admin.nobody(), "ada@example.org", PASSWORD).await.refused(401, "auth_failed");
    // A session does not come back with the account.
    admin.act("/settings/users/active", &[("id", &id), ("active", "yes")]).await;
    ada.get("/outbox").await.leads_to("/sign-in?next=%2Foutbox");
    sign_in(&ada, "ada@example.org", PASSWORD).await.leads_to("/");
    admin.act("/settings/users/delete", &[("id", &id)]).await.leads_to("/settings/users?done=removed");
    ada.get("/outbox").await.leads_to("/sign-in?next=%2Foutbox");
}

async fn a_limit_to_business_units_holds_for_people_as_for_keys(bed: TestBed) {
    bed.has_unit("nz").await;
    bed.has_unit("de").await;
    let mut ids = Vec::new();
    for unit in ["nz", "de"] {
        let mut new = bed.message_over("no:such", &["a"]);
        new.business_unit = Some(unit.to_owned());
        ids.push(bed.accept_one(new).await);
    }
    bed.tick().await;
    let admin = Client::admin(&bed).await;
    let ada = person(&admin, "ada@example.org", "admin", Some("nz")).await;
    ada.page(&format!("/notifications/{}", ids[0])).await;
    ada.get(&format!("/notifications/{}", ids[1])).await.refused(404, "not_found");
    for page in ["/settings/users", "/sites", "/nodes", "/preferences"] {
        ada.get(page).await.refused(403, "scope_missing");
    }
    let make = [("name", "Eve"), ("email", "eve@example.org"), ("role", "admin"), ("reach", "all")];
    ada.act("/settings/users/save", &make).await.refused(403, "scope_missing");
    let nobody = person(&admin, "none@example.org", "admin", Some(" ")).await;
    for id in &ids {
        nobody.get(&format!("/notifications/{id}")).await.refused(404, "not_found");
    }
}

async fn t02_a_new_password_ends_every_other_session(bed: TestBed) {
    let admin = Client::admin(&bed).await;
    let ada = person(&admin, "ada@example.org", "viewer", None).await;
    let elsewhere = admin.nobody();
    sign_in(&elsewhere, "ada@example.org", PASSWORD).await.leads_to("/");
    let before = ada.cookie();
    let change = async |old: &str, new: &str| {
        ada.act("/account/password", &[("old", old), ("password", new), ("again", new)]).await
    };
    let wrong = change("not my password", "an entirely new one").await;
    assert!(wrong.status == 422 && wrong.text.contains("This is not your password"), "{}", wrong.text);
    let weak = change(PASSWORD, "short").await;
    assert!(weak.status == 422 && weak.text.contains("at least 12"), "{}", weak.text);
    elsewhere.page("/").await;
    change(PASSWORD, "an entirely new one").await.leads_to("/account?done=password");
    assert_ne!(ada.cookie(), before, "the session has another id");
    ada.page("/account").await;
    elsewhere.get("/").await.leads_to("/sign-in");
    let old = admin.nobody();
    old.set_cookie(before);
    old.get("/").await.leads_to("/sign-in");
    sign_in(&admin.nobody(), "ada@example.org", PASSWORD).await.refused(401, "auth_failed");
    sign_in(&admin.nobody(), "ada@example.org", "an entirely new one").await.leads_to("/");
}

async fn sessions_are_seen_and_ended(bed: TestBed) {
    let admin = Client::admin(&bed).await;
    let ada = person(&admin, "ada@example.org", "viewer", None).await;
    let fox = admin.nobody();
    let agent = "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0";
    let headers = [("sec-fetch-site", "same-origin"), ("user-agent", agent)];
    let body = crate::client::encoded(&[("email", "ada@example.org"), ("password", PASSWORD)]);
    fox.send(axum::http::Method::POST, "/sign-in", &headers, body.clone()).await.leads_to("/");
    let page = ada.page("/account").await;
    assert!(page.contains("Firefox on Linux") && page.contains("this one"), "{page}");
    let hash = attribute(&page, "name=\"session\" value=\"");
    // Nobody ends somebody else's session.
    let eve = person(&admin, "eve@example.org", "viewer", None).await;
    eve.act("/account/end-sessions", &[("session", &hash)]).await.refused(404, "not_found");
    fox.page("/").await;
    ada.act("/account/end-sessions", &[("session", &hash)]).await.leads_to("/account?done=ended");
    fox.get("/").await.leads_to("/sign-in");
    fox.send(axum::http::Method::POST, "/sign-in", &headers, body.clone()).await.leads_to("/");
    ada.act("/account/end-sessions", &[]).await.leads_to("/account?done=all-ended");
    fox.get("/").await.leads_to("/sign-in");
    ada.page("/").await;
    // An administrator ends them, too.
    let id = id_of(&bed, "ada@example.org").await;
    assert!(admin.page(&format!("/settings/users/{id}")).await.contains("End all sessions"));
    let place = format!("/settings/users/{id}?done=all-ended");
    admin.act("/settings/users/end-sessions", &[("id", &id)]).await.leads_to(&place);
    ada.get("/").await.leads_to("/sign-in");
    eve.page("/").await;
    admin.page("/account").await;
}

async fn only_an_admin_manages_users(bed: TestBed) {
    let admin = Client::admin(&bed).await;
    for role in ["viewer", "operator", "author"] {
        let one = person(&admin, &format!("{role}@example.org"), role, None).await;
        one.get("/settings/users").await.refused(403, "scope_missing");
        one.get("/settings/users/new").await.refused(403, "scope_missing");
        let id = id_of(&bed, &format!("{role}@example.org")).await;
        one.get(&format!("/settings/users/{id}")).await.refused(403, "scope_missing");
        let mine = [("known", id.as_str()), ("name", "x"), ("email", "x@example.org"), ("role", "admin")];
        one.act("/settings/users/save", &mine).await.refused(403, "scope_missing");
        for form in ["invite", "active", "delete", "end-sessions"] {
            let path = format!("/settings/users/{form}");
            one.act(&path, &[("id", &id), ("active", "no")]).await.refused(403, "scope_missing");
        }
        one.page("/account").await;
    }
    admin.nobody().sign_in(ADMIN).await.leads_to("/");
}

async fn what_is_wrong_with_a_user_stands_beside_its_field(bed: TestBed) {
    let admin = Client::admin(&bed).await;
    invite(&admin, "ada@example.org", "viewer", None).await;
    for (fields, says) in [
        ([("name", "A"), ("email", "no address"), ("role", "viewer")], "address"),
        ([("name", "A"), ("email", "Ada@example.org"), ("role", "viewer")], "already a user"),
        ([("name", "A"), ("email", "b@example.org"), ("role", "root")], "not possible"),
    ] {
        let refused = admin.act("/settings/users/save", &fields).await;
        assert_eq!(refused.status, 422, "{}", refused.text);
        assert!(refused.text.contains(says) && refused.text.contains("class=\"fault\""), "{}", refused.text);
        assert!(refused.text.contains(&format!("value=\"{}\"", fields[1].1)), "what was entered stays");
    }
    let unit = [
        ("name", "A"),
        ("email", "b@example.org"),
        ("role", "viewer"),
        ("reach", "some"),
        ("businessUnits", "atlantis"),
    ];
    let refused = admin.act("/settings/users/save", &unit).await;
    assert!(refused.status == 422 && refused.text.contains("no business unit"), "{}", refused.text);
    assert_eq!(users::page(&mut bed.read().await.conn(), "", 10).await.unwrap().len(), 1);
}
