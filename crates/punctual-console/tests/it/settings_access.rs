//! Who may change settings: by role, and by business unit.

use punctual_model::Reach;
use punctual_store::lists;
use punctual_testkit::{TestBed, on_both};
use punctual_wire::keys::Scope;

use crate::settings::{SMTP, console, with};

on_both! {
    only_those_who_may_change_settings_can;
}

async fn only_those_who_may_change_settings_can(bed: TestBed) {
    let (bed, admin) = console(&bed).await;
    let reader = admin.with_key(&[Scope::Read], None).await;
    assert!(!reader.page("/settings/lists").await.contains("Add a list"));
    reader.get("/settings/lists/new").await.refused(403, "scope_missing");
    reader.get("/channels/new?adapter=smtp").await.refused(403, "scope_missing");
    reader.act("/channels/save", &SMTP).await.refused(403, "scope_missing");
    reader.get("/settings/keys").await.refused(403, "scope_missing");
    let author = admin.with_key(&[Scope::Read, Scope::Author], Some(&["nz"])).await;
    assert!(!author.page("/settings").await.contains("/settings/keys"));
    author.get("/settings/keys").await.refused(403, "scope_missing");
    let fields = [("/name", "mine"), ("/type", "memory"), ("/targets", "a"), ("/businessUnit", "nz")];
    author.act("/settings/lists/save", &fields).await.leads_to("/settings/lists/edit?key=mine&done=saved");
    let theirs = with(&fields, &[("/name", "theirs"), ("/businessUnit", "de")]);
    assert_eq!(
        author.act("/settings/lists/save", &theirs).await.status,
        422,
        "another unit's name is unknown"
    );
    assert!(lists::get(&mut bed.read().await.conn(), &Reach::Everything, "theirs").await.unwrap().is_none());
    let other = admin.with_key(&[Scope::Read, Scope::Author], Some(&["de"])).await;
    other.get("/settings/lists/edit?key=mine").await.refused(404, "not_found");
}
