//! Calendars out as feeds and in as files, through the API.

use axum::http::Method;
use punctual_testkit::{TestBed, on_both};
use serde_json::{Value, json};

use crate::{client::Client, operations::with_ann};

on_both! {
    a_calendar_is_read_through_its_secret_link;
    a_calendar_file_is_imported_and_imported_again;
    what_repeats_is_imported_date_by_date_and_sent_in_time;
    s3_36_dates_that_are_no_longer_in_a_file_are_removed;
    place_and_description_are_kept;
    s3_41_a_date_of_the_year_9999_is_refused_and_never_another_date;
}

async fn a_calendar_is_read_through_its_secret_link(bed: TestBed) {
    let client = with_ann(&bed).await;
    client.put("/api/v1/operations/organisations/choir", json!({ "name": "Choir" })).await.expect(200);
    for (title, organisation, participants) in
        [("Concert", json!("choir"), json!(["ben"])), ("Other", Value::Null, json!([]))]
    {
        let body = json!({ "title": title, "startDate": "2026-05-16", "endDate": "2026-05-17", "isAllDay": true,
            "creator": "ann", "participants": participants, "organisation": organisation });
        client.post("/api/v1/operations/events", body).await.expect(201);
    }
    let feed = client.post("/api/v1/operations/feeds", json!({ "organisation": "choir" })).await.expect(201);
    let path = feed["path"].as_str().unwrap();
    let stranger = Client { key: None, ..client.clone() };
    let read = stranger.get(path).await;
    assert_eq!(
        (read.status, read.headers["content-type"].to_str().unwrap()),
        (200, "text/calendar; charset=utf-8")
    );
    assert!(read.text.contains("SUMMARY:Concert\r\n") && !read.text.contains("Other"), "{}", read.text);
    assert!(
        read.text.contains("DTSTART;VALUE=DATE:20260516\r\nDTEND;VALUE=DATE:20260518\r\n"),
        "{}",
        read.text
    );
    let own = client.post("/api/v1/operations/feeds", json!({ "person": "ben" })).await.expect(201);
    let read = stranger.get(own["path"].as_str().unwrap()).await;
    assert!(read.text.contains("Concert") && !read.text.contains("Other"), "{}", read.text);
    // A new link ends the old one, and an ended one looks like none.
    let again = client.post("/api/v1/operations/feeds", json!({ "organisation": "choir" })).await.expect(201);
    assert_eq!(stranger.get(again["path"].as_str().unwrap()).await.status, 200);
    let unknown = stranger.get(&format!("/calendars/{}.ics", "0".repeat(64))).await.refused(404, "not_found");
    let ended = stranger.get(path).await.refused(404, "not_found");
    assert_eq!(unknown["detail"], ended["detail"]);
    assert_eq!(client.delete("/api/v1/operations/feeds/organisation/choir").await.status, 204);
    stranger.get(again["path"].as_str().unwrap()).await.refused(404, "not_found");
    let refused =
        client.post("/api/v1/operations/feeds", json!({ "organisation": "a", "person": "b" })).await;
    refused.refused(422, "field_conflict");
    bed.leaves_open("the days to come");
}

