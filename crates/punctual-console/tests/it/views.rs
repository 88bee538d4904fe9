//! Saved views: the filters of a list under a name, for whoever saved them alone.

use punctual_engine::{Actor, commands::SavedView};
use punctual_store::sessions::Owner;
use punctual_testkit::{TestBed, on_both};
use punctual_wire::keys::Scope;

use crate::{
    client::{Client, rows},
    every_figure::anchors,
    users::{id_of, invite},
};

on_both! {
    a_view_is_saved_opened_and_removed;
    a_name_that_cannot_be_taken_is_kept_in_its_field;
    views_belong_to_whoever_saved_them;
}

const QUERY: &str = "?q=ann%40example.org&status=parked";

async fn some_rows(bed: &TestBed) -> Client {
    for address in ["ann@example.org", "ben@example.org"] {
        bed.accept_one(bed.message_over("no:such", &[address])).await;
    }
    bed.tick().await;
    Client::admin(bed).await
}

async fn save(client: &Client, name: &str) -> String {
    let fields = [("page", "/outbox"), ("query", QUERY), ("name", name)];
    let reply = client.act("/views/save", &fields).await;
    assert_eq!(reply.status, 303, "{}", reply.text);
    reply.headers["location"].to_str().unwrap().to_owned()
}

fn views(page: &str) -> Vec<(String, String)> {
    let part = page.split("class=\"views\"").nth(1).unwrap_or_default().split("</div>").next().unwrap();
    anchors(part).into_iter().map(|link| (link.text, link.to)).collect()
}

async fn a_view_is_saved_opened_and_removed(bed: TestBed) {
    let client = some_rows(&bed).await;
    assert!(!client.page("/outbox").await.contains("Save this view"), "nothing is filtered");
    // The form carries the filters of the page, and nothing that says where the page began.
    let page = client.page(&format!("/outbox{QUERY}&cursor=9999999999999999.1")).await;
    assert!(page.contains("name=\"query\" value=\"?q=ann%40example.org&#38;status=parked\""), "{page}");
    let back = save(&client, "Ann's parked").await;
    assert_eq!(back, format!("/outbox{QUERY}&view-done=saved"));
    assert!(client.page(&back).await.contains("The view is saved."));
    let all = client.page("/outbox").await;
    assert_eq!(views(&all), [("Ann&#39;s parked".to_owned(), format!("/outbox{QUERY}"))]);
    let view = client.page(&views(&all)[0].1).await;
    assert_eq!(rows(&view).len(), 1);
    assert!(view.contains("aria-current=\"true\">Ann&#39;s parked"), "{view}");
    // The same name again replaces it; other lists do not have it.
    save(&client, "Ann's parked").await;
    assert_eq!(views(&client.page("/outbox").await).len(), 1);
    assert!(views(&client.page("/audit?actor=ann").await).is_empty());
    let fields = [("page", "/outbox"), ("name", "Ann's parked")];
    client.act("/views/remove", &fields).await.leads_to("/outbox?view-done=removed");
    assert!(views(&client.page("/outbox").await).is_empty());
    client.act("/views/remove", &fields).await.refused(404, "not_found");
    let foreign = [("page", "//evil.example"), ("query", ""), ("name", "a")];
    client.act("/views/save", &foreign).await.refused(404, "not_found");
}

async fn a_name_that_cannot_be_taken_is_kept_in_its_field(bed: TestBed) {
    let client = some_rows(&bed).await;
    let long = "x".repeat(61);
    for name in ["", long.as_str()] {
        let page = client.page(&save(&client, name).await).await;
        assert!(page.contains("A view has a name of 1 to 60 characters"), "{page}");
        let kept =
            format!("value=\"{name}\" aria-invalid=\"true\" aria-describedby=\"view-fault\" autofocus");
        assert!(page.contains(&kept), "{page}");
        assert_eq!(rows(&page).len(), 1, "the filters stay");
    }
    for n in 0..50 {
        save(&client, &format!("View {n}")).await;
    }
    assert!(save(&client, "One more").await.contains("view-done=refused"));
    assert!(save(&client, "View 7").await.contains("view-done=saved"), "one that is there can be replaced");
    assert_eq!(views(&client.page("/outbox").await).len(), 50);
}

async fn views_belong_to_whoever_saved_them(bed: TestBed) {
    let client = some_rows(&bed).await;
    save(&client, "Mine").await;
    // Whoever may only read has views too, and sees nobody else's.
    let reader = client.with_key(&[Scope::Read], Some(&["nz"])).await;
    assert!(views(&reader.page("/outbox").await).is_empty());
    save(&reader, "Theirs").await;
    assert_eq!(views(&reader.page("/outbox").await)[0].0, "Theirs");
    assert_eq!(views(&client.page("/outbox").await)[0].0, "Mine");
    reader.act("/views/remove", &[("page", "/outbox"), ("name", "Mine")]).await.refused(404, "not_found");
    // Those of a person go with the account.
    invite(&client, "ada@example.org", "author", None).await;
    let ada = Owner::User(id_of(&bed, "ada@example.org").await);
    let view = SavedView { name: "Hers".into(), pairs: vec![("status".into(), "parked".into())] };
    bed.engine.save_view(&Actor::named("ada"), &ada, "/outbox", &view).await.unwrap();
    assert_eq!(bed.engine.saved_views(&ada, "/outbox").await.unwrap(), [view]);
    let Owner::User(id) = &ada else { unreachable!() };
    bed.engine.delete_user(&Actor::named("test"), bed.now(), id).await.unwrap();
    assert!(bed.engine.saved_views(&ada, "/outbox").await.unwrap().is_empty());
}
