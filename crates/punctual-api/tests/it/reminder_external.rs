//! Reconciliation with another system's database: here another installation's own table of sources stands for it.

use std::{sync::Arc, time::Duration};

use punctual_api::ApiState;
use punctual_model::Secret;
use punctual_store::foreign::ForeignDatabase;
use punctual_testkit::{Database, TestBed, on_both};
use punctual_workflows::reminders::{
    Providers,
    external::{External, Mark},
    reconcile,
};
use serde_json::{Value, json};

use crate::{
    client::Client,
    reminders::{first_aid, put_source, rows, setting, unit},
};

on_both! {
    what_changed_there_is_planned_here_and_the_watermark_moves_with_it;
    a_failure_leaves_the_watermark_and_a_repeat_doubles_nothing;
    s0_75_a_look_without_one_of_its_bounds_does_not_start_and_none_goes_beyond_its_window;
    a_newer_state_stays_and_other_units_are_left_out;
    a_watermark_may_be_a_moment;
    a_watermark_may_be_a_text;
}

type Change = fn(&mut External);

fn query(database: Database) -> &'static str {
    match database {
        Database::Sqlite => {
            "SELECT source_id AS id, business_unit, active, deleted, updated_at AS changed_at,
                json_extract(state, '$.kind') AS kind, json_extract(state, '$.expiresOn') AS \"expiresOn\"
             FROM sources WHERE source_type = 'document' AND (updated_at, source_id) > (:since, :after)
                AND COALESCE(json_extract(state, '$.expiresOn'), '') <= CAST(:until AS TEXT)
             ORDER BY updated_at, source_id LIMIT :limit"
        }
        Database::Postgres => {
            "SELECT source_id AS id, business_unit, active, deleted, updated_at AS changed_at,
                state::jsonb ->> 'kind' AS kind, state::jsonb ->> 'expiresOn' AS \"expiresOn\"
             FROM sources WHERE source_type = 'document' AND (updated_at, source_id) > (:since, :after)
                AND COALESCE(state::jsonb ->> 'expiresOn', '') <= CAST(:until AS TEXT)
             ORDER BY updated_at, source_id LIMIT :limit"
        }
    }
}

/// Here, there, and what was changed about how there is checked.
async fn two(bed: TestBed, change: impl FnOnce(&mut External)) -> (TestBed, Client, Client, TestBed) {
    let there = TestBed::on(bed.database()).await;
    let mut external = External {
        name: "documents".into(),
        source_type: "document".into(),
        database: ForeignDatabase::parse(&Secret::new(there.url())).unwrap(),
        query: query(bed.database()).into(),
        watermark: "changed_at".into(),
        begins: Mark::Integer(0),
        active: Some("active".into()),
        window_days: Some(400),
        business_units: Some(Vec::new()),
        batch: Some(3),
        timeout: Duration::from_secs(10),
    };
    change(&mut external);
    let providers = Arc::new(Providers { externals: vec![external], ..Providers::built_in() });
    let workflows = punctual_workflows::all_with(providers.clone(), Default::default(), Default::default());
    let bed = bed.with(|bed| bed.workflows(workflows));
    let engine = bed.engine.clone();
    let client = Client::with(&bed, |state| {
        let sandbox = state.sandbox.take();
        *state = ApiState { sandbox, ..ApiState::with_reminders(engine, state.wall.clone(), providers) };
    })
    .await;
    unit(&client, "nz", "Pacific/Auckland").await;
    let other = Client::new(&there).await;
    (bed, client, other, there)
}

fn document(date: &str) -> Value {
    json!({ "businessUnit": "nz", "state": { "kind": "first-aid", "expiresOn": date } })
}

async fn look(client: &Client, dry: bool) -> Value {
    client.post("/api/v1/reconciliations/external:documents/run", json!({ "dryRun": dry })).await.expect(200)
}

