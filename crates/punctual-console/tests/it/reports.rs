//! Reports on the pages: what lies ahead, the mail as it will look, runs with their owner and files, and the migration.

use jiff::Timestamp;
use punctual_model::{NotificationSource, Reach};
use punctual_store::{
    audit,
    operations::people::{self, PersonRow},
    report_subscriptions,
};
use punctual_testkit::{TestBed, on_both};
use punctual_wire::keys::Scope;
use punctual_workflows::rollout::{Owner, Run, RunKind, take};
use serde_json::{Value, json};

use crate::{
    browser::{Stage, on_sqlite, walk},
    client::{Client, attribute, rows},
};

on_both! {
    a_subscription_is_written_and_shown_with_its_next_five_runs;
    the_mail_is_shown_as_it_will_look_and_nothing_is_sent;
    a_run_shows_its_owner_its_files_and_its_deliveries;
    files_that_are_gone_are_named_and_cannot_be_opened;
    a_definition_that_is_wrong_keeps_its_text_and_names_the_field;
    who_may_only_read_has_no_buttons_and_units_are_kept_apart;
    a_rollout_is_confirmed_compared_and_rolled_back;
    a_rollout_is_ended_at_the_cutover_and_not_before;
    a_subscription_is_handed_over_after_a_look;
    a_subscription_is_written_in_fields_and_read_back_into_them;
    what_is_wrong_in_the_fields_stands_beside_them;
}

pub fn weekly() -> Value {
    json!({ "name": "Weekly deliveries", "cadence": { "cron": "0 8 * * MON", "timeZone": "Europe/Berlin" }, "period": "week",
        "report": { "source": { "builtin": "delivery-kpis" }, "format": ["html", "csv", "xlsx"], "totals": ["delivered"],
            "columns": [{ "name": "site", "title": "Site" }, { "name": "delivered", "title": "Delivered" }],
            "chart": { "kind": "bar", "x": "site", "y": ["delivered", "parked"] } },
        "recipients": { "addresses": ["ops@example.org"] }, "channel": "email:default" })
}

/// A week of messages from three sites, then the Monday after it is near.
pub async fn company(bed: &TestBed) {
    bed.channel("email:default", "memory").await;
    for (site, count) in [("plant-7", 12_usize), ("plant-9", 7), ("depot-2", 3)] {
        let new = (0..count).map(|n| {
            let mut new = bed.message_over("email:default", &["shift@example.org"]);
            new.subject = format!("{site}: {n}");
            new.source = NotificationSource { site: Some(site.into()), script: None, instance: None };
            new
        });
        bed.accept(new.collect()).await;
    }
    bed.tick().await;
}

/// Writes a subscription through the form; returns its guid.
pub async fn subscribe(client: &Client, definition: &Value) -> String {
    let reply = client.act("/reports/new", &[("definition", &definition.to_string())]).await;
    let place = reply.headers.get("location").map(|value| value.to_str().unwrap().to_owned());
    let place = place.unwrap_or_else(|| panic!("{} {}", reply.status, reply.text));
    place.trim_start_matches("/reports/").split('?').next().unwrap().to_owned()
}

fn set_clock(bed: &TestBed, at: &str) {
    bed.clock.set(at.parse::<Timestamp>().unwrap());
}

