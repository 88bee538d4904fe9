//! The Rust client against the shipped binary: the story of its README, and a webhook that the server signed.

use std::time::Duration;

use punctual_client::{
    ApiError, Client, InvalidWebhook,
    query::{GetSearchQuery, ListNotificationsQuery, Paging},
    verify_webhook,
    wire::{
        Code, channels::ChannelRequest, content::Content, events::EventRequest, lists::ListRequest,
        messages::MessageRequest, notifications::NotificationRequest, sandbox::ClockRequest,
    },
};
use serde_json::json;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpListener,
};

use super::sandbox;
use crate::server::{KEY, Place};

const SECRET: &str = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";

fn notification(subject: &str) -> NotificationRequest {
    let content = Content {
        list: Some("rust".into()),
        subject: subject.into(),
        body: "B".into(),
        ..Content::default()
    };
    NotificationRequest { content, ..NotificationRequest::default() }
}

#[tokio::test]
async fn our_rust_client_works_through_its_story() {
    let place = Place::sqlite();
    let server = sandbox(&place);
    let client = Client::new(&server.address, KEY);
    let list = ListRequest {
        kind: "memory".into(),
        targets: vec!["ann".into(), "ben".into()],
        channel: None,
        business_unit: None,
    };
    client.put_list("rust", &list).await.unwrap();
    let mut ids = Vec::new();
    for number in 0..7 {
        ids.push(client.create_notification(&notification(&format!("Nr {number}"))).await.unwrap().id);
    }
    advance(&client, "1m").await;
    assert_eq!(client.get_notification(&ids[0]).await.unwrap().status, "delivered");
    assert!(!client.get_notification_timeline(&ids[0]).await.unwrap().items.is_empty());

    let query = ListNotificationsQuery { list: Some("rust".into()), limit: Some(3), ..Default::default() };
    assert_eq!(client.list_notifications(&query).await.unwrap().items.len(), 3);
    let listed = client.iter_notifications(&query).all().await.unwrap();
    let mut listed: Vec<String> = listed.into_iter().map(|one| one.id).collect();
    listed.sort();
    ids.sort();
    assert_eq!(listed, ids);

    // The same under one key is one message; an array has an outcome for each.
    let once = client.idempotency_key("a-key-of-my-own");
    let first = once.create_notification(&notification("Once")).await.unwrap();
    assert_eq!(once.create_notification(&notification("Once")).await.unwrap(), first);
    let same = NotificationRequest { id: Some(first.id.clone()), ..notification("Once") };
    let batch = client.create_notifications(&[same, notification("New")]).await.unwrap();
    let outcomes: Vec<&str> = batch.items.iter().map(|item| &*item.outcome).collect();
    assert_eq!(outcomes, ["unchanged", "created"]);

    let later = MessageRequest {
        id: Some("visit/1".into()),
        send_at: "2031-06-14T07:00:00Z".parse().unwrap(),
        revive: false,
        content: notification("Visit").content,
        handling: Default::default(),
    };
    client.create_message(&later).await.unwrap();
    let change = json!({ "subject": "Your visit" });
    assert_eq!(client.update_message("visit/1", &change).await.unwrap().subject, "Your visit");
    client.delete_message("visit/1").await.unwrap();
    assert_eq!(client.get_message("visit/1").await.unwrap().status, "cancelled");

    let found = client.get_search(&GetSearchQuery { q: "Once".into() }).await.unwrap();
    assert_eq!(found.items[0].id, first.id);
    let event = json!({ "specversion": "1.0", "id": "e-1", "source": "/crm", "type": "source.changed",
                        "subject": "document/42", "data": { "state": { "expiresOn": "2031-03-01" } } });
    let event = EventRequest::read(&event, "").unwrap();
    assert_eq!(client.send_events(&[event]).await.unwrap().items[0].outcome, "accepted");
    assert_eq!(client.get_source("document", "42").await.unwrap().state["expiresOn"], "2031-03-01");
    let blob = client.create_blob(&Default::default(), "text/plain", b"a file".to_vec()).await.unwrap();
    assert_eq!(blob.size, 6);

    refusals(&client, &server.address).await;
    client.delete_list("rust").await.unwrap();
    assert!(client.iter_lists(&Paging::default()).all().await.unwrap().is_empty());
}

