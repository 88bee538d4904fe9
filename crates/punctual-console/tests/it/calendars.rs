//! Calendars out and in, by the console.

use punctual_store::operations::feeds;
use punctual_testkit::{TestBed, on_both};
use punctual_wire::keys::Scope;

use crate::{
    client::{Client, attribute},
    operations::person,
};

on_both! {
    a_calendar_is_linked_and_a_file_is_imported;
}

const FILE: &str = "BEGIN:VCALENDAR\r\nVERSION:2.0\r\nBEGIN:VEVENT\r\nUID:1@example.org\r\nSUMMARY:Fire drill\r\nDTSTART:20260520T070000Z\r\nDTEND:20260520T080000Z\r\nEND:VEVENT\r\nEND:VCALENDAR\r\n";

async fn a_calendar_is_linked_and_a_file_is_imported(bed: TestBed) {
    person(&bed, "ann").await;
    let client = Client::admin(&bed).await;
    let make = |person: &'static str, act: &'static str| {
        [("/owner", "person"), ("/link/person", person), ("do", act)]
    };
    let refused = client.act("/operations/calendars/link", &make("nobody", "make")).await;
    assert!(refused.status == 422 && refused.text.contains("There is no such person."), "{}", refused.text);
    let made = client.act("/operations/calendars/link", &make("ann", "make")).await;
    let path = attribute(&made.text, "id=\"secret\" class=\"mono\" value=\"");
    assert!(path.starts_with("/calendars/") && path.ends_with(".ics"), "{path}");
    let kept = async || feeds::of(&mut bed.read().await.conn(), "person", "ann").await.unwrap();
    assert!(kept().await.is_some());
    client
        .act("/operations/calendars/link", &make("ann", "end"))
        .await
        .leads_to("/operations/calendars?done=ended");
    assert!(kept().await.is_none());
    let refused = client.act("/operations/calendars/link", &make("ann", "end")).await;
    assert!(refused.status == 422 && refused.text.contains("There is no link"), "{}", refused.text);

    let refused =
        client.act("/operations/calendars/import", &[("/creator", ""), ("/text", "Fire drill")]).await;
    for fault in ["href=\"#f-creator\"", "href=\"#f-text\"", "Fire drill</textarea>"] {
        assert!(refused.status == 422 && refused.text.contains(fault), "{fault}: {}", refused.text);
    }
    let import = [("/creator", "ann"), ("/text", FILE)];
    let done = client.act("/operations/calendars/import", &import).await;
    assert!(done.text.contains("1 event or task made"), "{}", done.text);
    assert!(client.page("/operations?view=list&on=2026-05-14").await.contains("Fire drill"));
    let again = client.act("/operations/calendars/import", &import).await;
    assert!(
        again.text.contains("0 events and tasks made") && again.text.contains("1 event or task as they were"),
        "{}",
        again.text
    );
    let reader = client.with_key(&[Scope::Read], None).await;
    reader.act("/operations/calendars/import", &import).await.refused(403, "scope_missing");
    reader.act("/operations/calendars/link", &make("ann", "make")).await.refused(403, "scope_missing");
    bed.leaves_open("its messages are planned");
}
