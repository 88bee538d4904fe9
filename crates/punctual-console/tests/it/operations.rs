//! The calendar of events and tasks: what it shows, the form, and the repair of what is out of step.

use jiff::Timestamp;
use punctual_engine::Actor;
use punctual_model::{Random, Reach};
use punctual_store::operations::{
    people::{self, PersonRow},
    rules,
};
use punctual_testkit::{TestBed, on_both};
use punctual_wire::keys::Scope;
use punctual_workflows::operations::{
    SubjectType,
    commands::{self, NewSubject},
};

use crate::{
    browser::{Stage, on_sqlite, walk},
    client::{Client, attribute, rows},
    editors_browser::{choose, forgive_refusals},
    settings_browser::fill,
};

on_both! {
    a_calendar_shows_the_month_the_week_and_a_list;
    an_event_is_made_and_changed_with_a_form;
    an_event_says_which_of_its_people_are_not_known;
    a_form_with_faults_comes_back_with_what_was_entered;
    one_event_shows_its_messages_and_what_was_sent;
    what_is_out_of_step_is_shown_and_repaired;
    messages_are_added_paused_and_removed;
    who_may_only_read_has_no_buttons;
}

pub async fn person(bed: &TestBed, id: &str) {
    let row = PersonRow {
        id: id.into(),
        name: id.to_uppercase(),
        email: Some(format!("{id}@example.org")),
        time_zone: None,
        locale: None,
        channels: r#"["email"]"#.into(),
        addresses: "{}".into(),
        business_unit: None,
        updated_at: Timestamp::UNIX_EPOCH,
    };
    let mut tx = bed.begin().await;
    people::put(&mut tx.conn(), bed.now(), &Reach::Everything, &row).await.unwrap();
    tx.commit().await.unwrap();
}

pub fn event(bed: &TestBed, title: &str, start: &str, hours: i64) -> NewSubject {
    let start: Timestamp = start.parse().unwrap();
    NewSubject {
        id: bed.random.ordered_uuid(bed.now()).to_string(),
        subject_type: SubjectType::Event,
        title: title.into(),
        start_at: Some(start),
        end_at: Some(start + jiff::SignedDuration::from_hours(hours)),
        is_all_day: false,
        creator: "ann".into(),
        people: vec!["ben".into()],
        organisation: None,
        time_zone: None,
        business_unit: punctual_engine::OwnUnit::default(),
        ical_uid: None,
        ical_series: None,
        location: None,
        description: None,
    }
}

pub async fn put(bed: &TestBed, new: NewSubject) -> String {
    commands::create(&bed.engine, &Actor::named("test"), std::slice::from_ref(&new)).await.unwrap();
    new.id
}

/// Some weeks of a small company: sent, to come, whole days, tasks, one long, one out of step.
async fn month(bed: &TestBed) -> String {
    for id in ["ann", "ben"] {
        person(bed, id).await;
    }
    let first = put(bed, event(bed, "Stand-up", "2026-05-14T05:30:00Z", 1)).await;
    bed.run_for(3_600).await;
    for (title, start, hours) in [
        ("Planning", "2026-05-15T07:00:00Z", 2),
        ("Review with the plant in Leuna, all shifts", "2026-05-20T07:00:00Z", 1),
        ("Retrospective", "2026-05-20T09:00:00Z", 1),
        ("Lunch talk", "2026-05-20T10:00:00Z", 1),
        ("Interview", "2026-05-20T12:00:00Z", 1),
        ("Handover", "2026-05-20T13:00:00Z", 1),
    ] {
        put(bed, event(bed, title, start, hours)).await;
    }
    let mut fair = event(bed, "Trade fair", "2026-05-26T00:00:00Z", 48);
    fair.is_all_day = true;
    put(bed, fair).await;
    let mut task = event(bed, "Inventory", "2026-05-22T06:00:00Z", 8);
    task.subject_type = SubjectType::Task;
    put(bed, task).await;
    bed.faults.fail_every("work.insert_absent", false, 1);
    put(bed, event(bed, "Board meeting", "2026-05-28T06:00:00Z", 3)).await;
    bed.faults.heal();
    bed.leaves_open("weeks to come");
    first
}

