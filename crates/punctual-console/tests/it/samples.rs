//! One of everything that a page shows, and where it is: what walks every page fills its addresses from here.

use jiff::Timestamp;
use punctual_engine::Actor;
use punctual_model::{NotificationSource, delivery_policy::Preference};
use punctual_store::{
    consumers::{self, ConsumerRow},
    sites,
};
use punctual_testkit::TestBed;
use serde_json::json;

use crate::{
    client::{Client, rows},
    operations::{event, put},
    people::ANN,
    preferences,
    reminders::{self, definition, put_source},
    reports::{company, subscribe, weekly},
    surveys::{asked, schema, survey},
    users::{id_of, invite},
};

/// Where the samples are.
pub struct Samples {
    notification: String,
    work: String,
    event: String,
    reminder: String,
    report: String,
    /// `/reports/GUID/runs/RUN`.
    run: String,
    survey: String,
    instance: String,
    user: String,
    preference: String,
    invitation: String,
    /// `id=…` of an erasure.
    erasure: String,
}

impl Samples {
    /// Makes one of everything. The adapters of the product are there.
    pub async fn make(bed: &TestBed) -> Self {
        bed.leaves_open("samples");
        let client = Client::admin(bed).await;
        company(bed).await;
        bed.run_for(7 * 86_400).await;
        bed.list("ops", "email:default", &["ann@example.org", "ben@example.org"]).await;
        let mut lost = bed.message_over("no:such", &["ann@example.org"]);
        lost.subject = "Freezer 3 is at −11 °C".into();
        lost.html = Some("<p>Freezer 3</p>".into());
        lost.source = NotificationSource { site: Some("plant-7".into()), script: None, instance: None };
        let notification = bed.accept_one(lost).await;
        bed.accept_one(bed.message_to_list("no-such-list")).await;
        bed.tick().await;
        let mut tx = bed.begin().await;
        sites::insert(&mut tx.conn(), bed.now(), "plant-7", None).await.unwrap();
        let consumer = ConsumerRow {
            key: "nats:orders".into(),
            adapter: "nats".into(),
            settings: "{}".into(),
            business_unit: None,
            active: true,
            version: 0,
            updated_at: Timestamp::UNIX_EPOCH,
        };
        consumers::put(&mut tx.conn(), bed.now(), &consumer).await.unwrap();
        tx.commit().await.unwrap();

        put_source(bed, "document", "1", &json!({ "expiresOn": "2026-06-20", "email": "ann@example.org" }))
            .await;
        let text = definition().to_string();
        let saved = reminders::save(&client, &reminders::as_json(&text)).await;
        assert_eq!(saved.status, 303, "{}", saved.text);
        let reminder = rows(&client.page("/reminders").await).remove(0);

        client.act("/operations/people/save", &ANN).await.leads_to("/operations/people?done=saved");
        let ben = [
            ("known", ""),
            ("id", "ben"),
            ("name", "Ben"),
            ("email", "ben@example.org"),
            ("channels", "email"),
        ];
        client.act("/operations/people/save", &ben).await.leads_to("/operations/people?done=saved");
        let choir = [
            ("known", ""),
            ("id", "choir"),
            ("name", "Choir"),
            ("timeZone", "Europe/Berlin"),
            ("messages", "own"),
            ("allDayAt", "09:00"),
            ("when", "-24h"),
            ("anchor", "start"),
            ("channels", "email"),
        ];
        assert_eq!(client.act("/operations/organisations/save", &choir).await.status, 303);
        let event = put(bed, event(bed, "Rehearsal", "2026-06-14T06:00:00Z", 2)).await;

        let number = survey(bed, schema()).await;
        let instance = asked(bed, "1", "en").await;
        let report = subscribe(&client, &weekly()).await;
        client.act(&format!("/reports/{report}/act"), &[("action", "run")]).await;
        bed.run_for(60).await;
        let page = client.page(&format!("/reports/{report}")).await;
        let run =
            rows(&page).into_iter().find(|row| row.contains("/runs/")).unwrap_or_else(|| panic!("{page}"));

        let confirmed = [
            ("stage", "2"),
            ("confirm", "deliveryPath"),
            ("confirm", "oldScheduler"),
            ("confirm", "ownershipStorage"),
        ];
        let moved = client.act(&format!("/reports/rollouts/subscription/{report}/stage"), &confirmed).await;
        assert_eq!(moved.status, 303, "{}", moved.text);

        for (path, fields) in [
            (
                "/channels/save",
                vec![
                    ("/key", "email:relay"),
                    ("/adapter", "smtp"),
                    ("/settings/host", "mail.example.com"),
                    ("/settings/from", "a@b.example"),
                    ("/settings/username", "a"),
                    ("/settings/password", "b"),
                    ("/limits/rates", "30 per 1m"),
                ],
            ),
            (
                "/settings/templates/save",
                vec![
                    ("/name", "due"),
                    ("/defaultLocale", "en"),
                    ("/variants/en/subject", "{{ document }} expires"),
                    ("/variants/en/body", "On {{ date }}."),
                ],
            ),
            ("/settings/keys/save", vec![("/name", "billing"), ("/scopes", "send")]),
            (
                "/settings/subscribers/save",
                vec![
                    ("/key", "in-process:log"),
                    ("/adapter", "in-process"),
                    ("/settings/handler", "log"),
                    ("/events", "response-completed"),
                ],
            ),
            (
                "/suppressions",
                vec![("channelType", "email"), ("address", "gone@example.org"), ("detail", "Asked by phone")],
            ),
        ] {
            let reply = client.act(path, &fields).await;
            assert!([200, 303].contains(&reply.status), "{path}: {} {}", reply.status, reply.text);
        }
        let wants: Preference =
            serde_json::from_value(json!({ "quietHours": { "from": "22:00", "to": "07:00" },
            "topics": { "offers": { "subscribed": false } }, "addresses": { "email": "ann@example.org" } }))
            .unwrap();
        bed.engine.change_preference(&Actor::named("test"), "ann", |kept| *kept = wants).await.unwrap();
        let invitation = invite(&client, "ada@example.org", "author", None).await;
        let user = id_of(bed, "ada@example.org").await;
        let who = [("by", "address"), ("who", "nobody@example.org")];
        let erased = client.act("/settings/personal-data/erase", &who).await;
        let erasure = erased.headers.get("location").and_then(|at| at.to_str().ok()?.split_once('?'));
        let erasure = erasure.unwrap_or_else(|| panic!("{} {}", erased.status, erased.text)).1.to_owned();
        let planned = rows(&client.page("/work?list=all").await);
        Self {
            notification,
            work: planned.first().expect("there is work").clone(),
            event,
            reminder,
            report,
            run,
            survey: number.to_string(),
            instance,
            user,
            preference: preferences::path(bed, Some("offers")),
            invitation,
            erasure,
        }
    }