async fn a_subscription_is_written_and_shown_with_its_next_five_runs(bed: TestBed) {
    bed.leaves_open("the next run is planned");
    let client = Client::admin(&bed).await;
    assert!(client.page("/reports").await.contains("No reports yet"));
    assert!(client.page("/reports/new?as=json").await.contains("&#34;cron&#34;: &#34;0 8 * * MON&#34;"));
    set_clock(&bed, "2026-10-20T12:00:00Z");
    // The nights on which the clock changes, at a time that one of them has twice and the other not at all.
    let mut nights = weekly();
    nights["name"] = json!("Nights of the clock");
    nights["period"] = json!("month");
    nights["cadence"] = json!({ "rrule": "FREQ=MONTHLY;BYMONTH=3,10;BYDAY=-1SU", "sendTime": "02:30", "startsOn": "2026-01-01", "timeZone": "Europe/Berlin" });
    let guid = subscribe(&client, &nights).await;
    let weekly_guid = subscribe(&client, &weekly()).await;
    let list = client.page("/reports").await;
    assert_eq!(rows(&list).len(), 2);
    assert!(
        list.contains(
            "2 reports, 2 active; the next is Nights of the clock, Sun 25 Oct 2026, 02:30 CEST Berlin."
        ),
        "{list}"
    );
    for night in ["Sun 25 Oct 2026, 02:30 CEST", "Sun 28 Mar 2027, 03:30 CEST", "Sun 31 Oct 2027, 02:30 CEST"]
    {
        assert!(list.contains(night), "{night}: {list}");
    }
    assert!(list.contains("Mon 26 Oct 2026, 08:00 CET") && list.contains("Mon 23 Nov 2026, 08:00 CET"));
    let one = client.page(&format!("/reports/{guid}?done=saved")).await;
    assert!(
        one.contains("the clock goes back: the first of two")
            && one.contains("the clock goes forward: the hour is skipped"),
        "{one}"
    );
    assert!(one.contains("Saved, and the next run is planned."));
    let act = format!("/reports/{weekly_guid}/act");
    client.act(&act, &[("action", "pause")]).await.leads_to(&format!("/reports/{weekly_guid}?done=paused"));
    assert!(client.page(&format!("/reports/{weekly_guid}")).await.contains("Nothing while it is paused."));
    client.act(&act, &[("action", "resume")]).await.leads_to(&format!("/reports/{weekly_guid}?done=resumed"));
    client.act(&act, &[("action", "delete")]).await.leads_to("/reports?done=deleted");
    assert_eq!(rows(&client.page("/reports").await), [guid]);
    client.act(&act, &[("action", "explode")]).await.refused(404, "not_found");
}

async fn the_mail_is_shown_as_it_will_look_and_nothing_is_sent(bed: TestBed) {
    company(&bed).await;
    bed.run_for(7 * 86_400).await;
    let sent = bed.sent().len();
    let client = Client::admin(&bed).await;
    let shown = client.act("/reports/preview", &[("definition", &weekly().to_string())]).await;
    assert_eq!(shown.status, 200, "{}", shown.text);
    for text in ["Weekly deliveries", "plant-7", "data:image/png;base64,", "Total", "22"] {
        assert!(shown.text.contains(text), "{text}: {}", shown.text);
    }
    assert!(!shown.text.contains("cid:"));
    let policy = shown.headers.get("content-security-policy").unwrap().to_str().unwrap();
    assert!(policy.contains("default-src 'none'") && policy.contains("sandbox"), "{policy}");
    let wrong = client.act("/reports/preview", &[("definition", "{\"name\": \"<b>\"}")]).await;
    assert!(wrong.text.contains("/cadence") && !wrong.text.contains("<b>"), "{}", wrong.text);
    assert_eq!(bed.sent().len(), sent, "a preview sends nothing");
    assert!(client.page("/reports").await.contains("No reports yet"), "and keeps nothing");
}