async fn a_calendar_shows_the_month_the_week_and_a_list(bed: TestBed) {
    let client = Client::admin(&bed).await;
    assert!(client.page("/operations").await.contains("Nothing in these days yet."));
    assert!(client.page("/operations?view=list").await.contains("Nothing in these days"));
    month(&bed).await;
    let page = client.page("/operations").await;
    assert!(page.contains("9 events and 1 task in May, 1 out of step, the next message in "), "{page}");
    assert!(page.contains("May 2026") && page.contains("1 more"), "{page}");
    assert_eq!(page.matches("Trade fair</span>").count(), 3, "each of its days");
    let week = client.page("/operations?view=week&on=2026-05-20").await;
    assert!(
        week.contains("18 May – 24 May 2026") && week.contains("Handover") && !week.contains("Planning"),
        "{week}"
    );
    let list = client.page("/operations?view=list&on=2026-05-14").await;
    assert_eq!(rows(&list).len(), 10);
    assert!(list.contains("Wed 20 May 2026, 07:00") && list.contains("Tue 26 May 2026, all day"), "{list}");
    let other = client.page("/operations?view=month&on=2026-07-01").await;
    assert!(other.contains("July 2026") && other.contains("0 events and 0 tasks in July."), "{other}");
    // Nonsense in the address is no fault of anybody.
    client.page("/operations?view=year&on=yesterday").await;
}

async fn an_event_says_which_of_its_people_are_not_known(bed: TestBed) {
    let client = Client::admin(&bed).await;
    let id = put(&bed, event(&bed, "Board meeting", "2026-05-28T06:00:00Z", 3)).await;
    let path = format!("/operations/events/{id}");
    let page = client.page(&format!("{path}?done=created")).await;
    assert!(page.contains("Nobody is notified: none of its people is known."), "{page}");
    assert!(page.contains("2 of its people are not known and get nothing"), "{page}");
    assert!(page.contains("Saved.") && !page.contains("Its people will be notified"), "{page}");
    // The button leads to a form with the name that the event has for them.
    assert!(page.contains("href=\"/operations/people/new?id=ben\">Add ben</a>"), "{page}");
    let form = client.page("/operations/people/new?id=ben").await;
    assert!(form.contains("name=\"id\" value=\"ben\""), "{form}");
    person(&bed, "ann").await;
    let page = client.page(&path).await;
    assert!(page.contains("One of its people is not known and gets nothing"), "{page}");
    assert!(page.contains("Its people are notified"), "{page}");
    person(&bed, "ben").await;
    assert!(!client.page(&path).await.contains("not known"));
    bed.leaves_open("an event is planned");
}

