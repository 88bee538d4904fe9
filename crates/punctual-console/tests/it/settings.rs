//! Settings: each kind is shown, refused at its field, saved, and isolated from what somebody else saved meanwhile.

use punctual_channels::{
    AllowList, Dialog360Adapter, Guard, InProcessAdapter, InfobipAdapter, SendGridAdapter, SlackAdapter,
    SmsGatewayAdapter, SmtpAdapter, TeamsAdapter, Trust, TwilioAdapter, WebhookAdapter, WhatsAppCloudAdapter,
};
use punctual_engine::{Actor, commands::NewList};
use punctual_model::Reach;
use punctual_store::{api_keys, business_units, channels, lists, sites, subscribers, templates};
use punctual_testkit::{TestBed, on_both};
use serde_json::{Value, json};

use crate::{
    client::{Client, Reply, attribute, rows},
    reminders,
};

on_both! {
    every_page_of_the_settings_is_shown_and_leads_on;
    a_channel_is_made_with_the_form_of_its_adapter;
    every_adapter_has_a_form_with_all_its_settings;
    what_is_wrong_stands_at_its_field_and_in_a_summary;
    a_secret_goes_in_and_never_comes_out;
    a_stale_form_says_what_changed_and_can_go_on;
    something_new_never_replaces_what_is_there;
    a_list_is_made_from_a_link_and_changed;
    a_template_is_previewed_and_saved_in_two_languages;
    a_key_is_shown_once_and_revoked;
    a_site_gets_a_token_once_and_another_one;
    a_unit_a_subscriber_and_the_policy_are_saved;
    retention_is_shown_and_purged_by_hand;
    a_person_is_counted_handed_out_and_erased_with_a_certificate;
}

/// The same server with the adapters of the product.
pub fn with_adapters(bed: &TestBed) -> TestBed {
    let guard = || Guard::new("127.0.0.0/8".parse::<AllowList>().unwrap());
    let trust = Trust::platform;
    bed.with(|bed| {
        bed.adapter(InProcessAdapter::default())
            .adapter(SmtpAdapter::new(guard(), trust()))
            .adapter(WebhookAdapter::new(guard(), trust()))
            .adapter(SendGridAdapter::new(guard(), trust()))
            .adapter(SlackAdapter::new(guard(), trust()))
            .adapter(SmsGatewayAdapter::new(guard(), trust()))
            .adapter(TeamsAdapter::new(guard(), trust()))
            .adapter(TwilioAdapter::new(guard(), trust()))
            .adapter(WhatsAppCloudAdapter::new(guard(), trust()))
            .adapter(Dialog360Adapter::new(guard(), trust()))
            .adapter(InfobipAdapter::new(guard(), trust()))
    })
}

pub async fn console(bed: &TestBed) -> (TestBed, Client) {
    let bed = with_adapters(bed);
    let client = Client::admin(&bed).await;
    (bed, client)
}

#[track_caller]
pub fn refused_at(reply: &Reply, id: &str) {
    assert_eq!(reply.status, 422, "{}", reply.text);
    assert!(reply.text.contains(&format!("<a href=\"#{id}\">")), "the summary links to {id}: {}", reply.text);
    let control = reply.text.split(&format!("id=\"{id}\"")).nth(1).unwrap_or_else(|| panic!("no {id}"));
    let control = control.split('>').next().unwrap();
    assert!(control.contains("aria-invalid=\"true\""), "{control}");
    assert!(control.contains("aria-describedby=") && control.contains(&format!("{id}-fault")), "{control}");
}

pub const SMTP: [(&str, &str); 6] = [
    ("version", ""),
    ("/key", "email:ops"),
    ("/adapter", "smtp"),
    ("/settings/host", "mail.example.com"),
    ("/settings/port", "587"),
    ("/settings/from", "ops@example.com"),
];

pub fn with<'a>(fields: &[(&'a str, &'a str)], other: &[(&'a str, &'a str)]) -> Vec<(&'a str, &'a str)> {
    let kept = fields.iter().filter(|(name, _)| other.iter().all(|(another, _)| another != name));
    kept.copied().chain(other.iter().copied()).collect()
}

async fn stored_channel(bed: &TestBed, key: &str) -> Option<channels::ChannelRow> {
    channels::get(&mut bed.read().await.conn(), key).await.unwrap()
}