async fn a_run_shows_its_owner_its_files_and_its_deliveries(bed: TestBed) {
    bed.leaves_open("the next run is planned");
    company(&bed).await;
    bed.run_for(7 * 86_400).await;
    let client = Client::admin(&bed).await;
    let guid = subscribe(&client, &weekly()).await;
    client
        .act(&format!("/reports/{guid}/act"), &[("action", "run")])
        .await
        .leads_to(&format!("/reports/{guid}?done=asked"));
    bed.run_for(60).await;
    let page = client.page(&format!("/reports/{guid}")).await;
    let link =
        rows(&page).into_iter().find(|row| row.contains(":manual:")).unwrap_or_else(|| panic!("{page}"));
    let run = client.page(&link).await;
    for text in [
        "<dd>Punctual</dd>",
        "delivery created",
        "chart.png",
        "chart.svg",
        "inside the mail",
        "attached",
        "Weekly deliveries",
        "delivered</span>",
    ] {
        assert!(run.contains(text), "{text}: {run}");
    }
    let csv = run
        .split("href=\"")
        .map(|rest| rest.split('"').next().unwrap())
        .find(|link| link.ends_with(".csv"))
        .unwrap()
        .to_owned();
    let file = client.get(&csv).await;
    assert_eq!(file.status, 200);
    assert!(file.text.starts_with("site,") && file.text.contains("plant-7"), "{}", file.text);
    assert_eq!(file.headers["content-type"], "text/csv");
    assert!(file.headers["content-disposition"].to_str().unwrap().starts_with("attachment"));
    let picture = client.get(&format!("{link}/files/chart.svg")).await;
    assert_eq!((picture.status, picture.headers["content-type"].to_str().unwrap()), (200, "image/svg+xml"));
    assert!(picture.headers["content-security-policy"].to_str().unwrap().contains("sandbox"));
    client.get(&format!("{link}/files/..%2F..%2Fpunctual.sqlite")).await.refused(404, "not_found");
    client
        .get(&format!("/reports/{guid}/runs/report-subscription:{guid}:manual:none"))
        .await
        .refused(404, "not_found");
}

async fn files_that_are_gone_are_named_and_cannot_be_opened(bed: TestBed) {
    bed.leaves_open("the next run is planned");
    bed.channel("email:default", "memory").await;
    let client = Client::admin(&bed).await;
    let guid = subscribe(&client, &weekly()).await;
    client.act(&format!("/reports/{guid}/act"), &[("action", "run")]).await;
    bed.tick().await;
    let page = client.page(&format!("/reports/{guid}")).await;
    let link = rows(&page).into_iter().find(|row| row.contains(":manual:")).unwrap();
    let run = client.page(&link).await;
    assert!(run.contains("text/csv, en, Europe/Berlin") && run.contains("/files/report-"), "{run}");
    bed.wait(366 * 86_400);
    assert!(bed.engine.purge(bed.now()).await.unwrap().files > 0);
    let run = client.page(&link).await;
    assert!(run.contains("They were removed") && run.contains("text/csv"), "{run}");
    assert!(!run.contains("/files/"), "{run}");
    let file =
        run.split("item-title\">").find(|rest| rest.contains(".csv<")).unwrap().split('<').next().unwrap();
    client.get(&format!("{link}/files/{file}")).await.refused(410, "gone");
}

async fn a_definition_that_is_wrong_keeps_its_text_and_names_the_field(bed: TestBed) {
    bed.leaves_open("the next run is planned");
    let client = Client::admin(&bed).await;
    let mut wrong = weekly();
    wrong["report"]["source"] = json!({ "sql": { "connection": "warehouse", "query": "SELECT 1" } }); // tidy-allow: a user's query
    wrong["name"] = json!("kept <as> it is");
    let reply = client.act("/reports/new", &[("definition", &wrong.to_string())]).await;
    assert_eq!(reply.status, 422);
    assert!(
        reply.text.contains("/report/source/sql/connection")
            && reply.text.contains("none is configured on this server"),
        "{}",
        reply.text
    );
    assert!(reply.text.contains("kept &#60;as&#62; it is"), "{}", reply.text);
    let reply = client.act("/reports/new", &[("definition", "{oops")]).await;
    assert!(reply.status == 422 && reply.text.contains("json_syntax"), "{}", reply.text);
    let guid = subscribe(&client, &weekly()).await;
    let editor = client.page(&format!("/reports/{guid}/edit")).await;
    assert_eq!(attribute(&editor, "name=\"version\" value=\""), "1");
    let path = format!("/reports/{guid}/edit");
    let changed = weekly().to_string().replace("Weekly deliveries", "Every week");
    let fields = [("version", "1"), ("definition", changed.as_str())];
    client.act(&path, &fields).await.leads_to(&format!("/reports/{guid}?done=saved"));
    let stale = client.act(&path, &fields).await;
    assert!(
        stale.status == 409 && stale.text.contains("Somebody else has changed this report meanwhile"),
        "{}",
        stale.text
    );
    assert!(client.page("/reports").await.contains("Every week"));
}

