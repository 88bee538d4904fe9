//! Messages and schedules that somebody makes by hand.

use punctual_engine::{
    Actor,
    commands::{NewTemplate, Seen},
};
use punctual_templates::Variant;
use punctual_testkit::{TestBed, on_both};
use punctual_wire::keys::Scope;

use crate::{
    client::{Client, Reply},
    settings::{refused_at, with},
};

on_both! {
    a_message_is_written_by_hand_and_sent;
    a_message_is_sent_at_its_time_to_addresses;
    a_message_is_written_from_a_template;
    a_message_for_a_channel_that_does_not_exist_is_taken_with_a_warning;
    what_is_wrong_with_a_message_stands_at_its_field;
    a_schedule_is_planned_by_hand_and_moved_by_its_key;
    who_may_not_write_sees_no_form;
}

const MESSAGE: [(&str, &str); 6] = [
    ("version", ""),
    ("/to", "list"),
    ("/list", "ops"),
    ("/from", "text"),
    ("/subject", "Water is off"),
    ("/body", "Until noon."),
];

/// The number of the work row that the form led to.
fn work_of(reply: &Reply) -> i64 {
    assert_eq!(reply.status, 303, "{}", reply.text);
    let place = reply.headers["location"].to_str().unwrap();
    place.strip_prefix("/work/").unwrap_or_else(|| panic!("{place}")).parse().unwrap()
}

async fn a_message_is_written_by_hand_and_sent(bed: TestBed) {
    let client = Client::admin(&bed).await;
    bed.list("ops", "email:default", &["ann@example.org", "ben@example.org"]).await;
    assert!(client.page("/outbox").await.contains("href=\"/outbox/new\""));
    let form = client.page("/outbox/new").await;
    assert!(form.contains("name=\"/subject\"") && form.contains("<option value=\"ops\">"), "{form}");
    let work = work_of(&client.act("/outbox/save", &MESSAGE).await);
    bed.run_for(1).await;
    assert_eq!(bed.sent_to(), ["ann@example.org", "ben@example.org"]);
    assert_eq!(
        (bed.sent()[0].subject.as_str(), bed.sent()[0].body.as_str()),
        ("Water is off", "Until noon.")
    );
    let page = client.page(&format!("/work/{work}")).await;
    assert!(page.contains("Water is off") && page.contains("/notifications/"), "{page}");
}

async fn a_message_is_sent_at_its_time_to_addresses(bed: TestBed) {
    let client = Client::admin(&bed).await;
    let later = [("/to", "targets"), ("/targets", "ann@example.org"), ("/sendAt", "2026-05-20T09:00")];
    work_of(&client.act("/outbox/save", &with(&MESSAGE, &later)).await);
    bed.run_to("2026-05-20T08:59:00Z").await;
    assert!(bed.sent().is_empty());
    bed.run_to("2026-05-20T09:01:00Z").await;
    assert_eq!(bed.sent_to(), ["ann@example.org"]);
}

