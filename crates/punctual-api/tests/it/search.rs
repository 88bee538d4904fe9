//! One search over everything, and the titles that rows have for people.

use punctual_testkit::{TestBed, on_both};
use serde_json::{Value, json};

use crate::{
    client::{Client, put_on_hold},
    reminders::{document, first_aid, put_source, setting, unit},
};

on_both! {
    rows_forecasts_and_attention_have_the_same_title;
    a_title_stays_sensible_when_its_definition_is_gone;
    everything_is_found_by_what_people_know_of_it;
    an_address_is_found_in_every_message_to_it;
    a_search_sees_what_its_caller_may_see;
    t11_what_other_units_have_hides_nothing_and_is_not_counted;
    what_is_typed_is_never_a_wildcard;
    case_is_of_no_account_in_any_part_and_any_language;
}

const TITLE: &str = "First aid certificate, document 103: 7 days before 20 Jun";

/// A reminder for one document, in New Zealand.
async fn one_document(client: &Client) -> String {
    unit(client, "nz", "Pacific/Auckland").await;
    let id = setting(client, first_aid(|body| body["name"] = json!("First aid certificate"))).await;
    put_source(client, "document/103", document("2026-06-20")).await;
    id
}

async fn titles_of(client: &Client, query: &str) -> Vec<String> {
    let found = client.get(&format!("/api/v1/search?q={query}")).await.expect(200);
    found["items"].as_array().unwrap().iter().map(|hit| hit["title"].as_str().unwrap().to_owned()).collect()
}

async fn rows_forecasts_and_attention_have_the_same_title(bed: TestBed) {
    let client = Client::new(&bed).await;
    one_document(&client).await;
    let message = json!({ "id": "m", "sendAt": "2026-06-12T12:00:00Z", "targets": ["x@y.example"],
        "channel": "memory:default", "subject": "Bring the\tkeys", "body": "B" });
    client.post("/api/v1/messages", message).await.expect(201);
    let listed = client.get("/api/v1/work").await.expect(200);
    let titles: Vec<&str> =
        listed["items"].as_array().unwrap().iter().map(|row| row["title"].as_str().unwrap()).collect();
    let due = |days: &str| format!("First aid certificate, document 103: {days} before 20 Jun");
    let mut expected = vec![due("30 days"), due("7 days"), due("1 day"), "Bring the keys".to_owned()];
    let mut sorted: Vec<String> = titles.iter().map(|title| (*title).to_owned()).collect();
    expected.sort();
    sorted.sort();
    assert_eq!(sorted, expected);

    let ahead = client.get("/api/v1/forecast?from=2026-06-12&to=2026-06-14").await.expect(200);
    let forecast: Vec<&Value> =
        ahead["days"].as_array().unwrap().iter().flat_map(|day| day["items"].as_array().unwrap()).collect();
    assert!(forecast.iter().any(|item| item["title"] == TITLE), "{ahead}");

    let row = listed["items"].as_array().unwrap().iter().find(|row| row["title"] == TITLE).unwrap();
    put_on_hold(&bed, row["key"].as_str().unwrap()).await;
    let waiting = client.get("/api/v1/attention").await.expect(200);
    assert_eq!(waiting["items"][0]["title"], TITLE);
    let one = client.get(&format!("/api/v1/work/{}", row["id"])).await.expect(200);
    let trace = client.get(&format!("/api/v1/work/{}/trace", row["id"])).await.expect(200);
    assert_eq!((&one["title"], &trace["title"]), (&json!(TITLE), &json!(TITLE)));
    bed.leaves_open("reminders are ahead");
}

async fn a_title_stays_sensible_when_its_definition_is_gone(bed: TestBed) {
    let client = Client::new(&bed).await;
    let id = one_document(&client).await;
    let key = client.get("/api/v1/work").await.expect(200)["items"][0]["id"].clone();
    client.delete(&format!("/api/v1/reminder-settings/{id}")).await.expect(204);
    let row = client.get(&format!("/api/v1/work/{key}")).await.expect(200);
    let title = row["title"].as_str().unwrap();
    assert!(title.starts_with("First aid certificate (deleted), document 103: "), "{title}");
}