    /// The address of a page with a sample in it. A route with a placeholder that is not known here fails.
    pub fn fill(&self, route: &str) -> String {
        let run = self.run.rsplit('/').next().unwrap();
        match route {
            "/p/{token}" => self.preference.clone(),
            "/s/{publicId}" => format!("/s/{}", self.instance),
            "/invitation" => self.invitation.clone(),
            "/notifications/{id}" => format!("/notifications/{}", self.notification),
            "/work/{id}" => format!("/work/{}", self.work),
            "/reminders/{id}" | "/reminders/{id}/sent" | "/reminders/{id}/remove" => {
                route.replace("{id}", &self.reminder)
            }
            "/operations/{kind}/{id}" | "/operations/{kind}/{id}/edit" => {
                route.replace("{kind}", "events").replace("{id}", &self.event)
            }
            "/operations/edit" => format!("/operations/edit?key=events/{}", self.event),
            "/operations/people/{id}" => "/operations/people/ann".to_owned(),
            "/operations/organisations/{id}" => "/operations/organisations/choir".to_owned(),
            "/settings/users/{id}" => format!("/settings/users/{}", self.user),
            "/sites/{id}" => "/sites/plant-7".to_owned(),
            "/sources/{kind}/{id}" => "/sources/document/1".to_owned(),
            "/sources/edit" => "/sources/edit?key=document%2F1".to_owned(),
            "/surveys/subscribers/{key}/retry" => "/surveys/subscribers/in-process:log/retry".to_owned(),
            _ if route.starts_with("/surveys/{id}") => {
                route.replace("{id}", &self.survey).replace("{publicId}", &self.instance)
            }
            _ if route.starts_with("/reports/rollouts/{scope}") => {
                route.replace("{scope}", "subscription").replace("{id}", &self.report)
            }
            _ if route.starts_with("/reports/{guid}") => {
                route.replace("{guid}", &self.report).replace("{run}", run)
            }
            "/channels/new" => "/channels/new?adapter=twilio&key=sms:default".to_owned(),
            "/channels/edit" => "/channels/edit?key=email:relay".to_owned(),
            "/settings/lists/edit" => "/settings/lists/edit?key=ops".to_owned(),
            "/settings/templates/edit" => "/settings/templates/edit?key=due".to_owned(),
            "/settings/units/edit" => "/settings/units/edit?key=nz".to_owned(),
            "/settings/sites/edit" => "/settings/sites/edit?key=plant-7".to_owned(),
            "/consumers/new" => "/consumers/new?adapter=nats&key=nats:orders-2".to_owned(),
            "/settings/subscribers/new" => {
                "/settings/subscribers/new?adapter=webhook&key=webhook:crm".to_owned()
            }
            "/settings/subscribers/edit" => "/settings/subscribers/edit?key=in-process:log".to_owned(),
            "/preferences/edit" => "/preferences/edit?key=ann".to_owned(),
            "/surveys/edit" => format!("/surveys/edit?key={}", self.survey),
            "/settings/personal-data/erasure" => format!("{route}?{}", self.erasure),
            "/consumers/edit" => "/consumers/edit?key=nats:orders".to_owned(),
            "/reminders/edit" => format!("/reminders/edit?key={}", self.reminder),
            "/recipients" => "/recipients?address=ann%40example.org".to_owned(),
            "/search" => "/search?q=ann".to_owned(),
            "/why" => "/why?type=document&id=1&date=2026-06-13".to_owned(),
            "/zone" => "/zone?q=europe".to_owned(),
            "/attention/list" => "/attention/list?name=no-such-list".to_owned(),
            "/calendar" => "/calendar?from=2026-06-01".to_owned(),
            _ if route.contains('{') => panic!("the samples know no place for {route}: add one"),
            _ => route.to_owned(),
        }
    }
}

/// Whether a route that can be read is a page of its own.
pub fn is_page(route: &str) -> bool {
    let is_other = match route {
        // Files and what stands inside other pages; the stream.
        "/live" | "/notifications/{id}/html" | "/reports/{guid}/runs/{run}/files/{name}" => true,
        "/s/{publicId}/colours.css" | "/p/{token}/colours.css" => true,
        // What leads to the provider of a single sign-on.
        "/sign-in/with" | "/sign-in/answer" | "/sign-in/leave" => true,
        // A certificate as a file.
        "/settings/personal-data/certificate" => true,
        // There is one of each.
        "/settings/policy/new" | "/settings/retention/new" => true,
        _ => route.starts_with("/assets/") || route.ends_with(".csv") || route.ends_with(".xlsx"),
    };
    !is_other
}
