//! What the answers of a survey come to where it has more links than one request counts.

use punctual_engine::Actor;
use punctual_model::Reach;
use punctual_store::surveys::SurveyDraft;
use punctual_testkit::{TestBed, on_both};
use punctual_workflows::surveys::{
    Catalogue,
    answer::{Submission, submit},
    author,
    ingest::{Asked, Item, Outcome, ingest},
    results::{Kept, Results, ResultsFilter, counts as counted, results, versions},
};
use serde_json::{Map, Value, json};

on_both! {
    a_survey_with_many_links_is_counted_behind_the_requests;
}

fn object(value: Value) -> Map<String, Value> {
    value.as_object().cloned().unwrap()
}

async fn survey(bed: &TestBed) -> i64 {
    let schema = json!({
        "title": { "en": "How was it?" },
        "questions": [
            { "id": "rate", "type": "nps", "text": { "en": "How likely?" } },
            { "id": "why", "type": "text", "text": { "en": "Why?" } },
        ],
        "triggers": [{ "id": "visit", "eventKind": "visit", "dedupRecipe": ["candidate.wip"],
            "schedule": { "initialDelay": "0d", "reminders": [] }, "channel": "memory:default" }]
    });
    let draft = SurveyDraft {
        name: "Visits".into(),
        integration_id: None,
        business_unit: None,
        draft: schema.to_string(),
    };
    let row = author::create(&bed.engine, &Actor::named("key:test"), &draft).await.unwrap();
    author::publish(&bed.engine, &Actor::named("key:test"), row.id).await.unwrap();
    row.id
}

async fn asked(bed: &TestBed, catalogue: &Catalogue, wip: usize) -> String {
    let item = Item {
        payload: object(json!({ "wip": wip })),
        address: "+964 770 000 0001".into(),
        locale: None,
        customer_ref: None,
        occurred_at: None,
    };
    let made = ingest(&bed.engine, catalogue, &Asked::Kind("visit"), None, None, &[item]).await.unwrap();
    match &made[0] {
        Outcome::Matched(made) => made[0].public_id.clone(),
        Outcome::NoMatch(why) => panic!("{why:?}"),
    }
}

async fn answered(bed: &TestBed, catalogue: &Catalogue, id: &str, rate: i64) {
    let answers = object(json!({ "rate": rate, "why": format!("because {rate}") }));
    submit(&bed.engine, catalogue, id, &Submission { answers, ..Submission::default() }).await.unwrap();
}

async fn a_survey_with_many_links_is_counted_behind_the_requests(bed: TestBed) {
    // One request counts three links; the other catalogue counts all of them at once.
    let few = Catalogue::with_results(Kept::of_more_than(3));
    let all = Catalogue::default();
    let survey = survey(&bed).await;
    let ask = async |catalogue: &Catalogue, filter: ResultsFilter| -> Results {
        let versions = versions(&bed.engine, catalogue, survey).await.unwrap();
        results(&bed.engine, catalogue, &Reach::Everything, survey, &versions, &filter).await.unwrap()
    };
    let whole = ResultsFilter::default;
    let counts = |of: &Results| (of.instances, of.answered, of.newest);
    let mut ids = Vec::new();
    for wip in 0..3 {
        ids.push(asked(&bed, &few, wip).await);
        bed.wait(60);
    }
    bed.tick().await;
    answered(&bed, &few, &ids[0], 10).await;
    assert_eq!(counts(&ask(&few, whole()).await), (3, 1, None), "three are counted at once");

    for wip in 3..8 {
        ids.push(asked(&bed, &few, wip).await);
        bed.wait(60);
    }
    bed.tick().await;
    answered(&bed, &few, &ids[7], 3).await;
    let count = async |catalogue: &Catalogue| {
        let counts = counted(&bed.engine, catalogue, &Reach::Everything, survey).await.unwrap();
        (counts.asked, counts.answered, counts.reached, counts.is_all)
    };
    // The newest three until all are counted, and then all of them, as they were at that moment.
    assert_eq!(counts(&ask(&few, whole()).await), (3, 1, Some(3)));
    few.results.settled().await;
    let counted_at = bed.now();
    answered(&bed, &few, &ids[6], 9).await;
    bed.wait(30);
    let known = ask(&few, whole()).await;
    assert_eq!((counts(&known), known.counted_at), ((8, 2, None), counted_at));
    // After a minute somebody asks again: what is known is shown once more, and all are counted.
    bed.wait(31);
    assert_eq!(ask(&few, whole()).await, known);
    few.results.settled().await;
    let anew = ask(&few, whole()).await;
    let at_once = ask(&all, whole()).await;
    assert_eq!(anew.counted_at, bed.now());
    assert_eq!(anew, at_once, "in pieces or at once it comes to the same");
    assert_eq!((anew.answered, anew.questions[0].answered, anew.questions[1].texts.len()), (3, 3, 3));
    assert!(anew.median_seconds_to_answer.is_some());
    assert_eq!((count(&few).await, count(&all).await), ((8, 3, 8, false), (8, 3, 8, true)));
    // Each filter is a question of its own, also one of fields that only we can read.
    let one = ResultsFilter { candidate: vec![("wip".into(), "0".into())], ..whole() };
    assert_eq!(counts(&ask(&few, one.clone()).await), (0, 0, Some(3)), "it is not among the newest three");
    few.results.settled().await;
    assert_eq!(counts(&ask(&few, one).await), (1, 1, None));
    let none = ResultsFilter { trigger: Some("other".into()), ..whole() };
    assert_eq!(counts(&ask(&few, none.clone()).await), (0, 0, Some(3)));
    few.results.settled().await;
    assert_eq!(counts(&ask(&few, none).await), (0, 0, None));
    bed.leaves_open("links that may still be answered");
}
