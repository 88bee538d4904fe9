//! The charts: every figure opens exactly the rows that it counts, whatever it is divided by; the filters of the outbox that this
//! rests on; and the page of one recipient.

use punctual_engine::Actor;
use punctual_model::{ReasonCode, SendOutcome, SuppressionReason, delivery_policy::Preference};
use punctual_store::suppressions::SuppressionRow;
use punctual_testkit::{Scripted, TestBed, on_both};
use punctual_wire::keys::Scope;
use serde_json::json;

use crate::{
    client::{Client, rows},
    every_figure::anchors,
    people::ANN,
};

on_both! {
    every_figure_of_a_chart_opens_exactly_its_rows;
    the_age_of_the_queue_opens_exactly_its_rows;
    what_matches_is_saved_as_a_file;
    all_that_match_are_retried_after_a_look;
    a_recipient_is_explained;
    a_channel_s_page_shows_how_it_did;
}

/// Some hours with deliveries over two channels, and three ways to fail.
pub async fn hours(bed: &TestBed) -> TestBed {
    let picky = Scripted::new("picky", |message| match message.address.split('@').next().unwrap() {
        "gone" => SendOutcome::Permanent {
            reason: ReasonCode::MailboxUnavailable,
            error: "550 no such user".into(),
        },
        "poor" => SendOutcome::Permanent { reason: ReasonCode::ContentRefused, error: "554 spam".into() },
        _ => SendOutcome::Delivered { provider_id: "1".into() },
    });
    let bed = bed.with(|bed| bed.adapter(picky));
    bed.channel("email:default", "picky").await;
    bed.channel("sms:default", "picky").await;
    for hour in 0..5_usize {
        let to = ["a@example.org", "b@example.org", "gone@example.org", "poor@example.org"];
        for address in to.iter().cycle().take(3 + hour) {
            let channel = if address.starts_with('b') { "sms:default" } else { "email:default" };
            let address = if channel.starts_with("sms") { "+64215550199" } else { address };
            bed.accept_one(bed.message_over(channel, &[address])).await;
        }
        bed.accept_one(bed.message_over("no:such", &["a@example.org"])).await;
        bed.tick().await;
        bed.run_for(3_600).await;
    }
    let parked = bed.notifications().await.into_iter().find(|row| row.status.as_str() == "parked").unwrap();
    bed.engine.discard_notification(&Actor::named("test"), &parked.id.to_string(), None).await.unwrap();
    bed
}

/// The links of the table behind a chart, each with its count.
fn figures(page: &str, chart: &str) -> Vec<(String, i64)> {
    let table =
        page.split(&format!("data-chart=\"{chart}\"")).nth(1).unwrap().split("</table>").next().unwrap();
    let found = anchors(table).into_iter();
    found.map(|link| (link.to.clone(), link.figure().unwrap_or_else(|| panic!("{link:?}")))).collect()
}

async fn every_figure_of_a_chart_opens_exactly_its_rows(bed: TestBed) {
    let bed = hours(&bed).await;
    let client = Client::admin(&bed).await;
    for range in ["24h", "30d"] {
        for (by, classes) in [("outcome", 3), ("channel", 3), ("cause", 4)] {
            let page = client.page(&format!("/?range={range}&by={by}")).await;
            let found = figures(&page, "endings");
            assert!(found.len() >= classes, "{range} {by}: {found:?}");
            for (link, count) in &found {
                let shown = i64::try_from(rows(&client.page(link).await).len()).unwrap();
                assert_eq!(shown, *count, "{range} {by} {link}");
            }
            // The bars lead to the same places as the table.
            let bars = anchors(&page).into_iter().filter(|link| link.has_class("bar"));
            let bars: Vec<String> =
                bars.map(|link| link.to).filter(|link| link.contains("endedFrom")).collect();
            assert!(bars.iter().all(|bar| found.iter().any(|(link, _)| link == bar)), "{bars:?} {found:?}");
            assert!(bars.len() * 2 >= found.len(), "{by}: {bars:?}");
        }
    }
    let causes = client.page("/?by=cause").await;
    assert!(causes.contains("parked: ") && causes.contains("discarded: "), "{causes}");
}

async fn a_channel_s_page_shows_how_it_did(bed: TestBed) {
    let bed = hours(&bed).await;
    let client = Client::admin(&bed).await;
    for range in ["24h", "7d"] {
        let page = client.page(&format!("/channels/edit?key=email:default&range={range}")).await;
        let found = figures(&page, "health");
        assert!(found.len() > 2 && page.contains("Health over time"), "{page}");
        for (link, count) in found {
            let list = client.page(&link).await;
            assert_eq!(i64::try_from(rows(&list).len()).unwrap(), count, "{link}");
            assert!(!list.contains("<span class=\"reason\">sms:default</span>"), "{link}");
        }
    }
}