async fn state(client: &Client) -> Value {
    let all = client.get("/api/v1/reconciliations").await.expect(200);
    let own = all["items"].as_array().unwrap().iter().find(|one| one["provider"] == "external:documents");
    own.unwrap().clone()
}

async fn what_changed_there_is_planned_here_and_the_watermark_moves_with_it(bed: TestBed) {
    let (bed, client, other, there) = two(bed, |_| {}).await;
    setting(&client, first_aid(|_| {})).await;
    for n in 0..7 {
        put_source(&other, &format!("document/{n}"), document("2026-07-20")).await;
        there.wait(1);
    }
    let dry = look(&client, true).await;
    assert_eq!((&dry["sources"], &dry["create"]), (&json!(7), &json!(21)), "{dry}");
    assert!(rows(&client, "").await.is_empty(), "a dry run changes nothing");
    look(&client, false).await;
    client.advance("1m").await;
    assert_eq!(rows(&client, "&status=pending").await.len(), 21, "in three batches");
    let source = client.get("/api/v1/sources/document/3").await.expect(200);
    assert_eq!(
        (&source["businessUnit"], &source["state"]["expiresOn"]),
        (&json!("nz"), &json!("2026-07-20"))
    );
    // Only what changed since is read again; what is gone there is gone here.
    put_source(&other, "document/1", document("2026-08-20")).await;
    there.wait(1);
    other.delete("/api/v1/sources/document/2").await.expect(204);
    assert_eq!(look(&client, true).await["sources"], 2);
    look(&client, false).await;
    client.advance("1m").await;
    assert_eq!(state(&client).await["sources"], 2);
    assert_eq!(rows(&client, "&status=pending").await.len(), 18);
    assert_eq!(look(&client, true).await["sources"], 0);
    there.leaves_open("nothing is checked there");
    bed.leaves_open("what is planned, and the next look");
}

/// Looks that end between rows of the same second and go on there: each row is read once.
async fn look_along(bed: TestBed, changed_at: &str, begins: Mark) {
    let query = query(bed.database())
        .replace("updated_at AS changed_at", &format!("{changed_at} AS changed_at"))
        .replace("(updated_at, source_id)", &format!("({changed_at}, source_id)"))
        .replace("ORDER BY updated_at", &format!("ORDER BY {changed_at}"));
    let (bed, client, other, there) = two(bed, |external| {
        external.query = query;
        external.begins = begins;
    })
    .await;
    setting(&client, first_aid(|_| {})).await;
    for n in 0..8 {
        put_source(&other, &format!("document/{n}"), document("2026-07-20")).await;
        there.wait(n % 2);
    }
    look(&client, false).await;
    client.advance("1m").await;
    assert_eq!(rows(&client, "&status=pending").await.len(), 24);
    assert_eq!(look(&client, true).await["sources"], 0, "everything was read");
    put_source(&other, "document/5", document("2026-08-20")).await;
    assert_eq!(look(&client, true).await["sources"], 1);
    there.leaves_open("nothing is checked there");
    bed.leaves_open("what is planned, and the next look");
}

async fn a_watermark_may_be_a_moment(bed: TestBed) {
    match bed.database() {
        // The database has no type for moments: they are texts that sort.
        Database::Sqlite => {
            let shown = "strftime('%Y-%m-%dT%H:%M:%fZ', updated_at / 1000000, 'unixepoch')";
            look_along(bed, shown, Mark::Text("2000-01-01T00:00:00Z".into())).await;
        }
        Database::Postgres => {
            let shown = "(TIMESTAMPTZ 'epoch' + updated_at * INTERVAL '1 microsecond')";
            look_along(bed, shown, Mark::Instant("2000-01-01T00:00:00Z".parse().unwrap())).await;
        }
    }
}

async fn a_watermark_may_be_a_text(bed: TestBed) {
    let shown = match bed.database() {
        Database::Sqlite => "printf('%020d', updated_at)",
        Database::Postgres => "lpad(updated_at::text, 20, '0')",
    };
    look_along(bed, shown, Mark::Text(String::new())).await;
}

