//! What a look at a destination finds, with a real fault behind each.

use punctual_channels::{
    Trust,
    reach::{Destination, Unreachable, WrongCertificate},
};
use serde_json::json;
use tokio::net::TcpListener;

use crate::{open_guard, receiver::Receiver, test_trust, webhook::acceptor};

const ENDED_CA: &[u8] = include_bytes!("tls/ended_ca.pem");

async fn look(url: &str, trust: &Trust) -> Result<bool, Unreachable> {
    let destination = Destination::of("webhook", &json!({ "url": url })).remove(0);
    let reached = destination.reach(&open_guard(), trust).await?;
    Ok(reached.certificate_ends.is_some())
}

#[tokio::test]
async fn what_is_wrong_with_a_certificate_is_named() {
    let ended_trust = Trust::platform().with_pem(ENDED_CA).unwrap();
    let ended_at = "2025-06-01T00:00:00Z".parse().unwrap();
    for (certificate, trust, found) in [
        ("server", test_trust(), Ok(true)),
        ("server", Trust::platform(), Err(WrongCertificate::UnknownIssuer)),
        ("elsewhere", test_trust(), Err(WrongCertificate::OtherName("localhost".to_owned()))),
        ("ended", ended_trust, Err(WrongCertificate::Ended(Some(ended_at)))),
    ] {
        let receiver = Receiver::start_tls(acceptor(certificate)).await;
        let url = format!("https://localhost:{}/", receiver.port);
        assert_eq!(look(&url, &trust).await, found.map_err(Unreachable::Certificate), "{certificate}");
    }
}

#[tokio::test]
async fn an_address_a_connection_and_an_answer_fail_for_different_reasons() {
    let plain = Receiver::start().await;
    let free = TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap();
    let refused = look(&format!("http://{free}/"), &test_trust()).await.unwrap_err();
    assert!(matches!(&refused, Unreachable::Connection(address, _) if *address == free), "{refused:?}");
    let inside = look("http://10.9.9.9/", &test_trust()).await.unwrap_err();
    assert!(matches!(&inside, Unreachable::Address(_)), "{inside:?}");
    let not_encrypted = look(&format!("https://localhost:{}/", plain.port), &test_trust()).await.unwrap_err();
    assert!(matches!(&not_encrypted, Unreachable::Answer(_)), "{not_encrypted:?}");
}
