//! The tables of reminders: settings by version, states and counts in sets, progress, and what is planned.

use jiff::Timestamp;
use punctual_model::{InputHash, NewWork, Reach, Trigger, WorkKey};
use punctual_store::{
    reminders::{
        changes::{self, ChangeRow},
        children::{self, ChildRow, Parent},
        reconciliations,
        sends::{self, SentRow},
        settings::{self, SettingRow},
        states::{self, StateRow},
    },
    sources::{self, SourceChange},
    work,
};
use punctual_testkit::{TestBed, new_work, on_both};

on_both! {
    a_setting_is_found_by_what_it_is_about_and_changed_by_version;
    states_are_written_in_sets_and_fire_once;
    children_are_summed_by_parent;
    progress_is_kept_by_key;
    sources_are_walked_by_id_and_by_change;
    rows_of_sources_and_rows_that_are_over_are_found_again;
    what_a_setting_has_sent_is_listed_newest_first_and_forgotten_by_age;
}

fn setting(id: &str, source_type: &str, child_type: Option<&str>) -> SettingRow {
    SettingRow {
        id: id.into(),
        name: "n".into(),
        business_unit: None,
        source_type: source_type.into(),
        child_type: child_type.map(str::to_owned),
        kind: "dateBased".into(),
        active: true,
        deleted: false,
        definition: "{}".into(),
        key_base: None,
        version: 1,
        created_at: Timestamp::UNIX_EPOCH,
        updated_at: Timestamp::UNIX_EPOCH,
    }
}

async fn a_setting_is_found_by_what_it_is_about_and_changed_by_version(bed: TestBed) {
    let mut tx = bed.begin().await;
    let conn = &mut tx.conn();
    for row in [setting("a", "document", None), setting("b", "class", Some("booking"))] {
        assert!(settings::insert(conn, bed.now(), &row).await.unwrap());
        assert!(!settings::insert(conn, bed.now(), &row).await.unwrap());
    }
    let of_types = async |conn: &mut punctual_store::Conn<'_>, kind: &str| {
        let rows = settings::of_types(conn, vec![kind.to_owned()]).await.unwrap();
        rows.into_iter().map(|row| row.id).collect::<Vec<_>>()
    };
    assert_eq!(of_types(conn, "document").await, ["a"]);
    assert_eq!(of_types(conn, "booking").await, ["b"]);
    assert_eq!(of_types(conn, "class").await, ["b"]);
    let mut row = settings::by_ids(conn, &Reach::Everything, vec!["a".into(), "a".into(), "none".into()])
        .await
        .unwrap()
        .remove(0);
    assert_eq!((row.version, row.created_at), (1, bed.now()));
    row.active = false;
    assert!(settings::update(conn, bed.after(1), &row).await.unwrap());
    assert!(!settings::update(conn, bed.after(1), &row).await.unwrap(), "the version has moved on");
    row.version = 2;
    row.deleted = true;
    assert!(settings::update(conn, bed.after(2), &row).await.unwrap());
    assert!(of_types(conn, "document").await.is_empty());
    assert_eq!(settings::page(conn, &punctual_model::Reach::Everything, "", 10).await.unwrap().len(), 1);
    assert_eq!(
        settings::by_ids(conn, &Reach::Everything, vec!["a".into()]).await.unwrap()[0].version,
        3,
        "history still names it"
    );
    assert!(settings::of_type(conn, &Reach::Everything, "document").await.unwrap().is_empty());
}

async fn states_are_written_in_sets_and_fire_once(bed: TestBed) {
    let state = |source: &str, met: bool, crossing: i64| StateRow {
        setting_id: "s".into(),
        source_id: source.into(),
        metric: "/booked".into(),
        scope: "all".into(),
        met,
        crossing,
        fired: false,
        value: Some("0.9".into()),
    };
    let mut tx = bed.begin().await;
    let conn = &mut tx.conn();
    states::put(conn, bed.now(), &[state("2", true, 1), state("1", true, 1), state("3", false, 0)])
        .await
        .unwrap();
    states::put(conn, bed.now(), &[state("1", true, 2)]).await.unwrap();
    states::put(conn, bed.now(), &[]).await.unwrap();
    let key = |source: &str| ("s".to_owned(), source.to_owned(), "/booked".to_owned(), "all".to_owned());
    states::fire(conn, bed.now(), &[key("1"), key("none")]).await.unwrap();
    let mut found = states::of(conn, &[("s", "1"), ("s", "2"), ("s", "9")]).await.unwrap();
    found.sort_by(|a, b| a.source_id.cmp(&b.source_id));
    let shown: Vec<_> = found.iter().map(|row| (row.source_id.as_str(), row.crossing, row.fired)).collect();
    assert_eq!(shown, [("1", 2, true), ("2", 1, false)]);
    let met = states::met(conn, "s", "1", 10).await.unwrap();
    assert_eq!(met.iter().map(|row| row.source_id.as_str()).collect::<Vec<_>>(), ["2"]);
}