async fn a_failure_leaves_the_watermark_and_a_repeat_doubles_nothing(bed: TestBed) {
    let (bed, client, other, _there) = two(bed, |_| {}).await;
    setting(&client, first_aid(|_| {})).await;
    put_source(&other, "document/1", document("2026-07-20")).await;
    bed.faults.fail("reconciliations.put", true, 1);
    look(&client, false).await;
    bed.tick().await;
    assert!(rows(&client, "").await.is_empty(), "planned with the watermark or not at all");
    assert_eq!(state(&client).await["lastRunAt"], Value::Null);
    client.advance("10m").await;
    assert_eq!(rows(&client, "&status=pending").await.len(), 3);
    look(&client, false).await;
    client.advance("1m").await;
    assert_eq!(rows(&client, "").await.len(), 3);
    bed.leaves_open("what is planned, and the next look");
}

async fn s0_75_a_look_without_one_of_its_bounds_does_not_start_and_none_goes_beyond_its_window(bed: TestBed) {
    let (bed, client, other, _there) = two(bed, |external| external.window_days = Some(90)).await;
    setting(&client, first_aid(|_| {})).await;
    put_source(&other, "document/1", document("2026-07-20")).await;
    put_source(&other, "document/2", document("2027-07-20")).await;
    assert_eq!(look(&client, true).await["sources"], 1, "the other is due beyond the window");
    assert_eq!(state(&client).await["windowDays"], 90);
    let (bed_without, ..) = two(TestBed::on(bed.database()).await, |_| {}).await;
    let lacking = |change: Change| {
        let mut external = External {
            name: "documents".into(),
            source_type: "document".into(),
            database: ForeignDatabase::parse(&Secret::new(bed.url())).unwrap(),
            query: query(bed.database()).into(),
            watermark: "changed_at".into(),
            begins: Mark::Integer(0),
            active: Some("active".into()),
            window_days: Some(90),
            business_units: Some(Vec::new()),
            batch: Some(3),
            timeout: Duration::from_secs(10),
        };
        change(&mut external);
        Providers { externals: vec![external], ..Providers::built_in() }
    };
    let refused: [(Change, &str); 4] = [
        (|external| external.active = None, "a source filter"),
        (|external| external.window_days = None, "a due window"),
        (|external| external.business_units = None, "an allowlist of business units"),
        (|external| external.batch = None, "a batch size"),
    ];
    for (change, named) in refused {
        let error = reconcile::start(&bed_without.engine, &lacking(change)).await.unwrap_err().to_string();
        assert!(
            error.starts_with("`documents` would look at too much; it lacks a") && error.contains(named),
            "{error}"
        );
    }
    reconcile::start(&bed_without.engine, &lacking(|_| {})).await.unwrap();
    bed_without.leaves_open("the next looks");
}

async fn a_newer_state_stays_and_other_units_are_left_out(bed: TestBed) {
    let (bed, client, other, _there) =
        two(bed, |external| external.business_units = Some(vec!["nz".into()])).await;
    setting(&client, first_aid(|_| {})).await;
    put_source(&other, "document/1", document("2026-07-20")).await;
    let mut foreign = document("2026-07-20");
    foreign["businessUnit"] = json!("de");
    put_source(&other, "document/2", foreign).await;
    let mut reported = document("2026-09-20");
    reported["occurredAt"] = json!("2026-05-15T00:00:00Z");
    client.put("/api/v1/sources/document/1", reported).await.expect(200);
    look(&client, false).await;
    client.advance("1m").await;
    let source = client.get("/api/v1/sources/document/1").await.expect(200);
    assert_eq!(source["state"]["expiresOn"], "2026-09-20");
    client.get("/api/v1/sources/document/2").await.refused(404, "not_found");
    bed.leaves_open("what is planned, and the next look");
}