async fn a_message_is_written_from_a_template(bed: TestBed) {
    let client = Client::admin(&bed).await;
    bed.list("ops", "email:default", &["ann@example.org"]).await;
    let variant = |subject: &str, body: &str| {
        let body = body.to_owned();
        Variant { subject: subject.to_owned(), html: Some(format!("<p>{body}</p>")), body }
    };
    let variants = [
        ("en".to_owned(), variant("{{ document }} expires", "Ask {{ owner.name }}.")),
        ("de".to_owned(), variant("{{ document }} läuft ab", "Bitte {{ owner.name }} fragen.")),
    ];
    let new = NewTemplate { name: "due".into(), default_locale: "en".into(), variants: variants.into() };
    bed.engine.replace_template(&Actor::named("test"), Seen::Nothing, new).await.unwrap();

    // The link of the template leads to a form that asks for its variables, with the message beside it.
    let edit = client.page("/settings/templates/edit?key=due").await;
    assert!(edit.contains("href=\"/outbox/new?template=due\""), "{edit}");
    let form = client.page("/outbox/new?template=due").await;
    for name in ["/template", "/locale", "/context/document", "/context/owner/name"] {
        assert!(form.contains(&format!("name=\"{name}\"")), "{name}: {form}");
    }
    assert!(form.contains("[document] expires") && form.contains("Without a value: document, owner.name."));
    let of_template = with(&MESSAGE, &[("/from", "template"), ("/template", "due")]);
    let filled = with(&of_template, &[("/context/document", "Licence"), ("/locale", "de")]);
    let preview = client.act("/outbox/preview", &filled).await.text;
    assert!(
        preview.contains("Licence läuft ab") && preview.contains("Bitte [owner.name] fragen."),
        "{preview}"
    );

    // Every value that is missing is named at its field; nothing is stored.
    let refused = client.act("/outbox/save", &of_template).await;
    refused_at(&refused, "f-context-document");
    refused_at(&refused, "f-context-owner-name");
    let refused = client.act("/outbox/save", &filled).await;
    refused_at(&refused, "f-context-owner-name");
    assert!(refused.text.contains("value=\"Licence\"") && refused.text.contains("owner.name is missing."));
    refused_at(&client.act("/outbox/save", &with(&MESSAGE, &[("/from", "template")])).await, "f-template");
    let two_lines = [("/context/document", "Licence\nnow"), ("/context/owner/name", "Ben")];
    refused_at(&client.act("/outbox/save", &with(&of_template, &two_lines)).await, "f-template");
    assert!(bed.notifications().await.is_empty());

    let filled = with(&filled, &[("/context/owner/name", "Ben"), ("/replyTo", "desk@example.org")]);
    work_of(&client.act("/outbox/save", &filled).await);
    bed.run_for(1).await;
    let sent = bed.sent().remove(0);
    assert_eq!((sent.subject.as_str(), sent.body.as_str()), ("Licence läuft ab", "Bitte Ben fragen."));
    assert_eq!(sent.html.as_deref(), Some("<p>Bitte Ben fragen.</p>"));

    // It has no subject of its own: it is called by its template wherever it stands.
    let two = [("/to", "targets"), ("/targets", "ann@example.org\nben@example.org")];
    let later = with(&with(&filled, &two), &[("/sendAt", "2026-05-20T09:00")]);
    work_of(&client.act("/outbox/save", &later).await);
    let planned = client.page("/work").await;
    assert!(planned.contains("Message from template due to ann@example.org and others"), "{planned}");
    let lost = with(&with(&filled, &two), &[("/channel", "no:such")]);
    assert_eq!(client.act("/outbox/save", &lost).await.status, 303);
    bed.run_for(1).await;
    let parked = bed.notifications().await.into_iter().find(|row| row.status.as_str() == "parked").unwrap();
    let row = format!("{}:{}", parked.id, parked.version);
    let asked = client.act("/outbox/confirm", &[("action", "retry"), ("row", &row)]).await.text;
    assert!(asked.contains("<span class=\"item-title\">From template due</span>"), "{asked}");
    for path in ["/", "/outbox?status=parked", "/outbox.csv?status=parked", "/search?q=ann%40example.org"] {
        assert!(client.page(path).await.contains("From template due"), "{path}");
    }
    bed.leaves_open("one is planned");
}

async fn a_message_for_a_channel_that_does_not_exist_is_taken_with_a_warning(bed: TestBed) {
    let client = Client::admin(&bed).await;
    let other = [("/to", "targets"), ("/targets", "+4915112345678"), ("/channel", "sms:nowhere")];
    let reply = client.act("/outbox/save", &with(&MESSAGE, &other)).await;
    let place = reply.headers["location"].to_str().unwrap().to_owned();
    let page = client.page(&place).await;
    assert!(page.contains("There is no such channel yet: the message is parked until it is made."), "{page}");
    bed.run_for(1).await;
    assert_eq!(bed.notifications().await[0].reason_code.as_deref(), Some("no-channel"));
}