async fn an_event_is_made_and_changed_with_a_form(bed: TestBed) {
    person(&bed, "ann").await;
    person(&bed, "ben").await;
    let client = Client::admin(&bed).await;
    let cookie = client.cookie().unwrap();
    client.set_cookie(Some(format!("{cookie}; punctual-zone=Europe%2FBerlin")));
    assert!(
        client.page("/operations/new?type=event&on=2026-05-15").await.contains("value=\"2026-05-15T09:00\"")
    );
    let fields = [
        ("/type", "event"),
        ("/title", "Planning"),
        ("/days", "no"),
        ("/startDate/at", "2026-05-15T09:00"),
        ("/endDate/at", ""),
        ("/creator", "ann"),
        ("/participants?rows", "2"),
        ("/participants/0", "ben"),
        ("/participants/1", ""),
        ("/messages", "usual"),
    ];
    let made = client.act("/operations/save", &fields).await;
    let place = made.headers["location"].to_str().unwrap().to_owned();
    assert!(made.status == 303 && place.ends_with("?done=created"), "{place}");
    let page = client.page(&place).await;
    assert!(
        page.contains("Saved. Its people will be notified.") && page.contains("15 May 2026, 09:00:00 Berlin"),
        "{page}"
    );
    let path = place.split('?').next().unwrap();
    let id = path.rsplit('/').next().unwrap();
    let key = format!("events/{id}");
    let own = async || {
        rules::of_subjects(&mut bed.read().await.conn(), &Reach::Everything, vec![id.to_owned()])
            .await
            .unwrap()
    };
    assert_eq!(own().await.len(), 1, "at the start; there is no end");
    let form = client.page(&format!("{path}/edit")).await;
    for shown in [
        "name=\"/startDate/at\" type=\"datetime-local\" value=\"2026-05-15T09:00\"",
        "name=\"/participants/0\" value=\"ben\"",
        "name=\"/rules/0/rule/type\"",
        // What would be sent.
        "<h3>Starts: Planning</h3>",
        "Planning starts Fri 15 May 2026, 07:00 (UTC).",
    ] {
        assert!(form.contains(shown), "{shown}: {form}");
    }
    let version = attribute(&form, "name=\"version\" value=\"");
    let rule = own().await[0].id.clone();
    let changed = [
        ("known", key.as_str()),
        ("version", version.as_str()),
        ("/id", key.as_str()),
        ("/type", "event"),
        ("/title", "Planning"),
        ("/days", "yes"),
        ("/startDate/day", "2026-05-16"),
        ("/endDate/day", ""),
        ("/creator", "ann"),
        ("/participants?rows", "0"),
        ("/messages", "own"),
        ("/rules?rows", "2"),
        ("/rules/0/id", rule.as_str()),
        ("/rules/0/rule/type", "at_subject_date"),
        ("/rules/0/rule/anchor", "start"),
        ("/rules/0/channels", "email"),
        ("/rules/1/rule/type", "relative"),
        ("/rules/1/rule/anchor", "start"),
        ("/rules/1/rule/offset", "-24h"),
        ("/rules/1/channels", "email"),
        ("/rules/1/message/subject", "Tomorrow: {{ title }}"),
    ];
    client.act("/operations/save", &changed).await.leads_to(&format!("{path}?done=saved"));
    let mut now = own().await;
    now.sort_by(|a, b| a.occurrence.cmp(&b.occurrence));
    let at: Vec<_> = now.iter().map(|rule| rule.occurrence.as_deref().unwrap()).collect();
    assert_eq!(at, ["20260515T120000Z", "20260516T120000Z"]);
    assert!(now.iter().any(|one| one.id == rule), "it is the same rule, moved");
    let page = client.page(path).await;
    assert!(page.contains("Sat 16 May 2026, all day") && page.contains("Tomorrow: {{ title }}"), "{page}");

    // Somebody else was faster, with a message of it too: it is named, and nothing was lost.
    let stale = client.act("/operations/save", &changed).await;
    assert_eq!(stale.status, 409, "{}", stale.text);
    assert!(stale.text.contains("Somebody else has changed this event meanwhile"), "{}", stale.text);
    let version = attribute(&stale.text, "name=\"version\" value=\"");
    // A message that is not in the form any more goes.
    let mut fewer: Vec<(&str, &str)> =
        changed.iter().copied().filter(|(name, _)| !name.starts_with("/rules/1")).collect();
    fewer.iter_mut().for_each(|pair| match pair.0 {
        "version" => pair.1 = version.as_str(),
        "/rules?rows" => pair.1 = "1",
        _ => {}
    });
    client.act("/operations/save", &fewer).await.leads_to(&format!("{path}?done=saved"));
    assert_eq!(own().await.len(), 1);
    client.act("/operations/delete", &[("key", &key)]).await.leads_to("/operations?done=removed");
    client.get(path).await.refused(404, "not_found");
    client.act("/operations/delete", &[("key", &key)]).await.refused(404, "not_found");
}

