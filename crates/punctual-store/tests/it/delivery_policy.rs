//! The statements of the delivery policy.

use punctual_store::delivery_policy::{
    circuits::{self, CircuitKey, HOSTS_KEPT},
    days::{self, Day},
    digests::{self, DigestItem, DigestOf},
    limiters::{self, LimiterRow},
    preferences, standing,
};
use punctual_testkit::{TestBed, on_both};

on_both! {
    a_limiter_is_made_locked_and_written;
    a_circuit_opens_is_probed_by_one_and_closes;
    the_circuits_of_the_newest_hosts_are_kept;
    what_people_want_is_found_by_their_addresses;
    messages_of_a_day_are_counted_for_each_person;
    what_was_held_back_is_kept_once_and_forgotten;
    what_a_node_must_know_comes_at_once;
}

async fn a_limiter_is_made_locked_and_written(bed: TestBed) {
    let keys = vec!["channel:a".to_owned(), "provider:b".to_owned()];
    let mut tx = bed.begin().await;
    let rows = limiters::lock(&mut tx.conn(), bed.now(), keys.clone()).await.unwrap();
    assert_eq!(
        rows.iter().map(|row| (row.key.as_str(), row.state.as_str())).collect::<Vec<_>>(),
        [("channel:a", "[]"), ("provider:b", "[]")]
    );
    let written: Vec<LimiterRow> =
        rows.iter().map(|row| LimiterRow { state: "[1]".into(), ..row.clone() }).collect();
    limiters::put(&mut tx.conn(), bed.now(), &written).await.unwrap();
    tx.commit().await.unwrap();
    let mut reader = bed.read().await;
    assert_eq!(limiters::read(&mut reader.conn(), keys).await.unwrap(), written);
}

async fn a_circuit_opens_is_probed_by_one_and_closes(bed: TestBed) {
    let mut tx = bed.begin().await;
    let (now, key) = (bed.now(), CircuitKey::of_channel("sms:a"));
    assert!(circuits::open(&mut tx.conn(), now, &key, bed.after(30), "503").await.unwrap());
    assert!(!circuits::open(&mut tx.conn(), now, &key, bed.after(99), "504").await.unwrap());
    assert!(!circuits::probe(&mut tx.conn(), bed.after(29), &key, bed.after(90)).await.unwrap());
    assert!(circuits::probe(&mut tx.conn(), bed.after(30), &key, bed.after(90)).await.unwrap());
    assert!(!circuits::probe(&mut tx.conn(), bed.after(31), &key, bed.after(90)).await.unwrap());
    assert!(
        circuits::probe(&mut tx.conn(), bed.after(90), &key, bed.after(150)).await.unwrap(),
        "the node that probed is gone"
    );
    assert!(circuits::reopen(&mut tx.conn(), &key, 2, bed.after(120), "505").await.unwrap());
    let rows = standing(&mut tx.conn()).await.unwrap();
    assert_eq!(
        (rows.len(), rows[0].what.as_str(), rows[0].open_count, rows[0].text.as_str()),
        (1, "circuit", 2, "505")
    );
    assert_eq!((rows[0].open_until, rows[0].probe_until), (bed.after(120), None));
    assert!(circuits::close(&mut tx.conn(), &key).await.unwrap());
    assert!(!circuits::close(&mut tx.conn(), &key).await.unwrap());
}

async fn the_circuits_of_the_newest_hosts_are_kept(bed: TestBed) {
    let mut tx = bed.begin().await;
    let host = |n: usize| CircuitKey { channel: "webhook:a".into(), host: Some(format!("{n}.example")) };
    let own = CircuitKey::of_channel("webhook:a");
    assert!(circuits::open(&mut tx.conn(), bed.now(), &own, bed.after(1), "503").await.unwrap());
    for n in 0..HOSTS_KEPT + 5 {
        let until = bed.after(60 + i64::try_from(n).unwrap());
        assert!(circuits::open(&mut tx.conn(), bed.now(), &host(n), until, "timed out").await.unwrap());
    }
    assert_eq!(circuits::count(&mut tx.conn()).await.unwrap(), i64::try_from(HOSTS_KEPT).unwrap() + 1);
    assert!(!circuits::close(&mut tx.conn(), &host(4)).await.unwrap(), "the oldest are gone");
    assert!(circuits::close(&mut tx.conn(), &host(5)).await.unwrap());
    assert!(circuits::close(&mut tx.conn(), &own).await.unwrap(), "the channel's own circuit is not counted");
    assert!(circuits::close_all(&mut tx.conn(), &own.channel).await.unwrap() > 0);
    assert_eq!(circuits::close_all(&mut tx.conn(), &own.channel).await.unwrap(), 0);
}