async fn a_calendar_file_is_imported_and_imported_again(bed: TestBed) {
    let client = with_ann(&bed).await;
    let file = |time: &str| {
        format!(
            "BEGIN:VCALENDAR\r\nVERSION:2.0\r\nBEGIN:VEVENT\r\nUID:1@x\r\nSUMMARY:Rehearsal\\, main hall\r\n\
             DTSTART:20260514T{time}Z\r\nDURATION:PT1H\r\nORGANIZER:mailto:BEN@example.org\r\n\
             ATTENDEE:mailto:ann@example.org\r\nATTENDEE:mailto:nobody@example.org\r\nEND:VEVENT\r\n\
             BEGIN:VTODO\r\nUID:2@x\r\nSUMMARY:Print the notes\r\nDUE:20260514T060000Z\r\nEND:VTODO\r\n\
             BEGIN:VEVENT\r\nUID:3@x\r\nSUMMARY:Every hour\r\nDTSTART:20260514T090000Z\r\nRRULE:FREQ=HOURLY\r\nEND:VEVENT\r\n\
             END:VCALENDAR\r\n"
        )
    };
    let import = async |text: String| {
        client
            .send(
                Method::POST,
                "/api/v1/operations/import?creator=ann",
                &[("content-type", "text/calendar")],
                text,
            )
            .await
    };
    let done = import(file("070000")).await.expect(200);
    assert_eq!((&done["created"], &done["updated"], &done["unchanged"]), (&json!(2), &json!(0), &json!(0)));
    assert_eq!(
        (&done["skipped"][0]["line"], &done["skipped"][0]["reason"]),
        (&json!(17), &json!("it repeats more often than daily (`FREQ=HOURLY`)"))
    );
    let done = import(file("070000")).await.expect(200);
    assert_eq!((&done["created"], &done["unchanged"]), (&json!(0), &json!(2)));
    let done = import(file("080000")).await.expect(200);
    assert_eq!((&done["updated"], &done["unchanged"]), (&json!(1), &json!(1)));
    let events = client.get("/api/v1/operations/events").await.expect(200);
    let event = &events["items"][0];
    assert_eq!(
        (&event["title"], &event["creator"], &event["participants"]),
        (&json!("Rehearsal, main hall"), &json!("ben"), &json!(["ann"]))
    );
    assert_eq!(event["endDate"], "2026-05-14T09:00:00Z");
    client.advance("24h").await;
    assert_eq!(bed.sent().len(), 5, "the task's end to one, the event's start and end to two");
    import("hello".into()).await.refused(422, "import_invalid");
    let json = client.post("/api/v1/operations/import?creator=ann", json!({})).await;
    json.refused(415, "content_type");
    client
        .send(Method::POST, "/api/v1/operations/import", &[("content-type", "text/calendar")], file("070000"))
        .await
        .refused(422, "missing_field");
}

async fn what_repeats_is_imported_date_by_date_and_sent_in_time(bed: TestBed) {
    let client = with_ann(&bed).await;
    let file = |rule: &str, more: &str| {
        format!(
            "BEGIN:VCALENDAR\r\nVERSION:2.0\r\nBEGIN:VEVENT\r\nUID:weekly@x\r\nSUMMARY:Rehearsal\r\n\
             DTSTART;TZID=W. Europe Standard Time:20260514T190000\r\nDTEND;TZID=W. Europe Standard Time:20260514T210000\r\n\
             RRULE:{rule}\r\nEND:VEVENT\r\n{more}END:VCALENDAR\r\n"
        )
    };
    let import = async |text: String| {
        let headers = [("content-type", "text/calendar")];
        client.send(Method::POST, "/api/v1/operations/import?creator=ann", &headers, text).await.expect(200)
    };
    let counts = |done: &Value| {
        let count = |name: &str| done[name].as_u64().unwrap();
        (count("created"), count("updated"), count("unchanged"))
    };
    let done = import(file("FREQ=WEEKLY;COUNT=4", "")).await;
    assert_eq!((counts(&done), &done["skipped"]), ((4, 0, 0), &json!([])));
    assert_eq!(counts(&import(file("FREQ=WEEKLY;COUNT=4", "")).await), (0, 0, 4), "twice is once");
    // The second is moved by an hour, and there is a fifth.
    let moved = "BEGIN:VEVENT\r\nUID:weekly@x\r\nSUMMARY:Rehearsal\r\nRECURRENCE-ID:20260521T170000Z\r\n\
        DTSTART:20260521T180000Z\r\nDTEND:20260521T190000Z\r\nEND:VEVENT\r\n";
    assert_eq!(counts(&import(file("FREQ=WEEKLY;COUNT=5", moved)).await), (1, 1, 3));
    client.advance("60d").await;
    let starts = bed.sent().into_iter().filter(|sent| sent.subject.starts_with("Starts"));
    let reported: Vec<String> = starts.map(|sent| sent.at.to_string()).collect();
    let evenings = ["2026-05-14T17", "2026-05-21T18", "2026-05-28T17", "2026-06-04T17", "2026-06-11T17"];
    assert_eq!(reported, evenings.map(|hour| format!("{hour}:00:00Z")));
}