async fn every_page_of_the_settings_is_shown_and_leads_on(bed: TestBed) {
    let (_, client) = console(&bed).await;
    let index = client.page("/settings").await;
    assert!(index.contains("aria-current=\"page\"><span>Settings</span>"), "it is in the navigation");
    for path in [
        "/channels",
        "/channels/add",
        "/settings/lists",
        "/settings/lists/new",
        "/settings/templates",
        "/settings/templates/new",
        "/settings/units",
        "/settings/units/new",
        "/settings/keys",
        "/settings/keys/new",
        "/settings/sites",
        "/settings/sites/new",
        "/settings/subscribers",
        "/settings/subscribers/add",
        "/settings/policy",
        "/settings/retention",
        "/settings/personal-data",
    ] {
        let page = client.page(path).await;
        assert!(page.contains("aria-current=\"page\""), "{path}");
    }
    for path in [
        "lists",
        "templates",
        "units",
        "keys",
        "sites",
        "subscribers",
        "policy",
        "retention",
        "users",
        "personal-data",
    ] {
        assert!(index.contains(&format!("href=\"/settings/{path}\"")), "{path}");
    }
    client.get("/settings/lists/edit?key=none").await.refused(404, "not_found");
}

async fn a_channel_is_made_with_the_form_of_its_adapter(bed: TestBed) {
    let (bed, client) = console(&bed).await;
    assert!(client.page("/channels/add").await.contains("Mail over SMTP"));
    let form = client.page("/channels/new?adapter=smtp&key=email:ops").await;
    assert!(form.contains("value=\"email:ops\"") && form.contains("name=\"/settings/host\""), "{form}");
    assert!(form.contains("The name of the relay, such as mail.example.com."), "{form}");
    let more = [
        ("/retry/policy", "steps"),
        ("/retry/afterSeconds", "60, 300"),
        ("/limits/rates", "30 per 1m\n500 per 1h"),
        ("/concurrency", "4"),
        ("/circuit", ""),
        ("/circuit/failures", "5"),
        ("/sendWindow/from", "08:00"),
        ("/sendWindow/to", "18:00"),
        ("/sendWindow/days", "mon"),
        ("/sendWindow/days", "tue"),
        ("/atMostOnce", "yes"),
    ];
    let fields: Vec<_> = SMTP.iter().chain(&more).copied().collect();
    client.act("/channels/save", &fields).await.leads_to("/channels/edit?key=email:ops&done=saved");
    let row = stored_channel(&bed, "email:ops").await.unwrap();
    let json = |text: &str| serde_json::from_str::<Value>(text).unwrap();
    assert_eq!(
        json(&row.settings),
        json!({"host": "mail.example.com", "port": 587, "from": "ops@example.com"})
    );
    assert_eq!(json(&row.retry), json!({"policy": "steps", "afterSeconds": [60, 300]}));
    let policy = json(&row.policy);
    assert_eq!(policy["rates"], json!([{"max": 30, "per": "1m"}, {"max": 500, "per": "1h"}]));
    assert_eq!((policy["concurrency"].clone(), policy["circuit"]["failures"].clone()), (json!(4), json!(5)));
    assert_eq!(policy["sendWindow"]["days"], json!(["mon", "tue"]));
    assert!(row.at_most_once);
    assert_eq!(bed.audit("channel", "email:ops").await, ["put"]);
    // What was saved is what the form shows, and saving it as it is changes nothing of it.
    let page = client.page("/channels/edit?key=email:ops&done=saved").await;
    assert!(page.contains("30 per 1m\n500 per 1h") && page.contains("60, 300"), "{page}");
    let version = attribute(&page, "name=\"version\" value=\"");
    let again = with(&fields, &[("version", &version), ("known", "email:ops"), ("/circuit", "false")]);
    client.act("/channels/save", &again).await.leads_to("/channels/edit?key=email:ops&done=saved");
    let policy = json(&stored_channel(&bed, "email:ops").await.unwrap().policy);
    assert_eq!(policy["circuit"], json!(false), "it never opens, whatever stands in the fields below");
    assert!(client.page("/channels").await.contains("href=\"/channels/edit?key=email:ops\""));
    client.act("/channels/delete", &[("key", "email:ops")]).await.leads_to("/channels?done=removed");
    assert!(stored_channel(&bed, "email:ops").await.is_none());
}

