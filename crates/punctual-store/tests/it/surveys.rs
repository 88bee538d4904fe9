//! The statements of surveys: versions, instances by hash, answers, subscribers and the outbox, on both databases.

use jiff::Timestamp;
use punctual_model::{NotificationStatus, Reach, survey::InstanceStatus};
use punctual_store::{
    Tx,
    outbox::{self, About, NewDelivery, NewEvent},
    subscribers::{self, SubscriberRow},
    survey_instances::{self, Change, InstanceFilter, NewInstance},
    survey_responses::{self, NewResponse},
    survey_results::{self, Counted},
    surveys::{self, SurveyDraft},
};
use punctual_testkit::{TestBed, on_both};

use crate::plans::{check, fill, many};

on_both! {
    versions_are_pinned_and_the_published_one_is_found;
    a_hash_is_taken_once_and_free_again_after_a_soft_delete;
    instances_are_settled_opened_completed_and_walked;
    subscribers_are_put_with_a_rising_version;
    an_event_is_kept_once_and_its_deliveries_have_their_state;
    instances_are_found_by_index_among_a_hundred_thousand;
    results_are_counted_over_the_index_by_survey;
}

fn draft(name: &str, unit: Option<&str>) -> SurveyDraft {
    SurveyDraft {
        name: name.into(),
        integration_id: Some("csi".into()),
        business_unit: unit.map(str::to_owned),
        draft: "{}".into(),
    }
}

fn new(bed: &TestBed, id: &str, hash: &str) -> NewInstance {
    NewInstance {
        public_id: id.into(),
        survey_id: 1,
        version_id: 1,
        trigger_id: "t".into(),
        triggered_by: "event:x".into(),
        triggered_at: bed.now(),
        business_unit: None,
        customer_ref: Some("c".into()),
        metadata: r#"{"a":1}"#.into(),
        channel: "memory:default".into(),
        recipient_address: "a".into(),
        recipient_locale: None,
        next_send_at: bed.now(),
        reminders_remaining: 2,
        unique_hash: hash.into(),
    }
}

