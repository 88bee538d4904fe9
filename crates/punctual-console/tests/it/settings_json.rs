//! The second tab of an editor: a definition as JSON, saved by the same command as the form.

use punctual_model::Reach;
use punctual_store::lists;
use punctual_testkit::{TestBed, on_both};
use punctual_wire::keys::Scope;

use crate::{
    client::attribute,
    settings::{SMTP, console, with},
};

on_both! {
    a_definition_is_changed_as_json;
    a_secret_is_not_in_the_json_and_stays;
}

const OPS: [(&str, &str); 4] =
    [("version", ""), ("/name", "ops"), ("/type", "email"), ("/targets", "ann@example.org")];

/// The text of the field.
fn text(page: &str) -> String {
    let text = page.split("name=\"definition\"").nth(1).unwrap().split_once('>').unwrap().1;
    text.split("</textarea>").next().unwrap().trim().replace("&#34;", "\"")
}

async fn a_definition_is_changed_as_json(bed: TestBed) {
    let (bed, client) = console(&bed).await;
    client.act("/settings/lists/save", &OPS).await.leads_to("/settings/lists/edit?key=ops&done=saved");
    let form = client.page("/settings/lists/edit?key=ops").await;
    // The same button as every other editor has: what was typed goes along.
    assert!(form.contains("name=\"do\" value=\"as json\""), "{form}");
    let typed = [
        ("known", "ops"),
        ("do", "as json"),
        ("/name", "ops"),
        ("/type", "email"),
        ("/targets", "typed@example.org"),
    ];
    assert!(text(&client.act("/settings/lists/save", &typed).await.text).contains("typed@example.org"));
    // Who may only read has links.
    let reader = client.with_key(&[Scope::Read], None).await;
    let form = reader.page("/settings/lists/edit?key=ops").await;
    assert!(form.contains("href=\"/settings/lists/edit?key=ops&#38;view=json\""), "{form}");
    assert!(text(&reader.page("/settings/lists/edit?key=ops&view=json").await).contains("ann@example.org"));
    let page = client.page("/settings/lists/edit?key=ops&view=json").await;
    let (shown, version) = (text(&page), attribute(&page, "name=\"version\" value=\""));
    let base = attribute(&page, "name=\"base\" value=\"").replace("&#34;", "\"");
    let changed = shown.replace("ann@example.org", "ben@example.org");
    let send = async |text: &str, version: &str| {
        client
            .act(
                "/settings/lists/save",
                &[
                    ("known", "ops"),
                    ("version", version),
                    ("base", &base),
                    ("as", "json"),
                    ("definition", text),
                ],
            )
            .await
    };
    // What is wrong is named by its place, and the text stays.
    for (wrong, expected) in
        [("{", "expected a field name"), (&*changed.replace("targets", "tragets"), "tragets")]
    {
        let refused = send(wrong, &version).await;
        assert_eq!(refused.status, 422, "{}", refused.text);
        assert!(
            refused.text.contains(expected)
                && refused.text.contains(
                    "aria-invalid=\"true\" autofocus aria-describedby=\"fdefinition-hint fdefinition-fault\""
                ),
            "{}",
            refused.text
        );
        assert_eq!(text(&refused.text), wrong);
    }
    bed.wait(1);
    send(&changed.replacen('{', "{\"name\": \"other\",", 1), &version)
        .await
        .leads_to("/settings/lists/edit?key=ops&done=saved");
    let row = lists::get(&mut bed.read().await.conn(), &Reach::Everything, "ops").await.unwrap().unwrap();
    assert!(row.targets.contains("ben@example.org"), "the key stays what it is: {row:?}");
    // Somebody else was faster.
    bed.wait(1);
    let stale = send(&shown, &version).await;
    assert_eq!(stale.status, 409, "{}", stale.text);
    assert!(stale.text.contains("Somebody else has changed") && stale.text.contains("ben@example.org"));
    let again = attribute(&stale.text, "name=\"version\" value=\"");
    send(&shown, &again).await.leads_to("/settings/lists/edit?key=ops&done=saved");
    client.get("/settings/lists/edit?key=none&view=json").await.refused(404, "not_found");
}

async fn a_secret_is_not_in_the_json_and_stays(bed: TestBed) {
    let (bed, client) = console(&bed).await;
    let secret = [("/settings/username", "mailer"), ("/settings/password", "hunter2-hunter2")];
    client
        .act("/channels/save", &with(&SMTP, &secret))
        .await
        .leads_to("/channels/edit?key=email:ops&done=saved");
    let page = client.page("/channels/edit?key=email:ops&view=json").await;
    assert!(!page.contains("hunter2") && page.contains("mail.example.com"), "{page}");
    let (shown, version) = (text(&page), attribute(&page, "name=\"version\" value=\""));
    let changed = shown.replace("ops@example.com", "post@example.com");
    let fields = [
        ("known", "email:ops"),
        ("version", version.as_str()),
        ("as", "json"),
        ("definition", changed.as_str()),
    ];
    client.act("/channels/save", &fields).await.leads_to("/channels/edit?key=email:ops&done=saved");
    let row =
        punctual_store::channels::get(&mut bed.read().await.conn(), "email:ops").await.unwrap().unwrap();
    assert!(
        row.settings.contains("post@example.com") && row.settings.contains("password"),
        "{}",
        row.settings
    );
}