async fn the_age_of_the_queue_opens_exactly_its_rows(bed: TestBed) {
    bed.leaves_open("they wait");
    let client = Client::admin(&bed).await;
    for (count, seconds) in [(2, 90_000), (1, 3_000), (3, 30)] {
        for _ in 0..count {
            bed.accept_one(bed.message("a@example.org")).await;
        }
        bed.wait(seconds);
    }
    let found = figures(&client.page("/").await, "ages");
    assert_eq!(found.iter().map(|(_, count)| *count).collect::<Vec<_>>(), [3, 0, 1, 0, 2]);
    for (link, count) in found {
        assert_eq!(i64::try_from(rows(&client.page(&link).await).len()).unwrap(), count, "{link}");
    }
}

async fn what_matches_is_saved_as_a_file(bed: TestBed) {
    let bed = hours(&bed).await;
    let client = Client::admin(&bed).await;
    let page = client.page("/outbox?channel=sms:default").await;
    let shown = rows(&page);
    assert!(shown.len() > 4 && page.contains("href=\"/outbox.csv?channel=sms:default\""), "{page}");
    let file = client.get("/outbox.csv?channel=sms:default").await;
    assert_eq!(file.headers["content-disposition"], "attachment; filename=\"outbox.csv\"");
    assert_eq!(file.text.lines().count(), shown.len() + 1, "{}", file.text);
    assert!(shown.iter().all(|id| file.text.contains(id)), "{}", file.text);
    let cause = client.page("/outbox?cause=mailbox-unavailable").await;
    assert!(!rows(&cause).is_empty() && !cause.contains("554 spam"), "{cause}");
    let limited = client.with_key(&[Scope::Read], Some(&["nz"])).await;
    assert_eq!(limited.get("/outbox.csv").await.text.lines().count(), 1);
}

async fn all_that_match_are_retried_after_a_look(bed: TestBed) {
    let bed = hours(&bed).await;
    let client = Client::admin(&bed).await;
    let filter = "/outbox?status=parked&cause=no-channel";
    let parked = rows(&client.page(filter).await).len();
    assert!(parked > 1, "{parked}");
    let look =
        client.act("/outbox/confirm", &[("action", "retry"), ("matching", filter), ("back", filter)]).await;
    assert!(look.text.contains(&format!("Retry {parked} notifications?")), "{}", look.text);
    assert_eq!(look.text.matches("name=\"row\"").count(), parked);
    let other = client
        .act(
            "/outbox/confirm",
            &[("action", "retry"), ("matching", "/outbox?status=delivered"), ("back", filter)],
        )
        .await;
    assert_eq!(other.status, 303, "what is delivered cannot be chosen: {}", other.text);
}

async fn a_recipient_is_explained(bed: TestBed) {
    let bed = hours(&bed).await;
    let client = Client::admin(&bed).await;
    client.act("/operations/people/save", &ANN).await.leads_to("/operations/people?done=saved");
    bed.accept_one(bed.message_over("email:default", &["ann@example.org"])).await;
    bed.tick().await;
    let block = SuppressionRow {
        channel_type: "email".into(),
        address: "ann@example.org".into(),
        reason: SuppressionReason::Complaint.as_str().into(),
        source: "key:test".into(),
        detail: Some("Called <spam>".into()),
        since: bed.now(),
        expires_at: None,
    };
    bed.engine.suppress(&Actor::named("test"), &block).await.unwrap();
    let wants: Preference = serde_json::from_value(json!({ "quietHours": { "from": "22:00", "to": "07:00" },
        "topics": { "offers": { "subscribed": false } }, "addresses": { "email": "ann@example.org" } }))
    .unwrap();
    bed.engine.change_preference(&Actor::named("test"), "ann", |kept| *kept = wants).await.unwrap();
    let page = client.page("/recipients?address=ANN%40example.org").await;
    for expected in [
        "1 message; gets no email because",
        "Called &#60;spam&#62;",
        "offers",
        "22:00–07:00",
        "href=\"/operations/people/ann\"",
    ] {
        assert!(page.contains(expected), "{expected}: {page}");
    }
    assert_eq!(rows(&page).iter().filter(|row| row.contains('-')).count(), 1, "{page}");
    let found = client.page("/search?q=ann%40example.org").await;
    assert!(found.contains("href=\"/recipients?address=ann%40example.org\""), "{found}");
    // What concerns all business units is not for one of them.
    let limited = client.with_key(&[Scope::Read], Some(&["nz"])).await;
    let page = limited.page("/recipients?address=ann%40example.org").await;
    assert!(
        page.contains("<p class=\"sentence\">No message.</p>")
            && !page.contains("offers")
            && !page.contains("spam"),
        "{page}"
    );
    assert!(client.page("/recipients").await.contains("Type a mail address"));
}
