//! A fresh installation, by clicking alone: from nothing to a real mail over SMTP and a first reminder.

use punctual_testkit::{TestBed, on_both};

use crate::{
    browser::{Stage, on_sqlite},
    client::Client,
    editors_browser::{choose, choose_and_wait},
    settings::with_adapters,
    settings_browser::{Relay, fill, follow, notice},
};

on_both! {
    the_first_steps_tick_themselves_and_go_away;
}

/// As many of the steps are done.
fn done(page: &str) -> usize {
    page.matches("<li class=\"past\">").count()
}

async fn the_first_steps_tick_themselves_and_go_away(bed: TestBed) {
    let bed = with_adapters(&bed);
    bed.leaves_open("a reminder is planned");
    let client = Client::admin(&bed).await;
    let mut tx = bed.begin().await;
    punctual_store::channels::delete(&mut tx.conn(), "email:default").await.unwrap();
    tx.commit().await.unwrap();
    let page = client.page("/").await;
    assert!(done(&page) == 0 && page.contains("href=\"/channels/add\""), "{page}");
    bed.channel("memory:own", "memory").await;
    assert_eq!(done(&client.page("/").await), 1);
    client.act("/channels/test", &[("channel", "memory:own"), ("address", "a@example.org")]).await;
    assert_eq!(done(&client.page("/").await), 2);
    bed.list("ops", "memory:own", &["a@example.org"]).await;
    let page = client.page("/").await;
    assert!(done(&page) == 3 && page.contains("href=\"/reminders/new\""), "{page}");
    // Whoever may not take them does not see them.
    let reader = client.with_key(&[punctual_wire::keys::Scope::Read], None).await;
    assert!(!reader.page("/").await.contains("First steps"));
    bed.schedule("soon", "t", bed.after(3_600)).await;
    assert!(!client.page("/").await.contains("First steps"));
}

#[test]
fn the_first_mail_and_the_first_reminder_in_a_browser() {
    on_sqlite(async |bed| {
        let bed = with_adapters(&bed);
        let relay = Relay::start().await;
        let mut tx = bed.begin().await;
        punctual_store::channels::delete(&mut tx.conn(), "email:default").await.unwrap();
        tx.commit().await.unwrap();
        let mut stage = Stage::on(&bed).await;
        stage.sign_in().await;
        assert_eq!(stage.texts(".steps .past").await.len(), 0);
        stage.browser.picture("first-run-1280-light").await;
        follow(&mut stage, "Add a channel").await;
        follow(&mut stage, "Mail over SMTP").await;
        fill(&mut stage, "/key", "email:default").await;
        fill(&mut stage, "/settings/host", "127.0.0.1").await;
        fill(&mut stage, "/settings/port", &relay.port).await;
        fill(&mut stage, "/settings/from", "ops@a.example").await;
        stage.browser.eval("document.querySelector('[name=\"/settings/tls\"]').value = 'none'").await;
        follow(&mut stage, "Create channel").await;
        stage.browser.follow(".brand").await;
        follow(&mut stage, "Send a test message").await;
        fill(&mut stage, "address", "ann@b.example").await;
        follow(&mut stage, "Send it now").await;
        let said = notice(&mut stage).await;
        assert!(said.starts_with("Test message to ann@b.example: accepted."), "{said}");
        assert!(relay.first_mail().to_string().contains("this channel works"));
        stage.browser.follow(".brand").await;
        assert_eq!(stage.texts(".steps .past").await.len(), 2);
        follow(&mut stage, "Create a list").await;
        fill(&mut stage, "/name", "ops").await;
        fill(&mut stage, "/targets", "ann@b.example").await;
        follow(&mut stage, "Create list").await;
        stage.browser.follow(".brand").await;
        stage.browser.picture("first-run-3-1280-light").await;
        // Nothing is typed in a terminal, and no program has reported anything: the first source is entered by hand.
        follow(&mut stage, "Add a source").await;
        fill(&mut stage, "/type", "document").await;
        fill(&mut stage, "/id", "1").await;
        stage.browser.eval("document.querySelector('[name=\"/fields/0/date\"]').value = '2026-05-16'").await;
        fill(&mut stage, "/fields/1/text", "aroha@example.org").await;
        follow(&mut stage, "Create source").await;
        assert_eq!(stage.texts(".details dd").await, ["aroha@example.org", "2026-05-16"]);
        stage.browser.follow(".brand").await;
        follow(&mut stage, "Create a reminder").await;
        fill(&mut stage, "/name", "First aid").await;
        choose_and_wait(&mut stage, "/sourceType", "document").await;
        choose(&mut stage, "/date/field", "/expiresOn").await;
        choose(&mut stage, "/recipients/field", "/email").await;
        follow(&mut stage, "Show what it would do").await;
        follow(&mut stage, "Create reminder").await;
        stage.browser.follow(".brand").await;
        assert_eq!(stage.texts(".first-run").await.len(), 0, "all is done");
        bed.run_for(3 * 86_400).await;
        let mails: Vec<String> = std::fs::read_dir(relay.folder())
            .unwrap()
            .map(|entry| std::fs::read_to_string(entry.unwrap().path()).unwrap_or_default())
            .collect();
        assert!(mails.iter().any(|mail| mail.contains("aroha@example.org")), "{mails:?}");
        stage.finish();
    });
}