async fn advance(client: &Client, by: &str) {
    client.put_sandbox_clock(&ClockRequest::Advance(by.to_owned())).await.unwrap();
}

async fn refusals(client: &Client, address: &str) {
    let refused = client.create_notification(&NotificationRequest::default()).await.unwrap_err();
    let ApiError::Refused(problem) = refused else { panic!("{refused}") };
    assert_eq!(problem.status, 422);
    assert!(problem.errors.iter().any(|error| error.pointer == "/subject"), "{problem:?}");
    assert!(problem.request_id.is_some());
    let missing = client.get_notification("0197a3c4-5d6e-7f80-9a1b-2c3d4e5f6071").await.unwrap_err();
    assert!(matches!(missing, ApiError::Refused(problem) if problem.code == Code::NotFound));
    let stranger = Client::new(address, "a-wrong-key").list_keys().await.unwrap_err();
    assert!(matches!(stranger, ApiError::Refused(problem) if problem.code == Code::AuthFailed));
    // What no attempt could get past is refused before one is made.
    let unusable = async |client: Client, name: &str| match client.get_list(name).await.unwrap_err() {
        ApiError::Unusable(why) => why,
        other => panic!("{other}"),
    };
    for wrong in ["127.0.0.1:8080", "ftp://127.0.0.1", "https://", ""] {
        let why = unusable(Client::new(wrong, "k"), "ops").await;
        assert!(why.contains("is such as `https://punctual.example.org`"), "{why}");
    }
    for wrong in ["…", "a key", "key\n", ""] {
        let why = unusable(Client::new(address, wrong), "ops").await;
        assert!(why.contains("one word of ASCII"), "{why}");
    }
    for wrong in ["", ".", ".."] {
        let why = unusable(client.clone(), wrong).await;
        assert!(why.starts_with(&format!("`name` is {wrong:?}")), "{why}");
    }
    let nobody = Client::new("http://127.0.0.1:9", "k").attempts(2).first_pause(Duration::from_millis(1));
    assert!(matches!(nobody.get_attention().await.unwrap_err(), ApiError::Unreachable { .. }));
}

#[tokio::test]
async fn the_rust_client_verifies_what_the_server_signs() {
    let place = Place::sqlite();
    let server = place.start(&[]);
    let receiver = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/hook", receiver.local_addr().unwrap());
    let client = Client::new(&server.address, KEY);
    let channel = json!({ "adapter": "webhook", "settings": { "url": url, "secret": SECRET } });
    client.put_channel("webhook:hook", &ChannelRequest::read(&channel, "").unwrap()).await.unwrap();
    let content = Content {
        targets: vec!["hook".into()],
        channel: Some("webhook:hook".into()),
        ..notification("Signed").content
    };
    let content = Content { list: None, ..content };
    client.create_notification(&NotificationRequest { content, ..Default::default() }).await.unwrap();

    let (head, body) = one_request(&receiver).await;
    let header = |name: &str| {
        head.lines().find_map(|line| {
            let (key, value) = line.split_once(':')?;
            key.eq_ignore_ascii_case(name).then(|| value.trim())
        })
    };
    let now: i64 = header("webhook-timestamp").unwrap().parse().unwrap();
    let event = verify_webhook(body.as_bytes(), header, SECRET, now).unwrap();
    assert_eq!(event["data"]["subject"], "Signed");
    let changed = body.replace("Signed", "Forged");
    assert_eq!(verify_webhook(changed.as_bytes(), header, SECRET, now), Err(InvalidWebhook::Signature));
}

/// The head and the body of the first request, which is answered.
async fn one_request(receiver: &TcpListener) -> (String, String) {
    let (mut stream, _) = receiver.accept().await.unwrap();
    let (mut data, mut chunk) = (Vec::new(), [0; 4096]);
    loop {
        let read = stream.read(&mut chunk).await.unwrap();
        assert_ne!(read, 0, "it ended before its body");
        data.extend_from_slice(&chunk[..read]);
        let text = String::from_utf8_lossy(&data).into_owned();
        let Some((head, body)) = text.split_once("\r\n\r\n") else { continue };
        let length = head.to_ascii_lowercase();
        let length = length.lines().find_map(|line| line.strip_prefix("content-length:")).unwrap();
        if body.len() >= length.trim().parse().unwrap() {
            stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n").await.unwrap();
            return (head.to_owned(), body.to_owned());
        }
    }
}