async fn every_adapter_has_a_form_with_all_its_settings(bed: TestBed) {
    let (bed, client) = console(&bed).await;
    let mut seen = 0;
    for name in bed.engine.channels.adapter_names() {
        let about = bed.engine.channels.adapter(name).unwrap().about();
        let page = client.page(&format!("/channels/new?adapter={name}")).await;
        for setting in about.settings {
            assert!(
                page.contains(&format!("name=\"/settings/{}\"", setting.name)),
                "{name} {}",
                setting.name
            );
            seen += 1;
        }
    }
    assert!(seen > 70, "{seen}");
}

async fn what_is_wrong_stands_at_its_field_and_in_a_summary(bed: TestBed) {
    let (bed, client) = console(&bed).await;
    let fields = with(
        &SMTP,
        &[
            ("/key", "Email"),
            ("/settings/host", ""),
            ("/settings/port", "many"),
            ("/limits/rates", "0 per 1m"),
        ],
    );
    let reply = client.act("/channels/save", &fields).await;
    for id in ["f-key", "f-settings-host", "f-settings-port", "f-limits-rates"] {
        refused_at(&reply, id);
    }
    assert_eq!(reply.text.matches(" autofocus").count(), 1, "the first has the focus: {}", reply.text);
    assert!(
        reply.text.contains("value=\"many\"") && reply.text.contains("0 per 1m"),
        "what was typed is kept"
    );
    let fields = with(&fields, &[("/key", "email:ops"), ("/limits/rates", "")]);
    let reply = client.act("/channels/save", &fields).await;
    for id in ["f-settings-host", "f-settings-port"] {
        refused_at(&reply, id);
    }
    assert!(
        stored_channel(&bed, "email:ops").await.is_none()
            && bed.audit("channel", "email:ops").await.is_empty()
    );
    for (path, fields, id) in [
        ("/settings/lists/save", &[("/name", ""), ("/type", "email")][..], "f-name"),
        (
            "/settings/lists/save",
            &[("/name", "a"), ("/type", "email"), ("/targets", "no address")],
            "f-targets",
        ),
        (
            "/settings/templates/save",
            &[("/name", "a"), ("/defaultLocale", "en"), ("/variants/en/subject", "")],
            "f-variants-en-subject",
        ),
        (
            "/settings/templates/save",
            &[("/name", "a"), ("/defaultLocale", "en"), ("/variants/en/subject", "{{ a")],
            "f-variants-en-subject",
        ),
        (
            "/settings/units/save",
            &[("/id", "au"), ("/name", "Australia"), ("/timeZone", "Sydney")],
            "f-timeZone",
        ),
        ("/settings/keys/save", &[("/name", "billing")], "f-scopes"),
        ("/settings/sites/save", &[("/id", "no site!")], "f-id"),
        (
            "/settings/subscribers/save",
            &[("/key", "webhook:bi"), ("/adapter", "webhook"), ("/events", "no such")],
            "f-events",
        ),
    ] {
        let reply = client.act(path, fields).await;
        refused_at(&reply, id);
    }
    let page = client.page("/settings/policy").await;
    let version = attribute(&page, "name=\"version\" value=\"");
    let reply = client.act("/settings/policy/save", &[("version", &version), ("/dailyCap", "none")]).await;
    refused_at(&reply, "f-dailyCap");
}

async fn a_secret_goes_in_and_never_comes_out(bed: TestBed) {
    let (bed, client) = console(&bed).await;
    let secret = [("/settings/username", "ops"), ("/settings/password", "canary-4711")];
    let fields: Vec<_> = SMTP.iter().chain(&secret).copied().collect();
    // Also not where the form is refused: it is typed again.
    let reply = client.act("/channels/save", &with(&fields, &[("/settings/port", "0")])).await;
    refused_at(&reply, "f-settings-port");
    assert!(!reply.text.contains("canary-4711"));
    client.act("/channels/save", &fields).await.leads_to("/channels/edit?key=email:ops&done=saved");
    let row = stored_channel(&bed, "email:ops").await.unwrap();
    assert!(!row.settings.contains("canary-4711"), "it is sealed");
    let page = client.page("/channels/edit?key=email:ops").await;
    assert!(!page.contains("canary-4711") && page.contains("set; leave empty to keep it"), "{page}");
    let version = attribute(&page, "name=\"version\" value=\"");
    let kept = with(&fields, &[("/settings/password", ""), ("version", &version), ("known", "email:ops")]);
    client.act("/channels/save", &kept).await.leads_to("/channels/edit?key=email:ops&done=saved");
    let row = stored_channel(&bed, "email:ops").await.unwrap();
    assert_eq!(
        bed.engine.channels.opened_settings(&row)["password"],
        "canary-4711",
        "an empty field keeps it"
    );
    let removed =
        with(&kept, &[("version", "2"), ("/settings/password?remove", "yes"), ("/settings/username", "")]);
    client.act("/channels/save", &removed).await.leads_to("/channels/edit?key=email:ops&done=saved");
    let row = stored_channel(&bed, "email:ops").await.unwrap();
    assert!(bed.engine.channels.opened_settings(&row).get("password").is_none());
}