async fn s3_36_dates_that_are_no_longer_in_a_file_are_removed(bed: TestBed) {
    let client = with_ann(&bed).await;
    let file = |rule: &str, more: &str| {
        format!(
            "BEGIN:VCALENDAR\r\nVERSION:2.0\r\nBEGIN:VEVENT\r\nUID:weekly@x\r\nSUMMARY:Rehearsal\r\n\
             DTSTART:20260514T170000Z\r\nRRULE:{rule}\r\n{more}END:VEVENT\r\n\
             BEGIN:VEVENT\r\nUID:once@x\r\nSUMMARY:Concert\r\nDTSTART:20260601T170000Z\r\nEND:VEVENT\r\nEND:VCALENDAR\r\n"
        )
    };
    let import = async |text: String| {
        let headers = [("content-type", "text/calendar")];
        client.send(Method::POST, "/api/v1/operations/import?creator=ann", &headers, text).await.expect(200)
    };
    let starts = async || {
        let page = client.get("/api/v1/operations/events").await.expect(200);
        let mut starts: Vec<String> = page["items"]
            .as_array()
            .unwrap()
            .iter()
            .map(|event| event["startDate"].as_str().unwrap()[..10].to_owned())
            .collect();
        starts.sort();
        starts
    };
    assert_eq!(import(file("FREQ=WEEKLY;COUNT=5", "")).await["created"], 6);
    client.advance("8d").await;
    // One date is taken out, and the last one is dropped; the two that are over stay as they were.
    let done = import(file("FREQ=WEEKLY;COUNT=4", "EXDATE:20260528T170000Z\r\n")).await;
    assert_eq!((&done["removed"], &done["created"]), (&json!(2), &json!(0)), "{done}");
    assert_eq!(starts().await, ["2026-05-14", "2026-05-21", "2026-06-01", "2026-06-04"]);
    // A date that comes back is there again.
    let done = import(file("FREQ=WEEKLY;COUNT=4", "")).await;
    assert_eq!((&done["removed"], &done["created"]), (&json!(0), &json!(1)), "{done}");
    let cancelled = file("FREQ=WEEKLY;COUNT=4", "STATUS:CANCELLED\r\n");
    assert_eq!(import(cancelled).await["removed"], 2);
    client.advance("30d").await;
    let reported = bed.sent().iter().filter(|sent| sent.subject.starts_with("Starts")).count();
    assert_eq!(reported, 3, "two rehearsals and the concert");
}

async fn place_and_description_are_kept(bed: TestBed) {
    let client = with_ann(&bed).await;
    let text = "BEGIN:VCALENDAR\r\nVERSION:2.0\r\nBEGIN:VEVENT\r\nUID:1@x\r\nSUMMARY:Concert\r\n\
        LOCATION:Main hall\\, first floor\r\nDESCRIPTION:Bring\\nyour notes\r\nDTSTART:20260601T170000Z\r\nEND:VEVENT\r\nEND:VCALENDAR\r\n";
    let headers = [("content-type", "text/calendar")];
    let path = "/api/v1/operations/import?creator=ann";
    client.send(Method::POST, path, &headers, text).await.expect(200);
    let page = client.get("/api/v1/operations/events").await.expect(200);
    let event = &page["items"][0];
    assert_eq!(
        (&event["location"], &event["description"]),
        (&json!("Main hall, first floor"), &json!("Bring\nyour notes"))
    );
    let feed = client.post("/api/v1/operations/feeds", json!({ "person": "ann" })).await.expect(201);
    let read = client.get(feed["path"].as_str().unwrap()).await.text;
    assert!(read.contains("LOCATION:Main hall\\, first floor\r\n"), "{read}");
    assert!(read.contains("DESCRIPTION:Bring\\nyour notes\r\n"), "{read}");
    let path = format!("/api/v1/operations/events/{}", event["id"].as_str().unwrap());
    let changed = client.patch(&path, json!({ "location": null, "description": "Other" })).await.expect(200);
    assert_eq!((&changed["location"], &changed["description"]), (&Value::Null, &json!("Other")));
    bed.leaves_open("the concert is not due");
}

async fn s3_41_a_date_of_the_year_9999_is_refused_and_never_another_date(bed: TestBed) {
    let client = with_ann(&bed).await;
    for date in ["9999-12-31", "9999-12-31T00:00:00Z", "0001-01-01"] {
        let body = json!({ "title": "For ever", "startDate": date, "isAllDay": true, "creator": "ann" });
        let refused = client.post("/api/v1/operations/events", body).await.refused(422, "date_out_of_range");
        assert_eq!(refused["errors"][0]["pointer"], "/startDate");
    }
    let text = "BEGIN:VCALENDAR\r\nVERSION:2.0\r\nBEGIN:VEVENT\r\nUID:1@x\r\nSUMMARY:For ever\r\n\
        DTSTART;VALUE=DATE:99991231\r\nEND:VEVENT\r\nEND:VCALENDAR\r\n";
    let headers = [("content-type", "text/calendar")];
    let done = client.send(Method::POST, "/api/v1/operations/import?creator=ann", &headers, text).await;
    let done = done.expect(200);
    assert_eq!((&done["created"], done["skipped"].as_array().unwrap().len()), (&json!(0), 1), "{done}");
}
