//! Whom the server takes for its client, seen from outside: `/metrics` is open to this machine alone.

use crate::server::{KEY, Place, Server};

async fn metrics(server: &Server, forwarded: &[&str], key: Option<&str>) -> u16 {
    let mut request = server.client.get(format!("{}/metrics", server.address));
    for line in forwarded {
        request = request.header("x-forwarded-for", *line);
    }
    if let Some(key) = key {
        request = request.bearer_auth(key);
    }
    request.send().await.unwrap().status().as_u16()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn t15_only_a_listed_proxy_says_who_the_client_is() {
    let place = Place::sqlite();
    let server = place.start(&[]);
    assert_eq!(metrics(&server, &[], None).await, 200);
    assert_eq!(
        metrics(&server, &["203.0.113.9"], None).await,
        200,
        "nobody is listed: the header says nothing"
    );
    drop(server);

    let server = place.start(&["--trusted-proxies", "127.0.0.1,10.0.0.0/8"]);
    assert_eq!(metrics(&server, &[], None).await, 200, "the proxy itself");
    assert_eq!(metrics(&server, &["203.0.113.9"], None).await, 401, "whom the proxy names");
    assert_eq!(metrics(&server, &["203.0.113.9"], Some(KEY)).await, 200);
    for lied in [
        &["127.0.0.1, 203.0.113.9"][..],
        &["127.0.0.1", "203.0.113.9"],
        &["127.0.0.1, 203.0.113.9, 10.0.0.7"],
    ] {
        assert_eq!(
            metrics(&server, lied, None).await,
            401,
            "what a client wrote itself is not believed: {lied:?}"
        );
    }
    drop(server);

    let server = place.start(&["--trusted-proxies", "10.0.0.0/8"]);
    assert_eq!(metrics(&server, &["203.0.113.9"], None).await, 200, "this machine is not listed");
    drop(server);
    assert!(place.refusal(&["--trusted-proxies", "localhost"]).contains("trusted_proxies"));
}
