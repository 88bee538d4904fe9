//! The page of the audit: filters, a time range, and a file in which nothing is a formula.

use punctual_engine::Actor;
use punctual_model::AuditAction;
use punctual_store::{Lane, audit::Entry};
use punctual_testkit::{TestBed, on_both};
use punctual_wire::keys::Scope;

use crate::{client::Client, users::invite};

on_both! {
    entries_are_shown_filtered_and_exported;
    a_page_of_the_audit_ends_and_goes_on;
}

async fn add(bed: &TestBed, entry: Entry) {
    let mut tx = bed.store.begin(Lane::Intake).await.unwrap();
    Actor::named("=HYPERLINK(\"x\")").audit_entry(&mut tx, bed.now(), entry).await.unwrap();
    tx.commit().await.unwrap();
}

async fn entries_are_shown_filtered_and_exported(bed: TestBed) {
    let admin = Client::admin(&bed).await;
    add(&bed, Entry::new(AuditAction::Put, "list", "<b>kiwi", Some("nz"))).await;
    add(&bed, Entry::new(AuditAction::Delete, "list", "emu", Some("au"))).await;
    let page = admin.page("/audit").await;
    assert!(page.contains("list/&#60;b&#62;kiwi") || page.contains("list/&lt;b&gt;kiwi"), "{page}");
    assert!(page.contains("list/emu") && page.contains("not yet") && page.contains("sign-in"));
    bed.tick().await;
    assert!(!admin.page("/audit").await.contains("not yet"), "they are sealed");
    let page = admin.page("/audit?action=delete").await;
    assert!(page.contains("list/emu") && !page.contains("kiwi"));
    assert!(admin.page("/audit?subject=list/emu&from=2026-05-13T00:00").await.contains("list/emu"));
    assert!(admin.page("/audit?subject=list/emu&to=2026-05-13T00:00").await.contains("Nothing matches"));
    for (query, fault) in [
        ("from=soon", "A time is written like"),
        ("subject=list", "A subject is a kind and an id"),
        ("action=ate", "There is no such action"),
    ] {
        let page = admin.page(&format!("/audit?{query}")).await;
        assert!(page.contains(fault) && !page.contains("list/emu"), "{query}");
        assert!(!admin.page(&format!("/audit.csv?{query}")).await.contains("emu"), "{query}");
    }
    let file = admin.get("/audit.csv?subject=list/emu").await;
    assert_eq!(file.headers["content-type"], "text/csv; charset=utf-8");
    let lines: Vec<&str> = file.text.lines().collect();
    assert_eq!(lines.len(), 2, "{}", file.text);
    assert_eq!(lines[0], "seq,at,actor,action,subject,from,to,version,reason,data,businessUnit,digest");
    assert!(lines[1].contains("\"'=HYPERLINK(\"\"x\"\")\",delete,list/emu,"), "{}", lines[1]);
    // People are named.
    invite(&admin, "ada@example.org", "author", None).await;
    let page = admin.page("/audit").await;
    assert!(page.contains("href=\"/settings/users/") && page.contains(">user: Ada</a>"), "{page}");
    let nz = admin.with_key(&[Scope::Read], Some(&["nz"])).await;
    for path in ["/audit", "/audit.csv", "/audit?action=delete"] {
        let text = nz.page(path).await;
        assert!(!text.contains("list/emu") && !text.contains("key/"), "{path}: {text}");
    }
    assert!(nz.page("/audit.csv").await.contains("kiwi"));
}

async fn a_page_of_the_audit_ends_and_goes_on(bed: TestBed) {
    let admin = Client::admin(&bed).await;
    for number in 0..60 {
        add(&bed, Entry::new(AuditAction::Put, "list", format!("l{number:02}"), None)).await;
    }
    let page = admin.page("/audit?action=put").await;
    assert!(page.contains("list/l59") && page.contains("list/l10") && !page.contains("list/l09"));
    let (_, rest) = page.split_once("rel=\"next\" href=\"").unwrap();
    let next = rest.split('"').next().unwrap().replace("&amp;", "&").replace("&#38;", "&");
    let page = admin.page(&next).await;
    assert!(page.contains("list/l09") && page.contains("list/l00") && !page.contains("list/l10"), "{next}");
    assert!(!page.contains("rel=\"next\""));
}
