//! Where a page leads on: a problem to its repair, a person to their messages and their data, an empty page to what begins it; and that a form
//! begins with what is of use.

use jiff::Timestamp;
use punctual_testkit::{TestBed, on_both};
use punctual_wire::keys::Scope;
use serde_json::json;

use crate::{
    browser::{Stage, on_sqlite},
    client::{Client, attribute, rows},
    editors_browser::choose,
    people::ANN,
    reminders::{as_json, put_source, save},
    settings::with_adapters,
    surveys::{schema, survey},
};

on_both! {
    a_parked_message_leads_to_its_repair;
    a_person_leads_to_their_messages_and_data;
    a_new_event_begins_in_the_future;
    everything_that_can_be_made_or_set_is_found;
    mail_is_the_first_that_a_channel_sends_with;
    a_measure_divided_by_a_field_is_edited_in_the_form;
    a_survey_says_where_it_stands;
    nobody_is_limited_to_nothing_by_an_open_choice;
}

async fn a_parked_message_leads_to_its_repair(bed: TestBed) {
    let client = Client::admin(&bed).await;
    let id = bed.accept_one(bed.message_to_list("cold-chain")).await;
    let lost = bed.accept_one(bed.message_over("no:such", &["a@example.org"])).await;
    bed.tick().await;
    let page = client.page(&format!("/notifications/{id}")).await;
    assert!(page.contains("href=\"/attention/list?name=cold-chain\">Create list cold-chain</a>"), "{page}");
    let page = client.page(&format!("/notifications/{lost}")).await;
    assert!(page.contains("href=\"/channels\">Check channel no:such</a>"), "{page}");
    // Each stands once in Attention, by its cause.
    let page = client.page("/attention").await;
    assert!(page.contains("Parked messages by cause <span class=\"count\">2</span>"), "{page}");
    assert!(!page.contains(&format!("/notifications/{id}")), "{page}");
    // Whoever may not make lists is not sent to the form of one.
    let operator = client.with_key(&[Scope::Read, Scope::Operate], None).await;
    assert!(!operator.page(&format!("/notifications/{id}")).await.contains("/attention/list"));
    // Once it is there, retrying comes first.
    bed.list("cold-chain", "memory:default", &["a@example.org"]).await;
    let page = client.page(&format!("/notifications/{id}")).await;
    assert!(page.contains("value=\"retry\" class=\"primary\""), "{page}");
}

async fn a_person_leads_to_their_messages_and_data(bed: TestBed) {
    let client = Client::admin(&bed).await;
    client.act("/operations/people/save", &ANN).await.leads_to("/operations/people?done=saved");
    let mut mail = bed.message_over("email:default", &["ann@example.org"]);
    mail.subject = "Winter offers".into();
    bed.accept_one(mail).await;
    bed.tick().await;
    let page = client.page("/operations/people/ann").await;
    for part in [
        "Winter offers",
        "href=\"/recipients?address=ann%40example.org\"",
        "href=\"/preferences/new?person=ann\">Add preferences</a>",
        "href=\"/settings/personal-data?by=person&#38;address=ann\">Export or erase data</a>",
    ] {
        assert!(page.contains(part), "{part}: {page}");
    }
    let data = client.page("/settings/personal-data?by=person&address=ann").await;
    assert!(data.contains("<option value=\"person\" selected>") && data.contains("value=\"ann\""), "{data}");
    let page = client.page("/recipients?address=ann%40example.org").await;
    assert!(page.contains("Export or erase data") && page.contains("preferences"), "{page}");
    let reader = client.with_key(&[Scope::Read], None).await;
    let page = reader.page("/operations/people/ann").await;
    assert!(page.contains("Winter offers") && !page.contains("Export or erase data"), "{page}");
}

async fn everything_that_can_be_made_or_set_is_found(bed: TestBed) {
    let client = Client::admin(&bed).await;
    for (q, link) in [
        ("new reminder", "/reminders/new"),
        ("add source", "/sources/new"),
        ("create key", "/settings/keys/new"),
        ("new user", "/settings/users/new"),
        ("templates", "/settings/templates"),
        ("delivery policy", "/settings/policy"),
        ("retention", "/settings/retention"),
        ("test message", "/channels"),
    ] {
        let page = client.page(&format!("/search?q={}", q.replace(' ', "+"))).await;
        let (_, found) = page.split_once("data-results").unwrap();
        assert!(found.contains(&format!("href=\"{link}\"")), "{q}: {found}");
    }
    // Everybody finds what they may open, and nothing else.
    let reader = client.with_key(&[Scope::Read], Some(&["nz"])).await;
    let page = reader.page("/search?q=new").await;
    assert!(!page.contains("Create reminder") && !page.contains("Add channel"), "{page}");
    assert!(!reader.page("/search?q=retention").await.contains("/settings/retention"));
}