async fn children_are_summed_by_parent(bed: TestBed) {
    let child = |id: &str, parent: &str, amount: i64| ChildRow {
        setting_id: "s".into(),
        child_id: id.into(),
        parent_id: parent.into(),
        amount_millionths: amount,
        business_unit: None,
    };
    let parent = |id: &'static str, unit: Option<&'static str>| Parent {
        setting_id: "s",
        parent_id: id,
        business_unit: unit,
    };
    let mut tx = bed.begin().await;
    let conn = &mut tx.conn();
    children::put(conn, &[child("a", "1", 5), child("b", "1", 7), child("c", "2", 1)]).await.unwrap();
    children::put(conn, &[child("b", "2", 8)]).await.unwrap();
    children::delete(conn, &[("s", "none")]).await.unwrap();
    let mut sums =
        children::sums(conn, vec![parent("1", None), parent("2", None), parent("3", None)]).await.unwrap();
    sums.sort_by(|a, b| a.parent_id.cmp(&b.parent_id));
    let shown: Vec<_> = sums.iter().map(|row| (row.parent_id.as_str(), row.total_millionths)).collect();
    assert_eq!(shown, [("1", 5), ("2", 9)]);
    assert_eq!(children::of(conn, &[("s", "b")]).await.unwrap(), [child("b", "2", 8)]);
    children::delete(conn, &[("s", "a")]).await.unwrap();
    assert!(children::sums(conn, vec![parent("1", None)]).await.unwrap().is_empty());
    let of_unit = |id: &str, unit: &str| ChildRow { business_unit: Some(unit.into()), ..child(id, "2", 100) };
    children::put(conn, &[of_unit("d", "de"), of_unit("n", "nz")]).await.unwrap();
    for (unit, total) in [(None, 9), (Some("de"), 109), (Some("nz"), 109), (Some("fr"), 9)] {
        let sums = children::sums(conn, vec![parent("2", unit)]).await.unwrap();
        assert_eq!(sums[0].total_millionths, total, "{unit:?}");
    }
}

async fn progress_is_kept_by_key(bed: TestBed) {
    let mut tx = bed.begin().await;
    let conn = &mut tx.conn();
    assert_eq!(changes::get(conn, "k").await.unwrap(), None);
    let row = ChangeRow { key: "k".into(), after_id: "7".into(), created: 3, ..ChangeRow::default() };
    changes::put(conn, bed.now(), &ChangeRow { key: "k".into(), ..ChangeRow::default() }).await.unwrap();
    changes::put(conn, bed.now(), &row).await.unwrap();
    assert_eq!(changes::get(conn, "k").await.unwrap(), Some(row));
    reconciliations::put(conn, bed.now(), "dateBased", bed.after(-5), "{}").await.unwrap();
    reconciliations::put(conn, bed.after(1), "dateBased", bed.after(-4), "{}").await.unwrap();
    let all = reconciliations::all(conn).await.unwrap();
    assert_eq!((all.len(), all[0].watermark, all[0].last_run_at), (1, bed.after(-4), bed.after(1)));
}

async fn sources_are_walked_by_id_and_by_change(bed: TestBed) {
    let change = |kind: &str, id: &str, unit: Option<&str>| SourceChange {
        source_type: kind.into(),
        source_id: id.into(),
        business_unit: unit.map(str::to_owned),
        active: true,
        deleted: id == "3",
        state: "{}".into(),
        sequence: None,
        occurred_at: bed.now(),
    };
    let mut tx = bed.begin().await;
    let conn = &mut tx.conn();
    assert!(sources::types(conn, &Reach::Everything).await.unwrap().is_empty());
    sources::put(
        conn,
        bed.now(),
        &punctual_model::Reach::Everything,
        &[change("a", "1", None), change("a", "2", Some("nz"))],
    )
    .await
    .unwrap();
    sources::put(
        conn,
        bed.after(5),
        &punctual_model::Reach::Everything,
        &[change("a", "3", Some("nz")), change("b", "1", None)],
    )
    .await
    .unwrap();
    assert_eq!(sources::types(conn, &Reach::Everything).await.unwrap(), ["a", "b"]);
    let ids = |rows: Vec<sources::SourceRow>| rows.into_iter().map(|row| row.source_id).collect::<Vec<_>>();
    for held in [true, false] {
        assert_eq!(ids(sources::walk(conn, "a", "1", None, 10, held).await.unwrap()), ["2", "3"]);
        assert_eq!(ids(sources::walk(conn, "a", "", Some("nz"), 1, held).await.unwrap()), ["2"]);
    }
    let start = bed.now().as_microsecond();
    let until = bed.after(5).as_microsecond();
    assert_eq!(ids(sources::changed(conn, (start, "a", "1"), until, 10).await.unwrap()), ["2", "3", "1"]);
    assert_eq!(
        ids(sources::changed(conn, (start, "z", ""), until - 1, 10).await.unwrap()),
        Vec::<String>::new()
    );
    assert_eq!(
        sources::within(conn, &punctual_model::Reach::Everything, &[("a", "1"), ("b", "1"), ("b", "9")])
            .await
            .unwrap()
            .len(),
        2
    );
}