async fn a_stale_form_says_what_changed_and_can_go_on(bed: TestBed) {
    let (bed, client) = console(&bed).await;
    let fields = [("/name", "ops"), ("/type", "email"), ("/targets", "a@example.org")];
    client.act("/settings/lists/save", &fields).await.leads_to("/settings/lists/edit?key=ops&done=saved");
    let page = client.page("/settings/lists/edit?key=ops").await;
    let version = attribute(&page, "name=\"version\" value=\"");
    let base = attribute(&page, "name=\"base\" value=\"").replace("&#34;", "\"");
    // Without a channel of its own type it is saved with a warning.
    let pigeons = [("/name", "birds"), ("/type", "pigeon"), ("/targets", "a")];
    let place = "/settings/lists/edit?key=birds&done=channel-unknown";
    client.act("/settings/lists/save", &pigeons).await.leads_to(place);
    bed.clock.set(bed.now() + jiff::SignedDuration::from_secs(1));
    let theirs = NewList {
        name: "ops".into(),
        kind: "email".into(),
        channel: None,
        targets: vec!["b@example.org".into()],
        business_unit: None,
    };
    bed.engine.save_list(&Actor::named("ben"), theirs).await.unwrap();
    let mine = with(
        &fields,
        &[
            ("known", "ops"),
            ("version", &version),
            ("base", &base),
            ("/targets", "c@example.org"),
            ("/channel", "email:default"),
        ],
    );
    let reply = client.act("/settings/lists/save", &mine).await;
    assert_eq!(reply.status, 409, "{}", reply.text);
    let said = "Members: was <code>a@example.org</code>, is now <code>b@example.org</code>";
    assert!(reply.text.contains(said), "{}", reply.text);
    assert!(
        reply.text.contains("c@example.org</textarea>") && reply.text.contains("Save over it"),
        "{}",
        reply.text
    );
    assert_eq!(targets(&bed).await, ["b@example.org"], "nothing was stored");
    let next = attribute(&reply.text, "name=\"version\" value=\"");
    let over = with(&mine, &[("version", &next)]);
    client.act("/settings/lists/save", &over).await.leads_to("/settings/lists/edit?key=ops&done=saved");
    assert_eq!(targets(&bed).await, ["c@example.org"]);
}

async fn targets(bed: &TestBed) -> Vec<String> {
    let row = lists::get(&mut bed.read().await.conn(), &Reach::Everything, "ops").await.unwrap().unwrap();
    serde_json::from_str(&row.targets).unwrap()
}

async fn something_new_never_replaces_what_is_there(bed: TestBed) {
    let (bed, client) = console(&bed).await;
    client.act("/channels/save", &SMTP).await.leads_to("/channels/edit?key=email:ops&done=saved");
    let reply = client.act("/channels/save", &with(&SMTP, &[("/settings/host", "other.example.com")])).await;
    assert_eq!(reply.status, 409, "{}", reply.text);
    assert!(reply.text.contains("There is a channel of this name already."), "{}", reply.text);
    assert!(stored_channel(&bed, "email:ops").await.unwrap().settings.contains("mail.example.com"));
}