/// The fields of the editor as they are filled in for a weekly report.
const FIELDS: [(&str, &str); 19] = [
    ("as", "form"),
    ("name", "Weekly deliveries"),
    ("cadence", "weekly"),
    ("weekday", "MON"),
    ("sendTime", "08:00"),
    ("timeZone", "Europe/Berlin"),
    ("period", "week"),
    ("source", "delivery-kpis"),
    ("html", "yes"),
    ("xlsx", "yes"),
    ("column0Name", "site"),
    ("column0Title", "Site"),
    ("totals", "delivered, parked"),
    ("chart", "bar"),
    ("chartX", "site"),
    ("chartY", "delivered"),
    ("recipients", "addresses"),
    ("addresses", "ops@example.org\r\nada@example.org"),
    ("catchUp", "all"),
];

/// These fields with others in their place.
fn filled<'f>(changes: &[(&'f str, &'f str)]) -> Vec<(&'f str, &'f str)> {
    let kept = FIELDS.into_iter().filter(|(name, _)| changes.iter().all(|(other, _)| other != name));
    kept.chain(changes.iter().copied()).collect()
}

async fn stored(bed: &TestBed, guid: &str) -> Value {
    let mut reader = bed.store.read().await.unwrap();
    let row = report_subscriptions::by_guids(&mut reader.conn(), &Reach::Everything, vec![guid.into()])
        .await
        .unwrap()
        .pop();
    serde_json::from_str(&row.unwrap().definition).unwrap()
}

async fn a_subscription_is_written_in_fields_and_read_back_into_them(bed: TestBed) {
    bed.leaves_open("the next run is planned");
    let client = Client::admin(&bed).await;
    let new = client.page("/reports/new").await;
    assert!(
        new.contains("name=\"sendTime\" type=\"time\" value=\"08:00\"") && new.contains("value=\"site\"")
    );
    let checked = client.act("/reports/check", &filled(&[])).await;
    assert!(checked.text.contains("Mon ") && checked.text.contains("08:00 CE"), "{}", checked.text);
    assert!(client.page("/reports").await.contains("No reports yet"), "a check keeps nothing");
    let saved = client.act("/reports/new", &filled(&[])).await;
    let place = saved.headers["location"].to_str().unwrap().to_owned();
    let guid = place.trim_start_matches("/reports/").split('?').next().unwrap().to_owned();
    let expected = json!({ "name": "Weekly deliveries", "period": "week", "catchUp": "all",
        "cadence": { "cron": "0 8 * * MON", "timeZone": "Europe/Berlin" },
        "report": { "source": { "builtin": "delivery-kpis" }, "format": ["html", "xlsx"],
            "columns": [{ "name": "site", "title": "Site" }], "totals": ["delivered", "parked"],
            "chart": { "kind": "bar", "x": "site", "y": ["delivered"] } },
        "recipients": { "addresses": ["ops@example.org", "ada@example.org"] } });
    assert_eq!(stored(&bed, &guid).await, expected);
    let edit = format!("/reports/{guid}/edit");
    let editor = client.page(&edit).await;
    for text in [
        "value=\"weekly\" selected",
        "value=\"MON\" selected",
        "value=\"all\" selected",
        "ops@example.org\nada@example.org",
    ] {
        assert!(editor.contains(text), "{text}: {editor}");
    }
    // The other way to edit takes along what is written.
    let other = [("guid", guid.as_str()), ("version", "1"), ("show", "json"), ("name", "Other <name>")];
    let text = client.act("/reports/check", &filled(&other)).await.text;
    assert!(
        text.contains("<textarea name=\"definition\"") && text.contains("Other &#60;name&#62;"),
        "{text}"
    );
    let changes =
        [("version", "1"), ("cadence", "monthly"), ("monthDay", "L"), ("period", "month"), ("paused", "yes")];
    client.act(&edit, &filled(&changes)).await.leads_to(&format!("/reports/{guid}?done=saved"));
    let after = stored(&bed, &guid).await;
    assert_eq!(after["cadence"], json!({ "cron": "0 8 L * *", "timeZone": "Europe/Berlin" }));
    assert!(client.page(&format!("/reports/{guid}")).await.contains("paused</span>"));
    // What the fields cannot say is edited as text, and nothing of it is lost.
    let mut rich = weekly();
    rich["report"]["columns"] = json!([{ "name": "site", "title": { "en": "Site", "de": "Werk" } }]);
    let rich = subscribe(&client, &rich).await;
    let editor = client.page(&format!("/reports/{rich}/edit")).await;
    assert!(editor.contains("The fields cannot show all of it") && editor.contains("Werk"), "{editor}");
}