async fn rows_of_sources_and_rows_that_are_over_are_found_again(bed: TestBed) {
    let row = |source: &str, offset: i64, seconds: i64| {
        let key = WorkKey::reminder_date("s", "document", source, "k", "2026-06-20".parse().unwrap(), offset)
            .unwrap();
        NewWork {
            input_hash: InputHash::of_fields(&[("key", key.as_str().into())]),
            key,
            kind: "reminder",
            trigger: Trigger::DateBased,
            business_unit: None,
            source: Some(("document".into(), source.into())),
            setting_id: Some("s".into()),
            due_at: bed.after(seconds),
            local: Some(("2026-06-13".into(), "UTC".into())),
            input: "{}".into(),
        }
    };
    bed.ensure(&[row("1", 7, 60), row("2", 7, 120)]).await;
    let mut tx = bed.begin().await;
    let conn = &mut tx.conn();
    let (over, known) = (row("1", 30, -60), row("1", 7, 60));
    let inserted = work::insert_ended(conn, bed.now(), "due-in-past", &[&over, &known]).await.unwrap();
    assert_eq!(inserted.iter().map(|row| row.key.as_str()).collect::<Vec<_>>(), [over.key.as_str()]);
    let mut found =
        work::of_sources(conn, "reminder", &[("document", "1"), ("document", "9")]).await.unwrap();
    found.sort_by_key(|row| row.due_at);
    let shown: Vec<_> = found.iter().map(|row| (row.status.as_str(), row.reason_code.as_deref())).collect();
    assert_eq!(shown, [("deactivated", Some("due-in-past")), ("pending", None)]);
    assert!(work::of_sources(conn, "message", &[("document", "1")]).await.unwrap().is_empty());
    assert_eq!(work::of_source(conn, &Reach::Everything, "document", "1", 10).await.unwrap().len(), 2);
    let (from, to) = (bed.now().as_microsecond(), bed.after(121).as_microsecond());
    let ahead =
        work::ahead(conn, &Reach::Everything, "reminder", from, to, (i64::MIN, i64::MIN), 10).await.unwrap();
    assert_eq!(ahead.len(), 2);
    let after = (ahead[0].ready_at.as_microsecond(), ahead[0].id);
    assert_eq!(
        work::ahead(conn, &Reach::Everything, "reminder", from, to, after, 10).await.unwrap().len(),
        1
    );
    tx.commit().await.unwrap();
    bed.leaves_open("what was planned");
}

async fn what_a_setting_has_sent_is_listed_newest_first_and_forgotten_by_age(bed: TestBed) {
    let row = |n: usize| NewWork {
        business_unit: (n == 4).then(|| "nz".to_owned()),
        ..new_work("message", &format!("message:m{n}"), bed.after(60))
    };
    bed.leaves_open("what is listed");
    let rows: Vec<NewWork> = (0..5).map(row).collect();
    bed.ensure(&rows).await;
    let mut tx = bed.begin().await;
    let conn = &mut tx.conn();
    let keys = rows.iter().map(|row| row.key.as_str().to_owned()).collect();
    let mut ids: Vec<i64> =
        work::by_keys(conn, &Reach::Everything, keys).await.unwrap().iter().map(|row| row.id).collect();
    ids.sort_unstable();
    sends::put(conn, bed.after(1), &[("s", ids[0]), ("s", ids[1]), ("other", ids[2])]).await.unwrap();
    sends::put(conn, bed.after(1), &[("s", ids[0])]).await.unwrap();
    sends::put(conn, bed.after(2), &[("s", ids[3]), ("s", ids[4])]).await.unwrap();
    let numbers = |rows: &[SentRow]| rows.iter().map(|row| row.work_id).collect::<Vec<_>>();
    let first = sends::page(conn, &Reach::Everything, "s", None, 3).await.unwrap();
    assert_eq!(numbers(&first.rows), [ids[4], ids[3], ids[1]]);
    let rest = sends::page(conn, &Reach::Everything, "s", first.next, 3).await.unwrap();
    assert_eq!((numbers(&rest.rows), rest.next), (vec![ids[0]], None));
    let limited = Reach::limited_to(Some(vec!["nz".into()]));
    let own = sends::page(conn, &limited, "s", None, 3).await.unwrap();
    assert_eq!((numbers(&own.rows), own.next), (vec![ids[4]], None));
    assert_eq!(sends::forget(conn, bed.after(2), 2).await.unwrap(), 2);
    assert_eq!(sends::forget(conn, bed.after(2), 2).await.unwrap(), 1);
    let left = sends::page(conn, &Reach::Everything, "s", None, 3).await.unwrap();
    assert_eq!(numbers(&left.rows), [ids[4], ids[3]]);
}