async fn a_new_event_begins_in_the_future(bed: TestBed) {
    let client = Client::admin(&bed).await;
    for _ in 0..5 {
        let page = client.page("/operations/new").await;
        let at = |name: &str| -> Timestamp {
            let value = page.split(&format!("name=\"{name}\"")).nth(1).unwrap();
            format!("{}:00Z", attribute(value, "value=\"")).parse().unwrap()
        };
        let (start, end) = (at("/startDate/at"), at("/endDate/at"));
        assert!(start > bed.now() && end.duration_since(start).as_hours() == 1, "{start} at {}", bed.now());
        bed.wait(5 * 3_600);
    }
}

async fn mail_is_the_first_that_a_channel_sends_with(bed: TestBed) {
    let bed = with_adapters(&bed);
    let client = Client::admin(&bed).await;
    let page = client.page("/channels/add").await;
    let place = |text: &str| page.find(text).unwrap_or_else(|| panic!("no {text}: {page}"));
    let order = ["Mail over SMTP", ">Text messages<", ">Chat and inbox<", ">Programs<", "Webhook"].map(place);
    assert!(order.is_sorted(), "{order:?}");
}

async fn a_measure_divided_by_a_field_is_edited_in_the_form(bed: TestBed) {
    let client = Client::admin(&bed).await;
    put_source(&bed, "class", "yoga", &json!({ "capacity": 5 })).await;
    put_source(&bed, "booking", "1", &json!({ "class": "yoga" })).await;
    let metric =
        json!({ "share": [{ "count": { "sourceType": "booking", "parentField": "/class" } }, "/capacity"] });
    let setting = json!({ "name": "Nearly full", "kind": "threshold", "sourceType": "class", "triggerKey": "full",
        "recipients": { "addresses": ["ops@example.org"] }, "delivery": { "channel": "email:default" }, "active": true,
        "threshold": { "metric": metric, "op": ">=", "value": 0.2, "firingPolicy": "FalseToTrue" } });
    let saved = save(&client, &as_json(&setting.to_string())).await;
    assert_eq!(saved.status, 303, "{}", saved.text);
    let list = client.page("/reminders").await;
    assert!(
        list.contains(
            "when the number of booking divided by capacity is at least 0.2, whenever it is reached"
        ),
        "{list}"
    );
    let id = rows(&list).remove(0);
    let page = client.page(&format!("/reminders/{id}")).await;
    assert!(!page.contains("The form cannot show all of it"), "{page}");
    assert!(page.contains("<option value=\"countShare\" selected>a count, divided by a field"), "{page}");
    bed.run_for(60).await;
    let page = client.page("/work?list=all").await;
    assert!(page.contains("Nearly full, class yoga: number of booking per capacity at 0.2"), "{page}");
}

async fn a_survey_says_where_it_stands(bed: TestBed) {
    let client = Client::admin(&bed).await;
    let id = survey(&bed, schema()).await;
    let page = client.page(&format!("/surveys/{id}")).await;
    assert!(page.contains("Nobody has been asked yet.") && page.contains("No answers yet."), "{page}");
    assert!(!page.contains("answered: –"), "{page}");
}

async fn nobody_is_limited_to_nothing_by_an_open_choice(bed: TestBed) {
    let client = Client::admin(&bed).await;
    let form = [("name", "Ada"), ("email", "ada@example.org"), ("role", "viewer"), ("reach", "some")];
    let refused = client.act("/settings/users/save", &form).await;
    assert!(
        refused.status == 422 && refused.text.contains("Choose at least one business unit."),
        "{}",
        refused.text
    );
    assert!(refused.text.contains("value=\"ada@example.org\""), "{}", refused.text);
    let chosen = [form.as_slice(), &[("businessUnits", "nz"), ("businessUnits", "de")]].concat();
    let invited = client.act("/settings/users/save", &chosen).await;
    assert_eq!(invited.status, 200, "{}", invited.text);
    assert!(
        client.page("/settings/users").await.contains("de, nz")
            || client.page("/settings/users").await.contains("nz, de")
    );
}

#[test]
fn only_the_fields_of_a_choice_are_shown_in_a_browser() {
    on_sqlite(async |bed| {
        let id = survey(&bed, schema()).await;
        let mut stage = Stage::on(&bed).await;
        stage.sign_in().await;
        stage.open(&format!("/surveys/{id}/send")).await;
        for (choice, shown) in
            [("list", vec!["list"]), ("rows", vec!["", "rows"]), ("address", vec!["address"])]
        {
            stage.browser.click(&format!("[name=to][value={choice}]")).await;
            let fields = "[...document.querySelectorAll('[data-only] :is(input, textarea)')].filter((one) => one.offsetParent).map((one) => one.name)";
            assert_eq!(stage.browser.eval(fields).await, json!(shown), "{choice}");
        }
        // What a choice needs is named where it is missing.
        stage.open("/settings/users/new").await;
        choose(&mut stage, "reach", "some").await;
        stage.finish();
    });
}