async fn what_is_wrong_in_the_fields_stands_beside_them(bed: TestBed) {
    let client = Client::admin(&bed).await;
    let wrong = filled(&[
        ("name", "kept <as> it is"),
        ("timeZone", "Berlin"),
        ("sendTime", "08:00"),
        ("addresses", "nobody"),
        ("rowCap", "many"),
    ]);
    let reply = client.act("/reports/new", &wrong).await;
    assert_eq!(reply.status, 422);
    let beside = |name: &str| {
        let field =
            reply.text.split(&format!("name=\"{name}\"")).nth(1).unwrap().split("</label>").next().unwrap();
        field.split("class=\"fault\">").nth(1).unwrap_or_default().split('<').next().unwrap().to_owned()
    };
    assert!(beside("timeZone").contains("Europe/Berlin"), "{}", reply.text);
    assert!(!beside("addresses").is_empty() && beside("name").is_empty(), "{}", reply.text);
    assert!(reply.text.contains("kept &#60;as&#62; it is") && reply.text.contains("are not valid"));
    let late = client.act("/reports/new", &filled(&[("sendTime", "25:00")])).await;
    assert!(
        late.text.contains("hours and minutes") && late.text.contains("One field is not valid"),
        "{}",
        late.text
    );
    let sql = filled(&[("source", "sql"), ("connection", "warehouse"), ("query", "…")]);
    let unknown = client.act("/reports/new", &sql).await;
    assert!(unknown.text.contains("none is configured on this server"), "{}", unknown.text);
    let twice = client.act("/reports/new", &filled(&[("cadence", "daily"), ("sendTime", "06:00")])).await;
    assert!(twice.text.contains("fires more than once in a week"), "{}", twice.text);
    assert!(client.page("/reports").await.contains("No reports yet"));
}

async fn who_may_only_read_has_no_buttons_and_units_are_kept_apart(bed: TestBed) {
    bed.leaves_open("the next run is planned");
    let client = Client::admin(&bed).await;
    let mut own = weekly();
    own["businessUnit"] = json!("emea");
    let guid = subscribe(&client, &own).await;
    let reader = client.with_key(&[Scope::Read], None).await;
    let page = reader.page(&format!("/reports/{guid}")).await;
    assert!(!page.contains("name=\"action\"") && !page.contains("/edit"), "{page}");
    reader.get("/reports/new").await.refused(403, "scope_missing");
    let act = format!("/reports/{guid}/act");
    reader.act(&act, &[("action", "run")]).await.refused(403, "scope_missing");
    reader.act("/reports/preview", &[("definition", &own.to_string())]).await.refused(403, "scope_missing");
    let elsewhere = client.with_key(&[Scope::Read, Scope::Author, Scope::Operate], Some(&["apac"])).await;
    assert!(rows(&elsewhere.page("/reports").await).is_empty());
    elsewhere.get(&format!("/reports/{guid}")).await.refused(404, "not_found");
    elsewhere.act(&act, &[("action", "pause")]).await.refused(404, "not_found");
    elsewhere.get(&format!("/reports/rollouts/subscription/{guid}")).await.refused(404, "not_found");
    let taken = elsewhere.act("/reports/new", &[("definition", &own.to_string())]).await;
    assert!(taken.text.contains("/businessUnit"), "{}", taken.text);
}