async fn everything_is_found_by_what_people_know_of_it(bed: TestBed) {
    let client = Client::new(&bed).await;
    one_document(&client).await;
    client
        .put("/api/v1/lists/cold-chain", json!({ "type": "email", "targets": ["a@b.example"] }))
        .await
        .expect(200);
    let person =
        json!({ "name": "Ada Byron", "email": "ada@b.example", "timeZone": "UTC", "channels": ["email"] });
    client.put("/api/v1/operations/people/ada", person).await.expect(200);
    let mut lost = bed.message_over("no:such", &["zoe@b.example"]);
    lost.subject = "Freezer 3 is warm".into();
    let lost = bed.accept_one(lost).await;
    bed.tick().await;

    assert_eq!(titles_of(&client, &lost).await, ["Freezer 3 is warm"], "by id");
    assert_eq!(titles_of(&client, "fREEZER").await, ["Freezer 3 is warm"], "by subject");
    assert_eq!(titles_of(&client, "zoe@b").await, ["Freezer 3 is warm"], "by a part of a recipient");
    let error = titles_of(&client, "no:such").await;
    assert!(error.contains(&"Freezer 3 is warm".to_owned()), "by error: {error:?}");
    assert_eq!(titles_of(&client, "cold").await, ["cold-chain"]);
    assert_eq!(titles_of(&client, "byron").await, ["Ada Byron"]);
    assert_eq!(titles_of(&client, "ADA@b.example").await[0], "Ada Byron");
    let source = titles_of(&client, "document/103").await;
    assert_eq!(source[0], "document 103");
    let by_title = titles_of(&client, "7+days+before+20+jun").await;
    assert_eq!(by_title, [TITLE]);
    let row = client.get("/api/v1/work").await.expect(200)["items"][0].clone();
    let key = row["key"].as_str().unwrap();
    assert_eq!(titles_of(&client, key).await[0], row["title"].as_str().unwrap(), "by key");
    let found = client.get("/api/v1/search?q=first+aid+cert").await.expect(200);
    assert_eq!((&found["items"][0]["kind"], &found["cut"]), (&json!("setting"), &json!([])), "{found}");
    assert!(found["items"][0]["link"].as_str().unwrap().starts_with("/reminders/"), "{found}");

    client.get("/api/v1/search").await.refused(422, "missing_field");
    client.get("/api/v1/search?q=").await.refused(422, "out_of_range");
    client.get(&format!("/api/v1/search?q={}", "x".repeat(201))).await.refused(422, "out_of_range");
    client.get("/api/v1/search?q=x&kind=message").await.refused(422, "unknown_field");
    bed.leaves_open("reminders are ahead");
}

async fn an_address_is_found_in_every_message_to_it(bed: TestBed) {
    let client = Client::new(&bed).await;
    bed.list("ops", "memory:default", &["ann@b.example", "ben@b.example"]).await;
    let mut reported = bed.message_to_list("ops");
    reported.subject = "To a list".into();
    bed.accept_one(reported).await;
    bed.tick().await;
    assert_eq!(titles_of(&client, "ANN@b.example").await, ["To a list"], "by the attempt, in lower case too");
    assert!(titles_of(&client, "ann@b.exampl").await.is_empty());
}

async fn a_search_sees_what_its_caller_may_see(bed: TestBed) {
    let client = Client::new(&bed).await;
    one_document(&client).await;
    let mut secret = bed.message_over("no:such", &["zoe@b.example"]);
    secret.subject = "Secret freezer".into();
    secret.business_unit = Some("nz".into());
    let id = bed.accept_one(secret).await;
    bed.tick().await;
    client.has_unit("de").await;
    let nz = client.new_key(&["read"], Some(&["nz"])).await;
    let de = client.new_key(&["read"], Some(&["de"])).await;
    let key = client.get("/api/v1/work").await.expect(200)["items"][0]["key"].as_str().unwrap().to_owned();
    for query in ["freezer", "zoe@b.example", &id, "document/103", "103", &key] {
        assert!(!titles_of(&nz, query).await.is_empty(), "{query}");
        assert_eq!(titles_of(&de, query).await, [""; 0], "{query}");
    }
    bed.leaves_open("reminders are ahead");
}

async fn what_is_typed_is_never_a_wildcard(bed: TestBed) {
    let client = Client::new(&bed).await;
    let mut new = bed.message_over("no:such", &["a"]);
    new.subject = "100 % sure".into();
    bed.accept_one(new).await;
    bed.tick().await;
    assert_eq!(titles_of(&client, "100+%25").await, ["100 % sure"]);
    for none in ["1%25sure", "_", "%5C"] {
        assert_eq!(titles_of(&client, none).await, [""; 0], "{none}");
    }
}