async fn a_form_with_faults_comes_back_with_what_was_entered(bed: TestBed) {
    person(&bed, "ann").await;
    let client = Client::admin(&bed).await;
    let fields = [
        ("/type", "event"),
        ("/title", "<b>Plan</b>"),
        ("/days", "no"),
        ("/startDate/at", "2026-05-15T09:00"),
        ("/endDate/at", "2026-05-14T09:00"),
        ("/creator", "ann"),
    ];
    let reply = client.act("/operations/save", &fields).await;
    assert_eq!(reply.status, 422);
    assert!(reply.text.contains("Ends (UTC) is before Starts (UTC)"), "{}", reply.text);
    assert!(reply.text.contains("value=\"&#60;b&#62;Plan&#60;/b&#62;\""), "{}", reply.text);
    let fields = [("/type", "task"), ("/title", ""), ("/days", "no"), ("/startDate/at", "soon")];
    let reply = client.act("/operations/save", &fields).await;
    for fault in [
        "Title is missing",
        "Creator is missing",
        "name=\"/startDate/at\" type=\"datetime-local\" value=\"soon\" aria-invalid=\"true\"",
    ] {
        assert!(reply.text.contains(fault), "{fault}: {}", reply.text);
    }
    // Messages are refused at their fields: all of it or nothing.
    let fields = [
        ("/type", "event"),
        ("/title", "Plan"),
        ("/days", "no"),
        ("/startDate/at", "2026-05-15T09:00"),
        ("/creator", "ann"),
        ("/messages", "own"),
        ("/rules?rows", "2"),
        ("/rules/0/rule/type", "at_subject_date"),
        ("/rules/0/rule/anchor", "end"),
        ("/rules/0/channels", "email"),
        ("/rules/1/rule/type", "relative"),
        ("/rules/1/rule/anchor", "start"),
        ("/rules/1/rule/offset", "-1h"),
        ("/rules/1/channels", "email"),
    ];
    let reply = client.act("/operations/save", &fields).await;
    assert!(reply.status == 422 && reply.text.contains("There is no such date"), "{}", reply.text);
    assert!(reply.text.contains("href=\"#f-rules-0-rule-anchor\""), "{}", reply.text);
    let wrong = fields.map(|(name, value)| match name {
        "/rules/0/rule/anchor" => (name, "start"),
        "/rules/1/rule/offset" => (name, "soon"),
        _ => (name, value),
    });
    let reply = client.act("/operations/save", &wrong).await;
    assert!(reply.status == 422 && reply.text.contains("“soon” is no offset"), "{}", reply.text);
    assert!(!client.page("/operations?view=list&on=2026-05-14").await.contains(">Plan<"));
}

async fn one_event_shows_its_messages_and_what_was_sent(bed: TestBed) {
    let id = month(&bed).await;
    let client = Client::admin(&bed).await;
    let page = client.page(&format!("/operations/events/{id}")).await;
    for expected in [
        "Its people are notified in 30 min.",
        "At the start",
        "At the end",
        "ann@example.org, ben@example.org",
        "<span class=\"pill good\">sent</span>",
        "<span class=\"pill good\">delivered</span>",
        "<span class=\"pill neutral\">scheduled</span>",
    ] {
        assert!(page.contains(expected), "{expected}: {page}");
    }
    client.get("/operations/events/none").await.refused(404, "not_found");
    client.get(&format!("/operations/tasks/{id}")).await.refused(404, "not_found");
    client.get(&format!("/operations/things/{id}")).await.refused(404, "not_found");
}