async fn a_rollout_is_confirmed_compared_and_rolled_back(bed: TestBed) {
    bed.leaves_open("the next run is planned");
    bed.channel("email:default", "memory").await;
    let client = Client::admin(&bed).await;
    let guid = subscribe(&client, &weekly()).await;
    let link = format!("/reports/rollouts/subscription/{guid}");
    assert!(client.page("/reports/rollouts").await.contains("No migrations"));
    assert!(client.page(&link).await.contains("There is no old scheduler here"));
    let stage = format!("{link}/stage");
    let early = client.act(&stage, &[("stage", "1")]).await;
    assert!(early.status == 422 && early.text.contains("Confirm first"), "{}", early.text);
    let confirmed = [
        ("stage", "1"),
        ("confirm", "deliveryPath"),
        ("confirm", "oldScheduler"),
        ("confirm", "ownershipStorage"),
    ];
    client.act(&stage, &confirmed).await.leads_to(&format!("{link}?done=stage"));
    // Two weeks in the shadow: the old scheduler makes one of the two runs.
    bed.run_for(14 * 86_400).await;
    let page = client.page(&link).await;
    assert!(page.contains("Stage 1 of 4") && page.contains("2 missing"), "{page}");
    let key = page.split("<td class=\"mono\">").nth(1).unwrap().split('<').next().unwrap().to_owned();
    let mut tx = bed.begin().await;
    let run = Run {
        workflow: "report-subscription",
        subject_id: &guid,
        business_unit: None,
        key: &key,
        kind: RunKind::Scheduled,
        manual_run: None,
    };
    take(&mut tx, bed.now(), run, Owner::OldScheduler, "1").await.unwrap();
    tx.commit().await.unwrap();
    bed.wait(1);
    let page = client.page(&link).await;
    assert!(page.contains("1 match") && page.contains("1 missing"), "{page}");
    client.act(&stage, &[("stage", "3")]).await.leads_to(&format!("{link}?done=stage"));
    let page = client.page(&link).await;
    assert!(page.contains("Back to the old scheduler"), "{page}");
    bed.run_for(7 * 86_400).await;
    assert!(client.page("/reports").await.contains("3 scheduled"));
    assert!(client.page("/reports/rollouts").await.contains(&format!("href=\"{link}/back\"")));
    let ask = client.page(&format!("{link}/back")).await;
    assert!(ask.contains("Roll back Weekly deliveries?") && ask.contains("so none is given back"), "{ask}");
    let back =
        [("scope", "subscription"), ("id", guid.as_str()), ("stage", "3"), ("reason", "numbers differ")];
    client.act("/reports/rollouts/back", &back).await.leads_to(&format!("{link}?done=back&freed=0"));
    assert!(client.page(&link).await.contains("Stage 1 of 4"));
    client.act("/reports/rollouts/back", &back).await.refused(409, "stale_version");
    assert!(rows(&client.page("/reports/rollouts").await) == [link.clone()]);
    let expected_text = audited(&bed, "rollout", &format!("report-subscription/subject/{guid}")).await;
    assert!(
        expected_text.contains(&"roll-back".to_owned()) && expected_text.contains(&"note".to_owned()),
        "{expected_text:?}"
    );
}