async fn a_list_is_made_from_a_link_and_changed(bed: TestBed) {
    let (bed, client) = console(&bed).await;
    let page = client.page("/settings/lists/new?name=cold-chain").await;
    assert!(page.contains("value=\"cold-chain\"") && page.contains("value=\"email\""), "{page}");
    let fields = [
        ("/name", "cold-chain"),
        ("/type", "memory"),
        ("/channel", ""),
        ("/businessUnit", "nz"),
        ("/targets", "a\r\nb\r\n"),
    ];
    let place = "/settings/lists/edit?key=cold-chain&done=saved";
    client.act("/settings/lists/save", &fields).await.leads_to(place);
    let page = client.page("/settings/lists").await;
    assert_eq!(rows(&page), ["cold-chain"]);
    assert!(page.contains("2 addresses") && page.contains("memory:default"), "{page}");
    let page = client.page("/settings/lists/edit?key=cold-chain").await;
    assert!(page.contains("2 addresses over memory:default."), "{page}");
    for link in ["/outbox?list=cold-chain", "/outbox/new?list=cold-chain"] {
        assert!(page.contains(&format!("href=\"{link}\"")), "{link}: {page}");
    }
    assert!(page.contains("No reminder, report or survey uses it."), "{page}");
    let mut reminder = reminders::definition();
    reminder["recipients"] = json!({ "list": "cold-chain" });
    let saved = reminders::save(&client, &reminders::as_json(&reminder.to_string())).await;
    assert_eq!(saved.status, 303, "{}", saved.text);
    let page = client.page("/settings/lists/edit?key=cold-chain").await;
    assert!(page.contains("<span class=\"item-title\">First aid</span>"), "{page}");
    let many: String = (0..10_000).map(|n| format!("person-{n}@example.org\n")).collect();
    let large = with(&fields, &[("/name", "large"), ("/type", "email"), ("/targets", &many)]);
    client.act("/settings/lists/save", &large).await.leads_to("/settings/lists/edit?key=large&done=saved");
    client
        .act("/settings/lists/delete", &[("key", "cold-chain")])
        .await
        .leads_to("/settings/lists?done=removed");
    assert!(
        lists::get(&mut bed.read().await.conn(), &Reach::Everything, "cold-chain").await.unwrap().is_none()
    );
}

async fn a_template_is_previewed_and_saved_in_two_languages(bed: TestBed) {
    let (bed, client) = console(&bed).await;
    let fields = [
        ("/name", "due"),
        ("/defaultLocale", "en"),
        ("/addLocale", "de"),
        ("/variants/en/subject", "{{ document.name }} expires"),
        ("/variants/en/body", "On {{ date }}."),
        ("/variants/en/html", "<p>On <b>{{ date }}</b></p>"),
        ("context", "{\"document\": {\"name\": \"Licence\"}, \"date\": \"14 <May>\"}"),
    ];
    let reply = client.act("/settings/templates/preview", &fields).await;
    assert_eq!(reply.status, 200, "{}", reply.text);
    assert!(reply.text.contains("<h3>Licence expires</h3>"), "{}", reply.text);
    assert!(
        reply.text.contains("On 14 &#60;May&#62;.")
            && reply.text.contains("formaction=\"/settings/templates/html\"")
    );
    assert!(!reply.text.contains("<b>14"), "HTML of a template is never HTML of the page");
    assert!(reply.text.contains("<code>document.name</code>"), "its variables are named");
    assert!(reply.text.contains("name=\"/variants/de/subject\""), "the language that was added has fields");
    assert!(templates::by_names(&mut bed.read().await.conn(), vec!["due".into()]).await.unwrap().is_empty());
    let html = client.act("/settings/templates/html", &with(&fields, &[("previewLocale", "en")])).await;
    assert!(
        html.headers["content-security-policy"].to_str().unwrap().starts_with("sandbox; default-src 'none'")
    );
    assert!(html.text.contains("<b>14 &lt;May&gt;</b>"), "{}", html.text);
    let missing = with(&fields, &[("context", "{}")]);
    assert!(client.act("/settings/templates/preview", &missing).await.text.contains("is not given"));
    let both: Vec<_> =
        with(&fields, &[("/addLocale", ""), ("/variants/de/subject", "{{ document.name }} läuft ab")]);
    client
        .act("/settings/templates/save", &both)
        .await
        .leads_to("/settings/templates/edit?key=due&done=saved");
    let page = client.page("/settings/templates").await;
    assert!(page.contains("de, en"), "{page}");
    let row = templates::by_names(&mut bed.read().await.conn(), vec!["due".into()]).await.unwrap().remove(0);
    let gone = with(&both, &[("known", "due"), ("version", "1"), ("/variants/de/subject", "")]);
    assert_eq!(row.version, 1);
    client
        .act("/settings/templates/save", &gone)
        .await
        .leads_to("/settings/templates/edit?key=due&done=saved");
    let row = templates::by_names(&mut bed.read().await.conn(), vec!["due".into()]).await.unwrap().remove(0);
    assert!(!row.variants.contains("\"de\""), "a language with nothing in it is removed: {}", row.variants);
}

