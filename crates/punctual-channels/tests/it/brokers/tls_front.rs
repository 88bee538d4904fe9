//! TLS in front of a plain server, with the certificate of these tests.

use tokio::net::{TcpListener, TcpStream};

use crate::webhook::acceptor;

/// The port at which the server answers behind TLS.
pub(super) async fn tls_front(target: &str) -> u16 {
    let acceptor = acceptor("server");
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let target = target.to_owned();
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let (acceptor, target) = (acceptor.clone(), target.clone());
            tokio::spawn(async move {
                let Ok(mut client) = acceptor.accept(stream).await else { return };
                let Ok(mut server) = TcpStream::connect(target).await else { return };
                let _ = tokio::io::copy_bidirectional(&mut client, &mut server).await;
            });
        }
    });
    port
}