async fn a_rollout_is_ended_at_the_cutover_and_not_before(bed: TestBed) {
    bed.leaves_open("the next run is planned");
    bed.channel("email:default", "memory").await;
    let client = Client::admin(&bed).await;
    let guid = subscribe(&client, &weekly()).await;
    let link = format!("/reports/rollouts/subscription/{guid}");
    client.get(&format!("{link}/end")).await.refused(404, "not_found");
    let confirmed = |stage| {
        [
            ("stage", stage),
            ("confirm", "deliveryPath"),
            ("confirm", "oldScheduler"),
            ("confirm", "ownershipStorage"),
        ]
    };
    client.act(&format!("{link}/stage"), &confirmed("3")).await.leads_to(&format!("{link}?done=stage"));
    assert!(!client.page(&link).await.contains("End the rollout…"));
    let early = client.page(&format!("{link}/end")).await;
    assert!(
        early.contains("this one is at stage 3") && !early.contains("type=\"submit\" class=\"danger"),
        "{early}"
    );
    let fields = |stage| [("scope", "subscription"), ("id", guid.as_str()), ("stage", stage)];
    client.act("/reports/rollouts/end", &fields("3")).await.refused(409, "state_not_allowed");
    client.act(&format!("{link}/stage"), &confirmed("4")).await.leads_to(&format!("{link}?done=stage"));
    assert!(client.page(&link).await.contains(&format!("href=\"{link}/end\"")));
    assert!(client.page(&format!("{link}/end")).await.contains("End the rollout of Weekly deliveries?"));
    let reader = client.with_key(&[Scope::Read], None).await;
    reader.get(&format!("{link}/end")).await.refused(403, "scope_missing");
    client.act("/reports/rollouts/end", &fields("4")).await.leads_to(&format!("{link}?done=ended"));
    assert!(client.page(&link).await.contains("There is no old scheduler here"));
    assert!(client.page("/reports/rollouts").await.contains("No migrations"));
    let expected_text = audited(&bed, "rollout", &format!("report-subscription/subject/{guid}")).await;
    assert!(expected_text.contains(&"delete".to_owned()), "{expected_text:?}");
}

/// What the audit has about something, by action.
async fn audited(bed: &TestBed, kind: &str, subject: &str) -> Vec<String> {
    let mut reader = bed.store.read().await.unwrap();
    let rows =
        audit::of(&mut reader.conn(), &punctual_model::Reach::Everything, kind, subject).await.unwrap();
    rows.into_iter().map(|row| row.action).collect()
}

async fn a_subscription_is_handed_over_after_a_look(bed: TestBed) {
    bed.leaves_open("the next run is planned");
    let mut tx = bed.begin().await;
    let person = PersonRow {
        id: "person-7".into(),
        name: "Ada Example".into(),
        email: Some("ada@example.org".into()),
        time_zone: None,
        locale: None,
        channels: "[]".into(),
        addresses: "{}".into(),
        business_unit: None,
        updated_at: Timestamp::UNIX_EPOCH,
    };
    people::put(&mut tx.conn(), bed.now(), &Reach::Everything, &person).await.unwrap();
    tx.commit().await.unwrap();
    let client = Client::admin(&bed).await;
    let guid = subscribe(&client, &weekly()).await;
    let page = client.page(&format!("/reports/{guid}")).await;
    assert!(page.contains("Transfer…") && page.contains("<option value=\"person-7\">Ada Example</option>"));
    let ask = client.page(&format!("/reports/{guid}/transfer?owner=person-7")).await;
    assert!(ask.contains("Ada Example (person-7) will be the owner, in place of nobody."), "{ask}");
    let gone = client.page(&format!("/reports/{guid}/transfer?owner=person-8")).await;
    assert!(gone.contains("No person has this id"), "{gone}");
    let same = client.page(&format!("/reports/{guid}/transfer?owner=")).await;
    assert!(
        same.contains("The report has no owner, and none was chosen.")
            && !same.contains("Transfer report</button>"),
        "{same}"
    );
    let fields = [("guid", guid.as_str()), ("version", "1"), ("owner", "person-7"), ("reason", "new team")];
    let reader = client.with_key(&[Scope::Read, Scope::Operate], None).await;
    reader.act("/reports/transfer", &fields).await.refused(403, "scope_missing");
    client.act("/reports/transfer", &fields).await.leads_to(&format!("/reports/{guid}?done=transferred"));
    client.act("/reports/transfer", &fields).await.refused(409, "stale_version");
    let page = client.page(&format!("/reports/{guid}")).await;
    assert!(page.contains("<dt>Owner</dt><dd>person-7</dd>"), "{page}");
    let expected_text = audited(&bed, "report-subscription", &guid).await;
    assert!(
        expected_text.contains(&"transfer".to_owned()) && expected_text.contains(&"note".to_owned()),
        "{expected_text:?}"
    );
}