async fn versions_are_pinned_and_the_published_one_is_found(bed: TestBed) {
    let now = bed.now();
    let mut tx = bed.begin().await;
    let one = surveys::insert(&mut tx.conn(), now, &draft("one", Some("nz"))).await.unwrap();
    let two = surveys::insert(&mut tx.conn(), now, &draft("two", None)).await.unwrap();
    assert_eq!((one.id, two.id, one.published_version), (1, 2, None));
    assert!(surveys::published(&mut tx.conn()).await.unwrap().is_empty());
    let first = surveys::publish(&mut tx.conn(), now, 1, 1, r#"{"v":1}"#, "key:x").await.unwrap();
    let second = surveys::publish(&mut tx.conn(), now, 1, 2, r#"{"v":2}"#, "key:x").await.unwrap();
    let published = surveys::published(&mut tx.conn()).await.unwrap();
    assert_eq!(published.len(), 1);
    assert_eq!((published[0].version_id, published[0].business_unit.as_deref()), (second, Some("nz")));
    let versions = surveys::versions(&mut tx.conn(), vec![first, second, 77]).await.unwrap();
    let texts: Vec<&str> = versions.iter().map(|version| version.schema_json.as_str()).collect();
    assert_eq!(texts, [r#"{"v":1}"#, r#"{"v":2}"#]);
    assert_eq!(surveys::version(&mut tx.conn(), 1, 1).await.unwrap().unwrap().id, first);
    let changed = surveys::update(&mut tx.conn(), now, 1, &draft("other", None)).await.unwrap().unwrap();
    assert_eq!((changed.name.as_str(), changed.published_version, changed.version), ("other", Some(2), 4));
    let units = Reach::Units(vec!["de".to_owned()]);
    let seen = |rows: Vec<surveys::SurveyRow>| rows.into_iter().map(|row| row.id).collect::<Vec<_>>();
    assert_eq!(seen(surveys::page(&mut tx.conn(), None, &Reach::Everything, 10).await.unwrap()), [2, 1]);
    assert_eq!(seen(surveys::page(&mut tx.conn(), Some(2), &units, 10).await.unwrap()), [1]);
    assert!(surveys::lock(&mut tx.conn(), &Reach::Everything, 7).await.unwrap().is_none());
}

async fn a_hash_is_taken_once_and_free_again_after_a_soft_delete(bed: TestBed) {
    let mut tx = bed.begin().await;
    let (a, b, c) = (new(&bed, "a", "h1"), new(&bed, "b", "h1"), new(&bed, "c", "h2"));
    let ids = |rows: Vec<survey_instances::InsertedInstance>| {
        rows.into_iter().map(|row| row.public_id).collect::<Vec<_>>()
    };
    assert_eq!(ids(survey_instances::insert_absent(&mut tx.conn(), &[&a]).await.unwrap()), ["a"]);
    assert_eq!(ids(survey_instances::insert_absent(&mut tx.conn(), &[&b, &c]).await.unwrap()), ["c"]);
    let hashes = vec!["h1".to_owned(), "h2".to_owned(), "h3".to_owned()];
    let mut holders = survey_instances::by_hashes(&mut tx.conn(), hashes.clone()).await.unwrap();
    holders.sort_by(|a, b| a.unique_hash.cmp(&b.unique_hash));
    assert_eq!(holders.iter().map(|one| one.public_id.as_str()).collect::<Vec<_>>(), ["a", "c"]);
    let row = survey_instances::by_public_id(&mut tx.conn(), &Reach::Everything, "a").await.unwrap().unwrap();
    assert_eq!((row.status.as_str(), row.sends, row.deleted), ("pending", 0, false));
    assert!(survey_instances::delete(&mut tx.conn(), row.id).await.unwrap());
    assert!(!survey_instances::delete(&mut tx.conn(), row.id).await.unwrap());
    assert_eq!(survey_instances::by_hashes(&mut tx.conn(), hashes).await.unwrap().len(), 1);
    assert_eq!(ids(survey_instances::insert_absent(&mut tx.conn(), &[&b]).await.unwrap()), ["b"]);
}

async fn instances_are_settled_opened_completed_and_walked(bed: TestBed) {
    let now = bed.now();
    let mut tx = bed.begin().await;
    let rows = [new(&bed, "a", "h1"), new(&bed, "b", "h2")];
    survey_instances::insert_absent(&mut tx.conn(), &rows.iter().collect::<Vec<_>>()).await.unwrap();
    let change = |id: &str, status: &str| Change {
        public_id: id.into(),
        status: InstanceStatus::parse(status).unwrap(),
        reason: Some("r".into()),
        next_send_at: None,
        last_sent_at: Some(Timestamp::from_microsecond(7).unwrap()),
        sends: 1,
        reminders_remaining: 1,
        finished_at: None,
    };
    survey_instances::settle(&mut tx.conn(), &[change("a", "sent"), change("b", "expired")]).await.unwrap();
    assert!(survey_instances::open(&mut tx.conn(), now, "a").await.unwrap());
    assert!(!survey_instances::open(&mut tx.conn(), now, "a").await.unwrap());
    assert!(!survey_instances::open(&mut tx.conn(), now, "b").await.unwrap());
    let held =
        survey_instances::lock(&mut tx.conn(), vec!["b".into(), "a".into(), "no".into()]).await.unwrap();
    let states: Vec<(&str, Option<Timestamp>)> =
        held.iter().map(|row| (row.status.as_str(), row.last_sent_at)).collect();
    let sent = Some(Timestamp::from_microsecond(7).unwrap());
    assert_eq!(states, [("opened", sent), ("expired", sent)]);
    assert!(survey_instances::complete(&mut tx.conn(), now, held[0].id).await.unwrap());
    assert!(!survey_instances::complete(&mut tx.conn(), now, held[0].id).await.unwrap(), "once");
    assert!(!survey_instances::complete(&mut tx.conn(), now, held[1].id).await.unwrap(), "expired");
    let response = NewResponse {
        instance_id: held[0].id,
        survey_id: 1,
        version_id: 1,
        submission_id: Some("s".into()),
        agent_id: None,
        locale: Some("ar".into()),
        answers: r#"{"rate":7}"#.into(),
    };
    survey_responses::insert(&mut tx.conn(), now, &response, &[("rate".into(), "7".into())]).await.unwrap();
    let stored = survey_responses::by_instance(&mut tx.conn(), held[0].id).await.unwrap().unwrap();
    assert_eq!((stored.submission_id.as_deref(), stored.answers.as_str()), (Some("s"), r#"{"rate":7}"#));
    let walked = survey_instances::walk(&mut tx.conn(), &Reach::Everything, 1, 0, 10).await.unwrap();
    assert_eq!(walked.iter().map(|row| row.answers.is_some()).collect::<Vec<_>>(), [true, false]);
    assert_eq!(
        survey_instances::walk(&mut tx.conn(), &Reach::Everything, 1, walked[0].id, 10).await.unwrap().len(),
        1
    );
    let counts = survey_instances::counts(&mut tx.conn(), &Reach::Everything, 1).await.unwrap();
    assert_eq!(counts.iter().map(|one| one.count).sum::<i64>(), 2);
    let expired = InstanceFilter {
        survey_id: 1,
        status: Some(InstanceStatus::Expired),
        limit: 5,
        ..Default::default()
    };
    assert_eq!(
        survey_instances::list(&mut tx.conn(), &Reach::Everything, &expired).await.unwrap()[0].public_id,
        "b"
    );
}

async fn subscribers_are_put_with_a_rising_version(bed: TestBed) {
    let mut row = SubscriberRow {
        key: "webhook:bi".into(),
        adapter: "memory".into(),
        settings: "{}".into(),
        events: "[]".into(),
        filter: None,
        retry: "{}".into(),
        active: true,
        version: 1,
        updated_at: bed.now(),
    };
    let mut tx = bed.begin().await;
    subscribers::put(&mut tx.conn(), bed.now(), &row).await.unwrap();
    row.active = false;
    row.filter = Some("{}".into());
    subscribers::put(&mut tx.conn(), bed.now(), &row).await.unwrap();
    row.version = 2;
    assert_eq!(subscribers::get(&mut tx.conn(), "webhook:bi").await.unwrap(), Some(row.clone()));
    assert_eq!(subscribers::all(&mut tx.conn()).await.unwrap(), [row]);
    assert!(subscribers::delete(&mut tx.conn(), "webhook:bi").await.unwrap());
    assert!(!subscribers::delete(&mut tx.conn(), "webhook:bi").await.unwrap());
}

async fn an_event_is_kept_once_and_its_deliveries_have_their_state(bed: TestBed) {
    let event = NewEvent {
        event_type: "response-completed".into(),
        about: About::Survey { instance_public_id: "a".into(), survey_id: 1 },
        business_unit: Some("nz".into()),
        payload: "{}".into(),
    };
    let arrived = NewEvent {
        event_type: "schedule.arrived".into(),
        about: About::Work { key: "schedule:nightly".into() },
        business_unit: None,
        payload: "{}".into(),
    };
    let both = [event, arrived];
    let sent = bed.accept_to(&["x"]).await.remove(0);
    bed.tick().await;
    let mut tx = bed.begin().await;
    let inserted = outbox::insert(&mut tx.conn(), bed.now(), &both).await.unwrap();
    let id_of = |about: &str| inserted.iter().find(|event| event.about == about).unwrap().id;
    let id = id_of("a");
    let opened = NewEvent { event_type: "instance-opened".into(), ..both[0].clone() };
    let [first, second] = both;
    let again = outbox::insert(&mut tx.conn(), bed.now(), &[first, second, opened]).await.unwrap();
    assert_eq!(again.len(), 1, "the others were called before");
    assert!(again[0].event_type == "instance-opened" && again[0].id > id);
    let to = |subscriber: &str, notification_id: String| NewDelivery {
        event_id: id,
        subscriber: subscriber.into(),
        notification_id,
    };
    let deliveries = [to("b", "none".into()), to("a", sent)];
    outbox::insert_deliveries(&mut tx.conn(), &deliveries).await.unwrap();
    let found = outbox::deliveries(&mut tx.conn(), vec![id]).await.unwrap();
    let reported: Vec<(&str, Option<&str>, Option<i64>)> = found
        .iter()
        .map(|one| (one.subscriber.as_str(), one.status.map(NotificationStatus::as_str), one.attempts))
        .collect();
    assert_eq!(reported, [("a", Some("delivered"), Some(1)), ("b", None, None)]);
    assert_eq!(
        outbox::get(&mut tx.conn(), &Reach::Everything, id).await.unwrap().unwrap().survey_id,
        Some(1)
    );
    let arrived =
        outbox::get(&mut tx.conn(), &Reach::Everything, id_of("schedule:nightly")).await.unwrap().unwrap();
    assert_eq!(
        (arrived.work_key.as_deref(), arrived.instance_public_id.as_deref()),
        (Some("schedule:nightly"), None)
    );
    assert_eq!(outbox::of_instance(&mut tx.conn(), &Reach::Everything, "a").await.unwrap().len(), 2);
    let seen =
        async |tx: &mut Tx, reach: Reach| outbox::page(&mut tx.conn(), None, &reach, 10).await.unwrap();
    let (nz, de) = (Reach::Units(vec!["nz".to_owned()]), Reach::Units(vec!["de".to_owned()]));
    assert_eq!((seen(&mut tx, nz).await.len(), seen(&mut tx, de).await.len()), (2, 0));
    assert_eq!(seen(&mut tx, Reach::Everything).await.len(), 3, "one without a unit is the installation's");
}

async fn instances_are_found_by_index_among_a_hundred_thousand(bed: TestBed) {
    let rows = many!(
        "survey_instances",
        "public_id, survey_id, version_id, trigger_id, triggered_by, triggered_at, status, metadata, channel, recipient_address, reminders_remaining, unique_hash",
        "'p' || n, n % 50, 1, 't', 'e', n, 'completed', '{}', 'c', 'a', 0, 'h' || n"
    );
    fill(&bed, rows).await;
    for statement in [
        "survey_instances.by_hashes",
        "survey_instances.lock",
        "survey_instances.by_public_id",
        "survey_instances.list",
        "survey_instances.walk",
        "survey_instances.settle",
    ] {
        bed.faults.explain(statement);
    }
    let mut tx = bed.begin().await;
    let hashes = (0..500).map(|n| format!("h{n}")).collect();
    assert_eq!(survey_instances::by_hashes(&mut tx.conn(), hashes).await.unwrap().len(), 499);
    let ids: Vec<String> = (1..200).map(|n| format!("p{n}")).collect();
    assert_eq!(survey_instances::lock(&mut tx.conn(), ids).await.unwrap().len(), 199);
    survey_instances::by_public_id(&mut tx.conn(), &Reach::Everything, "p7").await.unwrap().unwrap();
    let filter = InstanceFilter { survey_id: 7, limit: 50, ..Default::default() };
    assert_eq!(survey_instances::list(&mut tx.conn(), &Reach::Everything, &filter).await.unwrap().len(), 50);
    assert_eq!(
        survey_instances::walk(&mut tx.conn(), &Reach::Everything, 7, 1_000, 100).await.unwrap().len(),
        100
    );
    check(&bed, "survey_instances.by_hashes", "survey_instances_by_hash");
    check(&bed, "survey_instances.lock", "survey_instances_by_public_id");
    check(&bed, "survey_instances.by_public_id", "survey_instances_by_public_id");
    check(&bed, "survey_instances.list", "survey_instances_by_survey");
    check(&bed, "survey_instances.walk", "survey_instances_by_survey");
}

async fn results_are_counted_over_the_index_by_survey(bed: TestBed) {
    let rows = many!(
        "survey_instances",
        "public_id, survey_id, version_id, trigger_id, triggered_by, triggered_at, status, metadata, channel, recipient_address, reminders_remaining, unique_hash, sends, last_sent_at",
        "'p' || n, n % 50, 1, 't' || (n % 3), 'e', CAST(n AS BIGINT) * 1000000, 'completed', '{}', 'c', 'a', 0, 'h' || n, n % 2, CAST(n AS BIGINT) * 1000000"
    );
    let responses = many!(
        "survey_responses",
        "instance_id, survey_id, version_id, answers, completed_at",
        "n, n % 50, 1, '{}', (CAST(n AS BIGINT) + n % 100) * 1000000"
    );
    let answers =
        many!("survey_answers", "response_id, question_id, value", "n, 'rate', CAST(n % 11 AS TEXT)");
    for set in [rows, responses, answers] {
        fill(&bed, set).await;
    }
    let statements = ["instances", "responses", "waits", "answers", "count_texts", "texts"]
        .map(|name| format!("survey_results.{name}"));
    statements.iter().for_each(|statement| bed.faults.explain(statement));
    let mut reader = bed.read().await;
    let conn = &mut reader.conn();
    let all = Counted {
        reach: Reach::Everything,
        survey_id: 7,
        trigger: None,
        from: None,
        to: None,
        ids: Counted::ALL,
    };
    let counted = survey_results::instances(conn, &all).await.unwrap();
    assert_eq!(counted.iter().map(|row| row.count).sum::<i64>(), 2_000);
    assert_eq!(counted.iter().map(|row| row.sent).sum::<i64>(), 2_000, "the odd ones of 7, 57, 107 …");
    let one = Counted {
        trigger: Some("t1".into()),
        from: Some(Timestamp::UNIX_EPOCH),
        to: Some(Timestamp::from_microsecond(50_000_000_000).unwrap()),
        ..all.clone()
    };
    let fewer: i64 = survey_results::instances(conn, &one).await.unwrap().iter().map(|row| row.count).sum();
    assert!(fewer > 300 && fewer < 350, "{fewer}");
    let answered: i64 =
        survey_results::responses(conn, &all).await.unwrap().iter().map(|row| row.count).sum();
    assert_eq!(answered, 2_000);
    // 7 or 57 seconds, one half each.
    let mut waits = survey_results::waits(conn, &all).await.unwrap();
    waits.sort_by_key(|wait| wait.seconds);
    assert_eq!(
        waits.iter().map(|wait| (wait.seconds, wait.count)).collect::<Vec<_>>(),
        [(7, 1_000), (57, 1_000)]
    );
    let values = survey_results::answers(conn, &all, vec!["rate".into(), "none".into()]).await.unwrap();
    assert_eq!((values.len(), values.iter().map(|row| row.count).sum::<i64>()), (11, 2_000));
    assert_eq!(survey_results::count_texts(conn, &all, "rate").await.unwrap(), 2_000);
    assert_eq!(survey_results::texts(conn, &all, "rate", 3).await.unwrap().len(), 3);
    // Pieces add up to all of it: each begins where the one before it ended.
    let (mut before, mut pieces) = (i64::MAX, Vec::new());
    loop {
        let after = survey_instances::nth_before(conn, 7, before, 700).await.unwrap();
        let ids = (after.unwrap_or(i64::MIN), before);
        let rows = survey_results::instances(conn, &Counted { ids, ..all.clone() }).await.unwrap();
        pieces.push(rows.iter().map(|row| row.count).sum::<i64>());
        match after {
            Some(after) => before = after + 1,
            None => break,
        }
    }
    assert_eq!(pieces, [700, 700, 600]);
    for statement in &statements {
        check(&bed, statement, "_by_survey");
    }
}