async fn case_is_of_no_account_in_any_part_and_any_language(bed: TestBed) {
    bed.leaves_open("only what is found matters");
    let client = Client::new(&bed).await;
    let notification =
        json!({ "targets": ["x"], "channel": "memory:default", "subject": "Ölstand", "body": "B" });
    client.post("/api/v1/notifications", notification).await.expect(201);
    let schedule = json!({ "key": "Ölwechsel", "topic": "t", "runAt": bed.after(3_600).to_string() });
    client.post("/api/v1/schedules", schedule).await.expect(201);
    client.put("/api/v1/sources/pump/7", json!({ "state": { "name": "Ölpumpe" } })).await.expect(200);
    let person = json!({ "name": "Ölf", "email": "ÖLF@b.example" });
    client.put("/api/v1/operations/people/o", person).await.expect(200);
    client.put("/api/v1/lists/%C3%96ler", json!({ "type": "memory", "targets": [] })).await.expect(200);
    client.advance("1s").await;
    let kinds = async |query: &str| {
        let found = client.get(&format!("/api/v1/search?q={query}")).await.expect(200);
        let items = found["items"].as_array().unwrap().iter();
        items.map(|hit| hit["kind"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    let (lower, upper) = (kinds("%C3%B6l").await, kinds("%C3%96L").await);
    assert_eq!(lower, upper);
    assert_eq!(lower.len(), 5, "one of each part: {lower:?}");
}

/// A window is searched for a text: of rows within reach, so that a busy neighbour pushes nothing out of it.
async fn t11_what_other_units_have_hides_nothing_and_is_not_counted(bed: TestBed) {
    let client = Client::new(&bed).await;
    let nz = client.new_key(&["ingest", "author", "read"], Some(&["nz"])).await;
    let de = client.new_key(&["ingest", "author", "read"], Some(&["de"])).await;
    let message = |subject: &str| json!({ "targets": ["x"], "channel": "memory:default", "subject": subject, "body": "B" });
    nz.post("/api/v1/notifications", message("Needle in the middle")).await.expect(201);
    nz.put("/api/v1/sources/zz/needle-1", json!({ "state": {} })).await.expect(200);
    let later = |id: String| {
        let mut body = message("Later");
        (body["id"], body["sendAt"]) = (json!(id), json!("2026-06-14T06:00:00Z"));
        body
    };
    nz.post("/api/v1/messages", later("needle-2".to_owned())).await.expect(201);
    let before = nz.get("/api/v1/search?q=needle").await.expect(200);
    let every = json!(["person", "setting", "source", "work", "message"]);
    assert_eq!(
        before["cut"], every,
        "theirs may lie further back than what is looked through, and it says so"
    );
    assert_eq!(client.get("/api/v1/search?q=needle").await.expect(200)["cut"], json!([]));
    bed.wait(1);
    for some in 0..6 {
        let many: Vec<Value> = (0..1_000).map(|_| message("Hay")).collect();
        de.post("/api/v1/notifications", Value::from(many)).await.expect(200);
        let hay: Vec<Value> =
            (0..1_000).map(|n| json!({ "type": "hay", "id": format!("{some}-{n}"), "state": {} })).collect();
        de.post("/api/v1/sources", json!({ "items": hay })).await.expect(200);
    }
    let many: Vec<Value> = (0..600).map(|n| later(format!("hay-{n}"))).collect();
    de.post("/api/v1/messages", Value::from(many)).await.expect(200);
    let found = nz.get("/api/v1/search?q=needle").await.expect(200);
    let kinds: Vec<&str> =
        found["items"].as_array().unwrap().iter().map(|hit| hit["kind"].as_str().unwrap()).collect();
    assert_eq!(kinds.len(), 3, "{found}");
    for kind in ["source", "work", "message"] {
        assert!(kinds.contains(&kind), "{kind}: {found}");
    }
    assert_eq!(found["cut"], before["cut"], "how much others have is not said");
    let theirs = de.get("/api/v1/search?q=hay").await.expect(200);
    assert_eq!(theirs["cut"], before["cut"]);
    let all = client.get("/api/v1/search?q=hay").await.expect(200);
    assert_eq!(all["cut"], json!(["source", "work", "message"]), "there is more than the window");
    bed.leaves_open("all of it is to be sent");
}