async fn what_is_out_of_step_is_shown_and_repaired(bed: TestBed) {
    month(&bed).await;
    let client = Client::admin(&bed).await;
    let attention = client.page("/attention").await;
    assert!(attention.contains("Out of step") && attention.contains("Board meeting"), "{attention}");
    let link = crate::client::attribute(&attention, "href=\"/operations/events/");
    let path = format!("/operations/events/{link}");
    let page = client.page(&path).await;
    assert!(
        page.contains("some messages could not be scheduled")
            && page.contains("injected failure at work.insert_absent"),
        "{page}"
    );
    let rule = crate::client::attribute(&page, "name=\"rule\" value=\"");
    client.act("/operations/repair", &[("rule", &rule)]).await.leads_to(&format!("{path}?done=repaired"));
    assert!(client.page(&format!("{path}?done=repaired")).await.contains("The rule is in step again."));
    client.act("/operations/repair", &[("rule", "none")]).await.refused(404, "not_found");
}

async fn messages_are_added_paused_and_removed(bed: TestBed) {
    person(&bed, "ann").await;
    let id = put(&bed, event(&bed, "Planning", "2026-05-20T07:00:00Z", 1)).await;
    let client = Client::admin(&bed).await;
    let path = format!("/operations/events/{id}");
    let act = async |fields: &[(&str, &str)]| {
        let all: Vec<_> =
            [("id", id.as_str()), ("type", "event")].into_iter().chain(fields.iter().copied()).collect();
        client.act("/operations/rule", &all).await
    };
    act(&[("action", "add"), ("when", "-24h"), ("anchor", "start")])
        .await
        .leads_to(&format!("{path}?done=added"));
    act(&[("action", "add"), ("when", "08:00"), ("anchor", "start")])
        .await
        .leads_to(&format!("{path}?done=added"));
    act(&[("action", "add"), ("when", "at"), ("anchor", "start")]).await.refused(409, "state_not_allowed");
    act(&[("action", "add"), ("when", "never"), ("anchor", "start")]).await.refused(422, "duration_invalid");
    let page = client.page(&path).await;
    assert!(
        page.contains("24h before the start") && page.contains("At 08:00 on the day of the start"),
        "{page}"
    );
    let own =
        rules::of_subjects(&mut bed.read().await.conn(), &Reach::Everything, vec![id.clone()]).await.unwrap();
    act(&[("action", "pause"), ("rule", &own[0].id)]).await.leads_to(&format!("{path}?done=paused"));
    assert!(client.page(&path).await.contains("<span class=\"pill muted\">paused</span>"));
    act(&[("action", "resume"), ("rule", &own[0].id)]).await.leads_to(&format!("{path}?done=resumed"));
    for rule in &own {
        act(&[("action", "remove"), ("rule", &rule.id)]).await.leads_to(&format!("{path}?done=removed"));
    }
    assert!(client.page(&path).await.contains("No messages."));
}

async fn who_may_only_read_has_no_buttons(bed: TestBed) {
    let id = month(&bed).await;
    let admin = Client::admin(&bed).await;
    let reader = admin.with_key(&[Scope::Read], None).await;
    let page = reader.page(&format!("/operations/events/{id}")).await;
    assert!(
        !page.contains("/operations/save")
            && !page.contains("/operations/delete")
            && !page.contains("/operations/rule"),
        "{page}"
    );
    assert!(!reader.page("/operations").await.contains("New event"));
    reader.get("/operations/new").await.refused(403, "scope_missing");
    let fields = [("/type", "event"), ("/title", "x"), ("/creator", "ann")];
    reader.act("/operations/save", &fields).await.refused(403, "scope_missing");
    let key = format!("events/{id}");
    reader.act("/operations/delete", &[("key", &key)]).await.refused(403, "scope_missing");
    reader.act("/operations/rule", &[("id", &id), ("type", "event")]).await.refused(403, "scope_missing");
    reader.act("/operations/repair", &[("rule", "x")]).await.refused(403, "scope_missing");
    let other = admin.with_key(&[Scope::Read, Scope::Author], Some(&["nz"])).await;
    // What belongs to no unit is the installation's.
    other.get(&format!("/operations/events/{id}")).await.refused(404, "not_found");
    other.act("/operations/delete", &[("key", &key)]).await.refused(404, "not_found");
}

