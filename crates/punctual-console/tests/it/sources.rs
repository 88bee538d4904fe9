//! Sources that people enter: one in a form, many in a table that is planned first.

use punctual_testkit::{TestBed, on_both};
use punctual_wire::keys::Scope;

use crate::{
    client::{Client, rows},
    reminders::{as_json, definition, put_source, save},
};

on_both! {
    a_source_is_entered_changed_and_removed;
    what_makes_no_state_is_refused_at_its_field;
    a_table_is_planned_and_then_imported;
    units_keep_their_sources_to_themselves;
}

/// The form of one document.
fn document<'f>(id: &'f str, expires: &'f str) -> Vec<(&'f str, &'f str)> {
    vec![
        ("/type", "document"),
        ("/id", id),
        ("/active", "yes"),
        ("/fields?rows", "2"),
        ("/fields/0/name", "expiresOn"),
        ("/fields/0/as", "date"),
        ("/fields/0/date", expires),
        ("/fields/1/name", "email"),
        ("/fields/1/as", "text"),
        ("/fields/1/text", "ann@example.org"),
    ]
}

async fn a_source_is_entered_changed_and_removed(bed: TestBed) {
    bed.leaves_open("a reminder is planned");
    let client = Client::admin(&bed).await;
    let page = client.page("/sources").await;
    assert!(page.contains("No sources yet") && page.contains("href=\"/sources/new\""), "{page}");
    // A new one begins with a date and an address.
    let page = client.page("/sources/new").await;
    assert!(page.contains("value=\"expiresOn\"") && page.contains("value=\"email\""), "{page}");
    let saved = save(&client, &as_json(&definition().to_string())).await;
    assert_eq!(saved.status, 303, "{}", saved.text);
    let form = document("7", "2026-06-20");
    client.act("/sources/save", &form).await.leads_to("/sources/document/7?done=saved");
    assert_eq!(bed.audit("source", "document/7").await, ["put"]);
    let page = client.page("/sources/document/7?done=saved").await;
    assert!(
        page.contains("The source is saved.") && page.contains("<dt>expiresOn</dt><dd>2026-06-20</dd>"),
        "{page}"
    );
    assert!(client.page("/sources?type=document").await.contains("expiresOn: 2026-06-20"));
    // Its id is taken now.
    let again = client.act("/sources/save", &form).await;
    assert!(
        again.status == 409 && again.text.contains("There is a source of this name already."),
        "{}",
        again.text
    );
    // One more of its kind has its fields, without their values.
    let page = client.page("/sources/new?type=document").await;
    assert!(page.contains("value=\"email\"") && !page.contains("ann@example.org"), "{page}");

    let edit = client.page("/sources/edit?key=document%2F7").await;
    let of = |name: &str| crate::client::attribute(&edit, &format!("name=\"{name}\" value=\""));
    let (version, base) = (of("version"), crate::every_form::unescaped(&of("base")));
    let mut change = document("7", "2026-07-20");
    change.extend([("known", "document/7"), ("/key", "document/7"), ("version", &version), ("base", &base)]);
    client.act("/sources/save", &change).await.leads_to("/sources/document/7?done=saved");
    // Whoever opened it before learns what changed, and nothing is lost.
    let late = client.act("/sources/save", &change).await;
    assert!(late.status == 409 && late.text.contains("Save over it"), "{}", late.text);
    assert!(late.text.contains("expiresOn: Value") || late.text.contains("2026-07-20"), "{}", late.text);

    client.act("/sources/delete", &[("key", "document/7")]).await.leads_to("/sources?done=removed");
    assert_eq!(bed.audit("source", "document/7").await, ["put", "put", "delete"]);
    assert!(
        client.page("/work?list=all").await.contains("withdrawn")
            || rows(&client.page("/work").await).is_empty()
    );
    // It can be entered anew.
    client.act("/sources/save", &form).await.leads_to("/sources/document/7?done=saved");
}