async fn what_is_wrong_with_a_message_stands_at_its_field(bed: TestBed) {
    let client = Client::admin(&bed).await;
    let refused = async |other: &[(&str, &str)], id: &str| {
        let reply = client.act("/outbox/save", &with(&MESSAGE, other)).await;
        refused_at(&reply, id);
        assert!(reply.text.contains("Until noon.") || other.iter().any(|(name, _)| *name == "/body"));
    };
    refused(&[("/subject", "")], "f-subject").await;
    refused(&[("/channel", "mail")], "f-channel").await;
    refused(&[("/to", "targets"), ("/targets", "nobody")], "f-targets").await;
    refused(&[("/list", "")], "f-list").await;
    refused(&[("/sendAt", "2020-01-01T00:00")], "f-sendAt").await;
    refused(&[("/sendAt", "soon")], "f-sendAt").await;
    refused(&[("/businessUnit", "nowhere")], "f-businessUnit").await;
    bed.run_for(60).await;
    assert!(bed.sent().is_empty() && bed.notifications().await.is_empty());
}

async fn a_schedule_is_planned_by_hand_and_moved_by_its_key(bed: TestBed) {
    let client = Client::admin(&bed).await;
    assert!(client.page("/work").await.contains("href=\"/work/new\""));
    assert!(client.page("/work/new").await.contains("name=\"/topic\""));
    let fields = [
        ("version", ""),
        ("/topic", "invoices.close"),
        ("/runAt", "2026-05-20T09:00"),
        ("/payload", "{\"month\": 4}"),
        ("/key", "close-4"),
    ];
    let work = work_of(&client.act("/work/save", &fields).await);
    let row = bed.work("schedule:close-4").await;
    assert_eq!((row.id, row.due_at), (work, at("2026-05-20T09:00:00Z")));
    let moved = client.act("/work/save", &with(&fields, &[("/runAt", "2026-05-21T09:00")])).await;
    assert_eq!(work_of(&moved), work);
    assert_eq!(bed.work("schedule:close-4").await.due_at, at("2026-05-21T09:00:00Z"));
    // Something else under the same key changes nothing.
    let other = client.act("/work/save", &with(&fields, &[("/topic", "invoices.open")])).await;
    assert!(
        other.status == 409 && other.text.contains("There is a schedule of this name already."),
        "{}",
        other.text
    );
    for (wrong, id) in [
        (("/topic", ""), "f-topic"),
        (("/runAt", ""), "f-runAt"),
        (("/payload", "4"), "f-payload"),
        (("/timeZone", "Europe/Berln"), "f-timeZone"),
    ] {
        refused_at(&client.act("/work/save", &with(&fields, &[wrong, ("/key", "other")])).await, id);
    }
    bed.leaves_open("a schedule is planned");
}

fn at(instant: &str) -> jiff::Timestamp {
    instant.parse().unwrap()
}

async fn who_may_not_write_sees_no_form(bed: TestBed) {
    let client = Client::admin(&bed).await;
    let operator = client.with_key(&[Scope::Read, Scope::Operate], None).await;
    for (list, form, save) in
        [("/outbox", "/outbox/new", "/outbox/save"), ("/work", "/work/new", "/work/save")]
    {
        assert!(!operator.page(list).await.contains(&format!("href=\"{form}\">New")));
        operator.get(form).await.refused(403, "scope_missing");
        operator.act(save, &MESSAGE).await.refused(403, "scope_missing");
    }
    // Whoever is limited to business units writes in the first of them, and in no other.
    let author = client.with_key(&[Scope::Read, Scope::Author], Some(&["nz"])).await;
    let to = [("/to", "targets"), ("/targets", "ann@example.org")];
    let work = work_of(&author.act("/outbox/save", &with(&MESSAGE, &to)).await);
    assert_eq!(bed.work_by_id(work).await.business_unit.as_deref(), Some("nz"));
    let other = with(&with(&MESSAGE, &to), &[("/businessUnit", "de")]);
    assert!(![200, 303].contains(&author.act("/outbox/save", &other).await.status));
    bed.run_for(1).await;
}