/// On SQLite alone: the browser sees no database.
#[test]
fn a_calendar_is_read_and_an_event_is_made_in_a_browser() {
    on_sqlite(async |bed| {
        let id = month(&bed).await;
        let mut stage = Stage::on(&bed).await;
        stage.sign_in().await;
        let (one, edit) = (format!("/operations/events/{id}"), format!("/operations/events/{id}/edit"));
        let pages = [
            ("operations-month", "/operations?on=2026-05-14"),
            ("operations-week", "/operations?view=week&on=2026-05-20"),
            ("operations-list", "/operations?view=list&on=2026-05-14"),
            ("operations-event", one.as_str()),
            ("operations-form", edit.as_str()),
        ];
        walk(&mut stage, "busy", &pages).await;

        // Made by hand: the form, then a message a day before, then a look at the calendar.
        stage.open("/operations").await;
        stage.browser.follow("a[href='/operations/new?type=event']").await;
        fill(&mut stage, "/title", "Summer party").await;
        let date =
            |name: &str, at: &str| format!("document.querySelector('[name=\"{name}\"]').value = '{at}'");
        stage.browser.eval(&date("/startDate/at", "2026-05-29T18:00")).await;
        stage.browser.eval(&date("/endDate/at", "2026-05-29T17:00")).await;
        // A person is found by name.
        fill(&mut stage, "/creator", "an").await;
        stage.browser.until("[...document.querySelector('[name=\"/creator\"]').list.options].some((one) => one.value === 'ann')").await;
        fill(&mut stage, "/creator", "ann").await;
        stage.browser.follow("#edit .form-acts .primary").await;
        assert!(stage.texts(".entry-field .fault").await[0].contains("is before Starts ("));
        stage.browser.is_in("/endDate/at").await;
        assert_eq!(
            stage.browser.eval("document.querySelector('[name=\"/title\"]').value").await,
            "Summer party"
        );
        stage.browser.eval(&date("/endDate/at", "2026-05-29T23:00")).await;
        // Another person, and messages of its own with words of their own; beside them stands what they will say.
        stage.browser.follow("button[name=do][value='add /participants']").await;
        stage.browser.is_in("/participants/0").await;
        stage.browser.write("ben").await;
        choose(&mut stage, "/messages", "own").await;
        stage.browser.follow("button[name=do][value='add /rules']").await;
        fill(&mut stage, "/rules/2/message/subject", "Tomorrow: {{ title }}").await;
        stage.browser.until("[...document.querySelectorAll('.shown h3')].some((one) => one.textContent === 'Tomorrow: Summer party')").await;
        stage.browser.picture("operations-new-1280-light").await;
        stage.browser.follow("#edit .form-acts .primary").await;
        assert_eq!(stage.texts(".notice").await, ["Saved. Its people will be notified."]);
        assert!(stage.texts("#main .item-title").await.contains(&"24h before the start".to_owned()));
        assert_eq!(stage.texts("section[aria-labelledby=people] .item-title").await.len(), 2);
        stage.open("/operations?on=2026-05-29").await;
        assert!(stage.texts(".entry-title").await.contains(&"Summer party".to_owned()));

        // What is out of step is repaired with a click.
        stage.browser.follow("nav a[href='/attention']").await;
        stage.browser.follow("a[href^='/operations/events/']").await;
        stage.browser.follow("form[action='/operations/repair'] button").await;
        assert_eq!(stage.texts(".notice").await, ["The rule is in step again."]);

        // Seen to send: the words of its own, a day before.
        bed.run_for(14 * 86_400 + 6 * 3_600).await;
        assert!(bed.sent().iter().any(|sent| sent.subject == "Tomorrow: Summer party"));
        forgive_refusals(&mut stage);
        stage.finish();
    });
}