async fn a_key_is_shown_once_and_revoked(bed: TestBed) {
    let (bed, client) = console(&bed).await;
    let fields = [("/name", "billing"), ("/scopes", "read"), ("/scopes", "send"), ("/businessUnits", "nz")];
    let reply = client.act("/settings/keys/save", &fields).await;
    assert_eq!(reply.status, 200, "{}", reply.text);
    let secret = attribute(&reply.text, "class=\"mono\" value=\"");
    assert!(punctual_engine::keys::is_well_formed(&secret), "{secret}");
    let stored = api_keys::all(&mut bed.read().await.conn()).await.unwrap();
    let row = stored.iter().find(|row| row.name == "billing").unwrap();
    assert_eq!((row.scopes.as_str(), row.business_units.as_deref()), ("send read", Some("[\"nz\"]")));
    let page = client.page("/settings/keys").await;
    assert!(page.contains("billing") && !page.contains(&secret));
    // Signing in is a use of the key; whoever looks for keys that nobody needs relies on it.
    assert_eq!(page.matches("never used").count(), 1, "{page}");
    client.nobody().sign_in(&secret).await.leads_to("/");
    assert!(!client.page("/settings/keys").await.contains("never used"));
    client.act("/settings/keys/delete", &[("key", &row.id)]).await.leads_to("/settings/keys?done=revoked");
    assert_ne!(client.nobody().sign_in(&secret).await.status, 303, "it no longer signs in");
    assert!(client.page("/settings/keys").await.contains("revoked</span>"));
}

async fn a_site_gets_a_token_once_and_another_one(bed: TestBed) {
    let (bed, client) = console(&bed).await;
    let reply = client.act("/settings/sites/save", &[("/id", "plant-7"), ("/businessUnit", "nz")]).await;
    let first = attribute(&reply.text, "class=\"mono\" value=\"");
    let version =
        attribute(&client.page("/settings/sites/edit?key=plant-7").await, "name=\"version\" value=\"");
    let fields =
        [("known", "plant-7"), ("version", version.as_str()), ("/id", "plant-7"), ("/businessUnit", "de")];
    client.act("/settings/sites/save", &fields).await.leads_to("/settings/sites/edit?key=plant-7&done=saved");
    let row = sites::get(&mut bed.read().await.conn(), "plant-7").await.unwrap().unwrap();
    assert_eq!(row.business_unit.as_deref(), Some("de"));
    let reply = client.act("/settings/sites/rotate", &[("key", "plant-7"), ("keep", "yes")]).await;
    let second = attribute(&reply.text, "class=\"mono\" value=\"");
    assert!(first != second && !client.page("/settings/sites/edit?key=plant-7").await.contains(&second));
    client
        .act("/settings/sites/delete", &[("key", "plant-7")])
        .await
        .leads_to("/settings/sites?done=revoked");
    let row = sites::get(&mut bed.read().await.conn(), "plant-7").await.unwrap().unwrap();
    assert!(row.revoked_at.is_some());
}