#[test]
fn people_subscribe_look_at_runs_and_move_over() {
    on_sqlite(async |bed| {
        bed.leaves_open("what is planned");
        company(&bed).await;
        bed.run_for(7 * 86_400).await;
        let mut stage = Stage::on(&bed).await;
        stage.sign_in().await;
        walk(&mut stage, "empty", &[("reports", "/reports"), ("rollouts", "/reports/rollouts")]).await;
        stage.open("/reports").await;
        stage.browser.follow("a[href='/reports/new']").await;
        // The mail follows what is written; its frame is closed to scripts, also to this one.
        let shown = "document.querySelector('iframe').contentDocument === null";
        stage.browser.until(shown).await;
        stage.browser.picture("report-new-1280-light").await;
        stage.browser.follow("form.report-edit button.primary").await;
        assert_eq!(stage.texts(".notice").await, ["Saved, and the next run is planned."]);
        assert_eq!(stage.texts("tbody[data-live=ahead] tr").await.len(), 5);
        stage.browser.follow("button[value=run]").await;
        bed.run_for(60).await;
        stage.browser.until("document.querySelector('td.state .pill')?.textContent === 'completed'").await;
        let link = stage.browser.eval("location.pathname").await.as_str().unwrap().to_owned();
        stage.browser.follow("td.subject a").await;
        assert!(stage.texts(".items .item-title").await.contains(&"chart.svg".to_owned()));
        assert_eq!(stage.texts("[data-live=sent] .pill").await, ["delivered"]);
        let drawn = "document.querySelector('img.report-chart').complete && document.querySelector('img.report-chart').naturalWidth > 0";
        stage.browser.until(drawn).await;
        let run = stage.browser.eval("location.pathname").await.as_str().unwrap().to_owned();
        let guid = link.trim_start_matches("/reports/").to_owned();
        let rollout = format!("/reports/rollouts/subscription/{guid}");
        stage.open(&rollout).await;
        for point in ["deliveryPath", "oldScheduler", "ownershipStorage"] {
            stage.browser.click(&format!("input[value={point}]")).await;
        }
        stage.browser.follow("button[value='1']").await;
        assert_eq!(stage.texts(".notice").await, ["The stage is set."]);
        bed.run_for(14 * 86_400).await;
        stage.open(&rollout).await;
        stage.browser.follow("button[value='3']").await;
        let edit = format!("{link}/edit");
        let pages = [
            ("reports", "/reports"),
            ("report", link.as_str()),
            ("report-run", run.as_str()),
            ("report-edit", edit.as_str()),
            ("rollouts", "/reports/rollouts"),
            ("rollout", rollout.as_str()),
        ];
        walk(&mut stage, "full", &pages).await;
        stage.open(&edit).await;
        stage.browser.until(shown).await;
        stage.browser.picture("report-preview-1280-light").await;
        let json = format!("{edit}?as=json");
        walk(&mut stage, "full", &[("report-edit-json", json.as_str())]).await;
        // What lies ahead follows what is written, without saving.
        stage.open(&edit).await;
        let change = "(() => { const time = document.querySelector('[name=sendTime]'); time.value = '06:45'; \
                      time.dispatchEvent(new Event('input', { bubbles: true })); return true; })()";
        stage.browser.eval(change).await;
        stage
            .browser
            .until("document.querySelector('[data-follow=ahead]').textContent.includes('06:45')")
            .await;
        stage.open(&link).await;
        stage.browser.click(".hand-over summary").await;
        stage.browser.picture("report-hand-over-1280-light").await;
        stage.open(&rollout).await;
        stage.browser.follow("a.button.danger").await;
        stage.browser.picture("report-roll-back-1280-light").await;
        stage.browser.follow("button.danger.solid").await;
        assert!(stage.texts(".notice").await[0].starts_with("The old scheduler makes the runs again"));
        stage.finish();
    });
}
