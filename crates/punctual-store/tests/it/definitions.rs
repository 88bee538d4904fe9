//! The statements of what people define: lists, channels, templates, business units, sources, messages, facts.

use jiff::Timestamp;
use punctual_model::{Json, Reach};
use punctual_store::{
    business_units::{self, BusinessUnitRow},
    channels::{self, ChannelRow},
    facts,
    lists::{self, ListRow},
    messages::{self, MessageRow},
    sources::{self, SourceChange},
    templates::{self, TemplateRow},
};
use punctual_testkit::{TestBed, on_both};

on_both! {
    lists_are_put_found_paged_and_removed;
    channels_are_put_with_a_rising_version;
    templates_are_put_with_a_rising_version;
    a_template_is_found_as_it_was_at_a_moment;
    business_units_are_put_found_paged_and_removed;
    an_older_state_of_a_source_never_overwrites_a_newer_one;
    sources_are_paged_without_the_deleted_ones;
    locked_sources_are_the_ones_that_exist;
    messages_are_kept_once;
    facts_are_put_and_read;
}

async fn lists_are_put_found_paged_and_removed(bed: TestBed) {
    let row = |name: &str, targets: &str| ListRow {
        name: name.into(),
        kind: "email".into(),
        channel: "email:default".into(),
        targets: targets.into(),
        business_unit: Some("nz".into()),
        updated_at: bed.now(),
    };
    let mut tx = bed.begin().await;
    for list in [row("ops", "[]"), row("admins", "[]"), row("ops", r#"["a@example.org"]"#)] {
        lists::put(&mut tx.conn(), bed.now(), &Reach::Everything, &list).await.unwrap();
    }
    let found = lists::named(&mut tx.conn(), vec!["ops".into(), "no".into()]).await.unwrap();
    assert_eq!(found.get(Some("nz"), "ops"), Some(&row("ops", r#"["a@example.org"]"#)));
    assert_eq!(found.get(Some("nz"), "no"), None);
    let shared = ListRow { business_unit: None, ..row("shared", "[]") };
    lists::put(&mut tx.conn(), bed.now(), &Reach::Everything, &shared).await.unwrap();
    let found = lists::named(&mut tx.conn(), vec!["shared".into()]).await.unwrap();
    assert_eq!(found.get(Some("nz"), "shared"), Some(&shared), "one without a unit is everybody's");
    assert_eq!(found.get(None, "shared"), Some(&shared));
    assert!(lists::delete(&mut tx.conn(), "shared").await.unwrap());
    let of_de = ListRow { business_unit: Some("de".into()), ..row("of-de", "[]") };
    lists::put(&mut tx.conn(), bed.now(), &Reach::Everything, &of_de).await.unwrap();
    let found = lists::named(&mut tx.conn(), vec!["of-de".into()]).await.unwrap();
    assert!(found.get(Some("de"), "of-de").is_some());
    assert_eq!((found.get(Some("nz"), "of-de"), found.get(None, "of-de")), (None, None));
    let nz = Reach::limited_to(Some(vec!["nz".into()]));
    assert_eq!(lists::get(&mut tx.conn(), &nz, "of-de").await.unwrap(), None);
    assert!(lists::get(&mut tx.conn(), &nz, "ops").await.unwrap().is_some());
    assert!(lists::delete(&mut tx.conn(), "of-de").await.unwrap());
    let names = |rows: Vec<ListRow>| rows.into_iter().map(|row| row.name).collect::<Vec<_>>();
    assert_eq!(
        names(lists::page(&mut tx.conn(), &punctual_model::Reach::Everything, "", 10).await.unwrap()),
        ["admins", "ops"]
    );
    assert_eq!(
        names(lists::page(&mut tx.conn(), &punctual_model::Reach::Everything, "admins", 1).await.unwrap()),
        ["ops"]
    );
    assert!(lists::delete(&mut tx.conn(), "ops").await.unwrap());
    assert!(!lists::delete(&mut tx.conn(), "ops").await.unwrap());
}

async fn channels_are_put_with_a_rising_version(bed: TestBed) {
    let mut row = ChannelRow {
        key: "sms:x".into(),
        adapter: "memory".into(),
        settings: r#"{"a":1}"#.into(),
        retry: "{}".into(),
        at_most_once: true,
        policy: r#"{"timeZone":"UTC"}"#.into(),
        version: 1,
        updated_at: bed.now(),
    };
    let mut tx = bed.begin().await;
    channels::put(&mut tx.conn(), bed.now(), &row).await.unwrap();
    assert_eq!(channels::get(&mut tx.conn(), "sms:x").await.unwrap(), Some(row.clone()));
    (row.at_most_once, row.adapter) = (false, "webhook".into());
    channels::put(&mut tx.conn(), bed.now(), &row).await.unwrap();
    row.version = 2;
    assert_eq!(channels::get(&mut tx.conn(), "sms:x").await.unwrap(), Some(row));
    let keys: Vec<String> =
        channels::all(&mut tx.conn()).await.unwrap().into_iter().map(|row| row.key).collect();
    assert_eq!(keys, ["email:default", "sms:x"]);
    assert!(channels::delete(&mut tx.conn(), "sms:x").await.unwrap());
    assert!(!channels::delete(&mut tx.conn(), "sms:x").await.unwrap());
    assert_eq!(channels::get(&mut tx.conn(), "sms:x").await.unwrap(), None);
    let row = channels::get(&mut tx.conn(), "email:default").await.unwrap().unwrap();
    assert!(channels::reseal(&mut tx.conn(), &row, r#"{"a":1}"#).await.unwrap());
    let resealed = ChannelRow { settings: r#"{"a":1}"#.into(), ..row.clone() };
    assert_eq!(
        channels::get(&mut tx.conn(), "email:default").await.unwrap(),
        Some(resealed),
        "no new version"
    );
    let stale = ChannelRow { version: row.version + 1, ..row };
    assert!(!channels::reseal(&mut tx.conn(), &stale, "{}").await.unwrap());
}

async fn templates_are_put_with_a_rising_version(bed: TestBed) {
    let mut row = TemplateRow {
        name: "welcome".into(),
        default_locale: "en".into(),
        variants: "{}".into(),
        version: 1,
        updated_at: bed.now(),
    };
    let mut tx = bed.begin().await;
    templates::put(&mut tx.conn(), bed.now(), &row).await.unwrap();
    assert_eq!(templates::by_names(&mut tx.conn(), vec!["welcome".into()]).await.unwrap(), [row.clone()]);
    row.default_locale = "ar".into();
    templates::put(&mut tx.conn(), bed.now(), &row).await.unwrap();
    row.version = 2;
    assert_eq!(templates::page(&mut tx.conn(), "", 10).await.unwrap(), [row]);
    assert!(templates::page(&mut tx.conn(), "welcome", 10).await.unwrap().is_empty());
    assert!(templates::by_names(&mut tx.conn(), Vec::new()).await.unwrap().is_empty());
    assert!(templates::delete(&mut tx.conn(), "welcome").await.unwrap());
    assert!(!templates::delete(&mut tx.conn(), "welcome").await.unwrap());
}

async fn a_template_is_found_as_it_was_at_a_moment(bed: TestBed) {
    let row = |text: &str| TemplateRow {
        name: "welcome".into(),
        default_locale: "en".into(),
        variants: text.into(),
        version: 0,
        updated_at: Timestamp::UNIX_EPOCH,
    };
    let mut tx = bed.begin().await;
    let conn = &mut tx.conn();
    for (at, text) in [(0, "first"), (100, "second"), (200, "third")] {
        templates::put(conn, bed.after(at), &row(text)).await.unwrap();
    }
    for (at, expected) in [(-1, None), (0, Some("first")), (150, Some("second")), (999, Some("third"))] {
        let found = templates::in_force(conn, "welcome", bed.after(at)).await.unwrap();
        assert_eq!(found.as_ref().map(|found| found.variants.as_str()), expected, "{at}");
    }
    assert_eq!(templates::in_force(conn, "welcome", bed.after(150)).await.unwrap().unwrap().version, 2);
    // What was replaced before that moment goes; what was in force then and what came after stays.
    assert_eq!(templates::forget_versions(conn, bed.after(150)).await.unwrap(), 1);
    assert_eq!(templates::in_force(conn, "welcome", bed.after(50)).await.unwrap(), None);
    assert!(templates::in_force(conn, "welcome", bed.after(150)).await.unwrap().is_some());
    assert!(templates::delete(conn, "welcome").await.unwrap());
    assert!(
        templates::in_force(conn, "welcome", bed.after(999)).await.unwrap().is_some(),
        "it was sent with"
    );
    assert_eq!(templates::forget_versions(conn, bed.after(999)).await.unwrap(), 2);
}

async fn business_units_are_put_found_paged_and_removed(bed: TestBed) {
    let row = |id: &str, zone: &str| BusinessUnitRow {
        id: id.into(),
        name: "New Zealand".into(),
        time_zone: zone.into(),
        updated_at: bed.now(),
        ..BusinessUnitRow::default()
    };
    let mut tx = bed.begin().await;
    for unit in [row("nz", "UTC"), row("de", "Europe/Berlin"), row("nz", "Pacific/Auckland")] {
        business_units::put(&mut tx.conn(), bed.now(), &unit).await.unwrap();
    }
    let found = business_units::by_ids(&mut tx.conn(), vec!["nz".into()]).await.unwrap();
    assert_eq!(found, [row("nz", "Pacific/Auckland")]);
    assert!(business_units::by_ids(&mut tx.conn(), Vec::new()).await.unwrap().is_empty());
    assert_eq!(
        business_units::page(&mut tx.conn(), &punctual_model::Reach::Everything, "", 1).await.unwrap(),
        [row("de", "Europe/Berlin")]
    );
    assert!(business_units::delete(&mut tx.conn(), "nz").await.unwrap());
    assert!(!business_units::delete(&mut tx.conn(), "nz").await.unwrap());
}

fn change(bed: &TestBed, id: &str, state: &str, sequence: Option<i64>, seconds: i64) -> SourceChange {
    SourceChange {
        source_type: "document".into(),
        source_id: id.into(),
        business_unit: Some("nz".into()),
        active: true,
        deleted: false,
        state: state.into(),
        sequence,
        occurred_at: bed.after(seconds),
    }
}

async fn an_older_state_of_a_source_never_overwrites_a_newer_one(bed: TestBed) {
    // What is put, whether it is taken, and the state afterwards.
    let story = [
        (Some(5), 0, true),
        (Some(4), 100, false),
        (Some(5), 100, false),
        (Some(6), -100, true),
        (None, -200, false),
        (None, -100, true),
        (Some(7), -300, true),
    ];
    let mut expected = String::new();
    for (n, (sequence, seconds, taken)) in story.into_iter().enumerate() {
        let state = format!(r#"{{"n":{n}}}"#);
        let mut tx = bed.begin().await;
        let reported = [change(&bed, "42", &state, sequence, seconds)];
        let answer = sources::put(&mut tx.conn(), bed.now(), &punctual_model::Reach::Everything, &reported)
            .await
            .unwrap();
        tx.commit().await.unwrap();
        assert_eq!(answer.len(), usize::from(taken), "step {n}");
        if taken {
            expected = state;
        }
        let row = sources::get(&mut bed.read().await.conn(), &Reach::Everything, "document", "42")
            .await
            .unwrap()
            .unwrap();
        assert_eq!(row.state, expected, "step {n}");
    }
    let row = sources::get(&mut bed.read().await.conn(), &Reach::Everything, "document", "42")
        .await
        .unwrap()
        .unwrap();
    assert_eq!((row.version, row.sequence), (4, Some(7)));
    assert_eq!(
        sources::get(&mut bed.read().await.conn(), &Reach::Everything, "document", "43").await.unwrap(),
        None
    );
}

async fn sources_are_paged_without_the_deleted_ones(bed: TestBed) {
    let mut tx = bed.begin().await;
    let mut gone = change(&bed, "b", "{}", None, 0);
    (gone.deleted, gone.active) = (true, false);
    let changes = [change(&bed, "a", "{}", None, 0), gone, change(&bed, "c", "{}", None, 0)];
    assert_eq!(
        sources::put(&mut tx.conn(), bed.now(), &punctual_model::Reach::Everything, &changes)
            .await
            .unwrap()
            .len(),
        3
    );
    let ids = |rows: Vec<sources::SourceRow>| rows.into_iter().map(|row| row.source_id).collect::<Vec<_>>();
    assert_eq!(
        ids(sources::page(&mut tx.conn(), &punctual_model::Reach::Everything, "document", "", 10)
            .await
            .unwrap()),
        ["a", "c"]
    );
    assert_eq!(
        ids(sources::page(&mut tx.conn(), &punctual_model::Reach::Everything, "document", "a", 1)
            .await
            .unwrap()),
        ["c"]
    );
    assert!(
        sources::page(&mut tx.conn(), &punctual_model::Reach::Everything, "invoice", "", 10)
            .await
            .unwrap()
            .is_empty()
    );
}

async fn locked_sources_are_the_ones_that_exist(bed: TestBed) {
    let mut tx = bed.begin().await;
    sources::put(
        &mut tx.conn(),
        bed.now(),
        &punctual_model::Reach::Everything,
        &[change(&bed, "a", "{}", None, 0), change(&bed, "b", "{}", None, 0)],
    )
    .await
    .unwrap();
    let locked = sources::lock(&mut tx.conn(), &[("document", "b"), ("document", "no"), ("document", "a")])
        .await
        .unwrap();
    assert_eq!(locked.into_iter().map(|row| row.source_id).collect::<Vec<_>>(), ["a", "b"]);
}

async fn messages_are_kept_once(bed: TestBed) {
    let row = |id: &str, subject: &str| MessageRow {
        id: id.into(),
        channel: Some("sms:x".into()),
        list_name: None,
        targets: Some(Json::stored(r#"["a"]"#)),
        subject: subject.into(),
        body: "b".into(),
        html: None,
        template: None,
        locale: Some("en".into()),
        context: Some(Json::stored("{}")),
        type_data: None,
        attachments: Some(Json::stored("[]")),
        envelope: None,
        client: Some("shop".into()),
        business_unit: None,
        handling: Some(r#"{"topic":"news"}"#.into()),
        send_at: Timestamp::from_microsecond(5).unwrap(),
        created_at: bed.now(),
    };
    let mut tx = bed.begin().await;
    assert_eq!(
        messages::insert(&mut tx.conn(), bed.now(), &[&row("a", "1"), &row("b", "1")]).await.unwrap(),
        2
    );
    assert_eq!(
        messages::insert(&mut tx.conn(), bed.now(), &[&row("a", "2"), &row("c", "2")]).await.unwrap(),
        1
    );
    assert_eq!(
        messages::by_ids(&mut tx.conn(), &Reach::Everything, vec!["a".into(), "no".into()]).await.unwrap(),
        [row("a", "1")]
    );
    assert!(messages::by_ids(&mut tx.conn(), &Reach::Everything, Vec::new()).await.unwrap().is_empty());
}

async fn facts_are_put_and_read(bed: TestBed) {
    let mut tx = bed.begin().await;
    assert_eq!(facts::get(&mut tx.conn(), "x").await.unwrap(), None);
    facts::put(&mut tx.conn(), bed.now(), "x", "1").await.unwrap();
    facts::put(&mut tx.conn(), bed.now(), "x", "2").await.unwrap();
    assert_eq!(facts::get(&mut tx.conn(), "x").await.unwrap().as_deref(), Some("2"));
    facts::keep(&mut tx.conn(), bed.now(), "kept", "first").await.unwrap();
    facts::keep(&mut tx.conn(), bed.now(), "kept", "second").await.unwrap();
    assert_eq!(facts::get(&mut tx.conn(), "kept").await.unwrap().as_deref(), Some("first"));
    facts::forget(&mut tx.conn(), "kept").await.unwrap();
    assert_eq!(facts::get(&mut tx.conn(), "kept").await.unwrap(), None);
}