async fn a_unit_a_subscriber_and_the_policy_are_saved(bed: TestBed) {
    let (bed, client) = console(&bed).await;
    let unit = [("/id", "au"), ("/name", "Australia"), ("/timeZone", "Australia/Sydney")];
    client.act("/settings/units/save", &unit).await.leads_to("/settings/units/edit?key=au&done=saved");
    let row =
        business_units::by_ids(&mut bed.read().await.conn(), vec!["au".into()]).await.unwrap().remove(0);
    assert_eq!(row.time_zone, "Australia/Sydney");
    let stale = with(&unit, &[("known", "au"), ("version", "1"), ("/name", "Oz")]);
    assert_eq!(client.act("/settings/units/save", &stale).await.status, 409);
    let version = row.updated_at.as_microsecond().to_string();
    let quota = with(
        &unit,
        &[
            ("known", "au"),
            ("version", &version),
            ("/quota/rowsPerDay", "500"),
            ("/quota/channelShare", "30"),
        ],
    );
    let wrong = with(&quota, &[("/quota/channelShare", "300")]);
    assert_eq!(client.act("/settings/units/save", &wrong).await.status, 422);
    client.act("/settings/units/save", &quota).await.leads_to("/settings/units/edit?key=au&done=saved");
    let page = client.page("/settings/units/edit?key=au").await;
    assert!(page.contains("Australia: 0 of 500 rows of "), "{page}");
    assert!(client.page("/settings/units").await.contains("500 rows a day, 30 % of a channel"));
    let subscriber = [
        ("/key", "in-process:log"),
        ("/adapter", "in-process"),
        ("/settings/handler", "log"),
        ("/events", "response-completed"),
        ("/active", "yes"),
        ("/filter/tests?rows", "1"),
        ("/filter/tests/0/questionId", "score"),
        ("/filter/tests/0/op", "<"),
        ("/filter/tests/0/value", "7"),
    ];
    let reply = client.act("/settings/subscribers/save", &subscriber).await;
    reply.leads_to("/settings/subscribers/edit?key=in-process:log&done=saved");
    let row = subscribers::get(&mut bed.read().await.conn(), "in-process:log").await.unwrap().unwrap();
    let filter = row.filter.as_deref().and_then(|text| serde_json::from_str::<Value>(text).ok());
    assert!(
        row.active && filter == Some(json!({ "questionId": "score", "op": "<", "value": 7 })),
        "{filter:?}"
    );
    let page = client.page("/settings/subscribers/edit?key=in-process:log").await;
    assert!(page.contains("name=\"/filter/tests/0/value\" value=\"7\""), "{page}");
    let page = client.page("/settings/policy").await;
    let version = attribute(&page, "name=\"version\" value=\"");
    let policy = [
        ("known", "Delivery policy"),
        ("version", version.as_str()),
        ("/dailyCap", "5"),
        ("/topics", "offers = Offers and news"),
    ];
    let place = "/settings/policy/edit?key=Delivery%20policy&done=saved";
    client.act("/settings/policy/save", &policy).await.leads_to(place);
    let stored = bed.engine.delivery_policy().await.unwrap();
    assert_eq!(stored, json!({"dailyCap": 5, "topics": [{"name": "offers", "title": "Offers and news"}]}));
    let reply = client.act("/settings/policy/save", &with(&policy, &[("/dailyCap", "6")])).await;
    assert_eq!(reply.status, 409, "the form was opened before: {}", reply.text);
    assert_eq!(bed.engine.delivery_policy().await.unwrap(), stored);
}

async fn retention_is_shown_and_purged_by_hand(bed: TestBed) {
    let (_, client) = console(&bed).await;
    assert!(client.page("/settings/retention").await.contains("Finished messages"));
    client.act("/settings/retention/purge", &[]).await.leads_to("/settings/retention?done=purged");
    assert!(client.page("/settings/retention?done=purged").await.contains("The purge has run."));
}

async fn a_person_is_counted_handed_out_and_erased_with_a_certificate(bed: TestBed) {
    let (bed, client) = console(&bed).await;
    bed.list("ops", "email:default", &["ann@x.example", "bob@x.example"]).await;
    let who = [("by", "address"), ("who", "Ann@x.example")];
    let plan = client.act("/settings/personal-data/plan", &who).await;
    assert!(plan.text.contains("Lists") && plan.text.contains("Erase this person"), "{}", plan.text);
    let copy = client.act("/settings/personal-data/export", &who).await;
    assert!(copy.text.contains("definitions") && copy.text.contains("ops"), "{}", copy.text);
    let done = client.act("/settings/personal-data/erase", &who).await;
    assert_eq!(done.status, 303, "{}", done.text);
    let place = done.headers["location"].to_str().unwrap().to_owned();
    let certificate = client.page(&place).await;
    assert!(certificate.contains("A second search found nothing."), "{certificate}");
    assert!(!certificate.contains("ann@x.example"), "{certificate}");
    let download = client.page(&place.replace("/erasure?", "/certificate?")).await;
    assert!(download.contains("\"signature\""), "{download}");
    let plan = client.act("/settings/personal-data/plan", &who).await;
    assert!(plan.text.contains("Nothing is stored about Ann@x.example."), "{}", plan.text);
    let nobody = client.act("/settings/personal-data/plan", &[("who", " "), ("by", "person")]).await;
    assert!(
        nobody.status == 422 && nobody.text.contains("<option value=\"person\" selected"),
        "{}",
        nobody.text
    );
    client.act("/settings/personal-data/erase", &[("who", " ")]).await.refused(422, "missing_field");
    assert!(client.page("/search?q=ann@x.example").await.contains("/settings/personal-data?address=ann"));
}