async fn what_makes_no_state_is_refused_at_its_field(bed: TestBed) {
    let client = Client::admin(&bed).await;
    let mut form = document("", "soon");
    form.extend([
        ("/fields/2/name", "email"),
        ("/fields/2/as", "text"),
        ("/fields/2/text", "ben@example.org"),
        ("/fields/3/as", "number"),
        ("/fields/3/number", "many"),
    ]);
    form.iter_mut().filter(|(name, _)| *name == "/fields?rows").for_each(|(_, count)| *count = "4");
    let refused = client.act("/sources/save", &form).await;
    assert_eq!(refused.status, 422, "{}", refused.text);
    for said in [
        "Id is missing",
        "This is no date",
        "There is a field of this name already.",
        "Name is missing.",
        "This is no number.",
        "value=\"ben@example.org\"",
        "value=\"many\"",
    ] {
        assert!(refused.text.contains(said), "{said}: {}", refused.text);
    }
    // What is no single value is edited as JSON, and stays as it is.
    put_source(&bed, "document", "9", &serde_json::json!({ "owner": { "email": "a@example.org" } })).await;
    let page = client.page("/sources/edit?key=document%2F9").await;
    assert!(page.contains("The form cannot show all of it") && page.contains("&#34;owner&#34;"), "{page}");
}

async fn a_table_is_planned_and_then_imported(bed: TestBed) {
    let client = Client::admin(&bed).await;
    put_source(&bed, "document", "1", &serde_json::json!({ "expiresOn": "2026-06-01" })).await;
    let text =
        "id,expiresOn,businessUnit\n1,2026-06-01,\n2,2026-06-02,\n3,2026-06-03,nowhere\n2,2026-06-04,\n";
    let form = [("/type", "document"), ("/text", text)];
    let planned = client.act("/sources/import", &form).await;
    assert_eq!(planned.status, 200, "{}", planned.text);
    for said in [
        "1 source is new, 0 changed, 1 as they are, 2 refused.",
        "document 2",
        "Import 1 source",
        "Line 4:",
        "Line 5: The same source is on line 3.",
    ] {
        assert!(planned.text.contains(said), "{said}: {}", planned.text);
    }
    assert!(bed.audit("source", "document/2").await.is_empty(), "nothing is stored before it is planned");
    let digest = crate::client::attribute(&planned.text, "name=\"planned\" value=\"");
    let send = [form.as_slice(), &[("planned", digest.as_str())]].concat();
    // Another text is planned anew.
    let other = [("/type", "document"), ("/text", "id\n5\n"), ("planned", digest.as_str())];
    assert!(client.act("/sources/import", &other).await.text.contains("Import 1 source"));
    let done = client.act("/sources/import", &send).await;
    assert!(done.text.contains("1 source added, 0 changed, 1 as they were."), "{}", done.text);
    assert_eq!(bed.audit("source", "document/2").await, ["put"]);
    assert!(bed.audit("source", "document/1").await.is_empty(), "what is as it was is left alone");
    assert!(client.page("/sources/document/2").await.contains("2026-06-02"));
    let refused = client.act("/sources/import", &[("/text", "name\n1\n")]).await;
    assert!(
        refused.status == 422 && refused.text.contains("has no column `id`")
            || refused.text.contains("has no column"),
        "{}",
        refused.text
    );
}

async fn units_keep_their_sources_to_themselves(bed: TestBed) {
    let admin = Client::admin(&bed).await;
    let form = document("7", "2026-06-20");
    let of_de = [form.as_slice(), &[("/businessUnit", "de")]].concat();
    admin.act("/sources/save", &of_de).await.leads_to("/sources/document/7?done=saved");
    let nz = admin.with_key(&[Scope::Read, Scope::Author], Some(&["nz"])).await;
    assert_eq!(nz.get("/sources/edit?key=document%2F7").await.status, 404);
    assert_eq!(nz.act("/sources/delete", &[("key", "document/7")]).await.status, 404);
    // Its name is taken, as any other name out of reach.
    let taken = nz.act("/sources/save", &form).await;
    assert_eq!(taken.status, 409, "{}", taken.text);
    let reader = admin.with_key(&[Scope::Read], None).await;
    assert_eq!(reader.act("/sources/save", &form).await.status, 403);
    assert_eq!(reader.get("/sources/import").await.status, 403);
    assert!(!reader.page("/sources").await.contains("Add a source"));
}