async fn what_people_want_is_found_by_their_addresses(bed: TestBed) {
    let mut tx = bed.begin().await;
    for (person, addresses) in [("ann", vec!["ann@x.example", "+491"]), ("bob", vec!["bob@x.example"])] {
        let row = preferences::lock(&mut tx.conn(), bed.now(), person).await.unwrap();
        assert_eq!((row.version, row.definition.as_str()), (0, "{}"));
        let addresses = addresses.into_iter().map(str::to_owned).collect();
        preferences::put(&mut tx.conn(), bed.now(), person, r#"{"locale":"de"}"#, addresses).await.unwrap();
    }
    let asked = ["+491", "bob@x.example", "nobody@x.example"].map(str::to_owned).to_vec();
    let mut found = preferences::by_addresses(&mut tx.conn(), asked).await.unwrap();
    found.sort_by(|a, b| a.address.cmp(&b.address));
    assert_eq!(found.iter().map(|row| row.person.as_str()).collect::<Vec<_>>(), ["ann", "bob"]);
    assert_eq!(preferences::owner(&mut tx.conn(), "ann@x.example").await.unwrap().as_deref(), Some("ann"));
    // An address moves to whoever says last that it is theirs; what is left out is theirs no longer.
    preferences::lock(&mut tx.conn(), bed.now(), "bob").await.unwrap();
    preferences::put(&mut tx.conn(), bed.now(), "bob", "{}", vec!["+491".into()]).await.unwrap();
    assert_eq!(preferences::owner(&mut tx.conn(), "+491").await.unwrap().as_deref(), Some("bob"));
    assert_eq!(preferences::owner(&mut tx.conn(), "bob@x.example").await.unwrap(), None);
    let page = preferences::page(&mut tx.conn(), "ann", 10).await.unwrap();
    assert_eq!((page.len(), page[0].person.as_str(), page[0].version), (1, "bob", 2));
    assert!(preferences::delete(&mut tx.conn(), "bob").await.unwrap());
    assert!(!preferences::delete(&mut tx.conn(), "bob").await.unwrap());
    assert_eq!(preferences::owner(&mut tx.conn(), "+491").await.unwrap(), None);
}

fn day(person: &str, local_date: &str) -> Day {
    Day { person: person.into(), local_date: local_date.into() }
}

async fn messages_of_a_day_are_counted_for_each_person(bed: TestBed) {
    let mut tx = bed.begin().await;
    let counted = [(day("ann", "2026-05-14"), 3), (day("bob", "2026-05-14"), 1)];
    days::count(&mut tx.conn(), &counted).await.unwrap();
    let mut rows =
        days::count(&mut tx.conn(), &[(day("ann", "2026-05-14"), -1), (day("ann", "2026-05-15"), 1)])
            .await
            .unwrap();
    rows.sort_by(|a, b| a.local_date.cmp(&b.local_date));
    assert_eq!(rows.iter().map(|row| row.sent).collect::<Vec<_>>(), [2, 1]);
    assert_eq!(days::forget(&mut tx.conn(), "2026-05-15").await.unwrap(), 2);
    assert!(days::count(&mut tx.conn(), &[]).await.unwrap().is_empty());
}

async fn what_was_held_back_is_kept_once_and_forgotten(bed: TestBed) {
    let item = |n: i64| DigestItem {
        person: "ann".into(),
        local_date: "2026-05-14".into(),
        notification_id: n.to_string(),
        target: "ann@x.example".into(),
        channel: "email:default".into(),
        subject: format!("S {n}"),
        body: "B".into(),
        work_id: None,
        business_unit: None,
        held_at: bed.now(),
    };
    let of_nz = DigestItem { business_unit: Some("nz".into()), ..item(4) };
    let mut tx = bed.begin().await;
    digests::keep(&mut tx.conn(), bed.now(), &[item(1), item(2), of_nz.clone()]).await.unwrap();
    digests::keep(&mut tx.conn(), bed.now(), &[item(2), item(3)]).await.unwrap();
    let of = |person: &str, unit: Option<&str>| DigestOf {
        person: person.into(),
        local_date: "2026-05-14".into(),
        business_unit: unit.map(str::to_owned),
    };
    let wanted = [of("ann", None), of("bob", None)];
    assert_eq!(digests::of(&mut tx.conn(), &wanted).await.unwrap(), [item(1), item(2), item(3)]);
    assert_eq!(digests::of(&mut tx.conn(), &[of("ann", Some("nz"))]).await.unwrap(), [of_nz]);
    assert_eq!(digests::forget(&mut tx.conn(), "2026-05-15").await.unwrap(), 4);
}

async fn what_a_node_must_know_comes_at_once(bed: TestBed) {
    let mut tx = bed.begin().await;
    assert!(standing(&mut tx.conn()).await.unwrap().is_empty(), "most installations have none");
    punctual_store::facts::put(&mut tx.conn(), bed.now(), punctual_store::delivery_policy::SETTINGS, "{}")
        .await
        .unwrap();
    preferences::lock(&mut tx.conn(), bed.now(), "ann").await.unwrap();
    circuits::open(&mut tx.conn(), bed.now(), &CircuitKey::of_channel("sms:a"), bed.after(30), "503")
        .await
        .unwrap();
    let rows = standing(&mut tx.conn()).await.unwrap();
    assert_eq!(
        rows.iter().map(|row| row.what.as_str()).collect::<Vec<_>>(),
        ["settings", "preferences", "circuit"]
    );
}
