//! The preferences of a person, set by an operator.

use punctual_model::delivery_policy::Preference;
use punctual_testkit::{TestBed, on_both};
use punctual_wire::keys::Scope;

use crate::client::{Client, attribute};

on_both! {
    an_operator_sets_what_a_person_wants;
}

async fn an_operator_sets_what_a_person_wants(bed: TestBed) {
    let client = Client::admin(&bed).await;
    let wanted = [
        ("/person", "ann@example.org"),
        ("/timeZone", "Europe/Berlin"),
        ("/quietHours/from", "22:00"),
        ("/quietHours/to", "07:00"),
        ("/topics?rows", "1"),
        ("/topics/0/name", "offers"),
        ("/topics/0/subscribed", "no"),
    ];
    let saved = "/preferences/edit?key=ann%40example.org&done=saved";
    client.act("/preferences/save", &wanted).await.leads_to(saved);
    let stored = async || {
        Preference::read(&bed.engine.preference_of("ann@example.org").await.unwrap().unwrap().definition)
    };
    assert!(stored().await.topics.get("offers").is_some_and(|topic| !topic.subscribed));
    let form = client.page(saved).await;
    assert!(form.contains("name=\"/quietHours/from\" type=\"time\" value=\"22:00\""), "{form}");
    let version = attribute(&form, "name=\"version\" value=\"");
    let base = attribute(&form, "name=\"base\" value=\"").replace("&#34;", "\"");

    // What is wrong stands at its field, and nothing is stored.
    let change = |name: &'static str, value: &'static str| {
        let mut fields: Vec<(&str, &str)> =
            vec![("known", "ann@example.org"), ("version", version.as_str()), ("base", base.as_str())];
        fields.extend(wanted.iter().copied().filter(|(own, _)| *own != name));
        fields.push((name, value));
        fields
    };
    let refused = client.act("/preferences/save", &change("/timeZone", "Nowhere")).await;
    assert!(refused.status == 422 && refused.text.contains("href=\"#f-timeZone\""), "{}", refused.text);
    let new = wanted.map(|(name, value)| if name == "/person" { (name, "") } else { (name, value) });
    let refused = client.act("/preferences/save", &new).await;
    assert!(refused.status == 422 && refused.text.contains("href=\"#f-person\""), "{}", refused.text);
    assert_eq!(stored().await.time_zone.as_deref(), Some("Europe/Berlin"));

    // The person changed it on their own page meanwhile.
    let by = punctual_engine::Actor::named("ann@example.org");
    bed.engine.change_preference(&by, "ann@example.org", |kept| kept.daily_cap = Some(3)).await.unwrap();
    let stale = client.act("/preferences/save", &change("/timeZone", "Asia/Tokyo")).await;
    assert!(
        stale.status == 409
            && stale.text.contains("Messages a day: was <code>nothing</code>, is now <code>3</code>"),
        "{}",
        stale.text
    );

    let reader = client.with_key(&[Scope::Read], None).await;
    reader.act("/preferences/save", &wanted).await.refused(403, "scope_missing");
    client
        .act("/preferences/delete", &[("key", "ann@example.org")])
        .await
        .leads_to("/preferences?done=removed");
    assert!(bed.engine.preference_of("ann@example.org").await.unwrap().is_none());
    client.act("/preferences/delete", &[("key", "ann@example.org")]).await.refused(404, "not_found");
}
