//! A TCP proxy between two parts of a test: it passes, cuts, holds back and swallows what goes through it.
//!
//! Only replies are tampered with: the other side has done its work by then, which is the case that matters.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{
        TcpListener, TcpStream,
        tcp::{OwnedReadHalf, OwnedWriteHalf},
    },
    sync::watch,
};

/// What happens to what goes through.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    Pass,
    /// Every connection ends, and so does each new one.
    Cut,
    /// Requests arrive; their replies are thrown away and the connection ends.
    SwallowReplies,
    /// Requests arrive; the first bytes of a reply come back and the connection ends.
    HalfReplies,
    /// Requests arrive; replies wait until the way is another one.
    HoldReplies,
}

/// The proxy; it ends with the test's runtime.
#[derive(Clone)]
pub struct Proxy {
    /// Where to connect instead.
    pub url: String,
    way: watch::Sender<Way>,
    target: Arc<std::sync::Mutex<String>>,
    spoiled: Arc<AtomicUsize>,
    /// How many connections were opened, and up to which of them replies are held.
    opened: Arc<AtomicUsize>,
    silent: watch::Sender<usize>,
}

impl Proxy {
    /// In front of this address, such as `127.0.0.1:8080`.
    ///
    /// # Panics
    /// When no port can be had.
    pub async fn start(target: impl Into<String>) -> Self {
        Self::start_at("127.0.0.1", target).await
    }

    /// The same, listening on this address.
    ///
    /// # Panics
    /// When no port can be had.
    pub async fn start_at(own: &str, target: impl Into<String>) -> Self {
        let listener =
            TcpListener::bind((own, 0)).await.unwrap_or_else(|error| panic!("no port on {own}: {error}"));
        let address = listener.local_addr().unwrap_or_else(|error| panic!("no address: {error}"));
        let (way, _) = watch::channel(Way::Pass);
        let proxy = Self {
            url: format!("http://{address}"),
            way,
            target: Arc::new(std::sync::Mutex::new(target.into())),
            spoiled: Arc::default(),
            opened: Arc::default(),
            silent: watch::channel(0).0,
        };
        let own = proxy.clone();
        tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                let (own, target) = (own.clone(), own.target());
                tokio::spawn(async move { own.carry(client, target).await });
            }
        });
        proxy
    }

    pub fn set(&self, way: Way) {
        self.way.send_replace(way);
    }

    /// Holds the replies on every connection that is open now, permanently; new ones are not touched.
    pub fn silence_established(&self) {
        self.silent.send_replace(self.opened.load(Ordering::Relaxed));
    }

    /// New connections go to this address.
    pub fn lead_to(&self, target: impl Into<String>) {
        *self.target.lock().unwrap_or_else(std::sync::PoisonError::into_inner) = target.into();
    }

    /// Replies that did not come back whole and in time.
    pub fn spoiled(&self) -> usize {
        self.spoiled.load(Ordering::Relaxed)
    }

    fn target(&self) -> String {
        self.target.lock().unwrap_or_else(std::sync::PoisonError::into_inner).clone()
    }

    async fn carry(&self, client: TcpStream, target: String) {
        if *self.way.borrow() == Way::Cut {
            return;
        }
        let Ok(server) = TcpStream::connect(target).await else { return };
        let number = self.opened.fetch_add(1, Ordering::Relaxed) + 1;
        let ((from_client, to_client), (from_server, to_server)) = (client.into_split(), server.into_split());
        tokio::select! {
            () = requests(from_client, to_server) => {}
            () = self.replies(number, from_server, to_client) => {}
            () = self.until(|way| way == Way::Cut) => {}
        }
    }

    async fn replies(&self, number: usize, mut from: OwnedReadHalf, mut to: OwnedWriteHalf) {
        let mut chunk = vec![0; 64 << 10];
        while let Ok(read) = from.read(&mut chunk).await {
            if read == 0 {
                return;
            }
            if number <= *self.silent.borrow() {
                self.spoiled.fetch_add(1, Ordering::Relaxed);
                return std::future::pending().await;
            }
            let way = *self.way.borrow();
            match way {
                Way::Pass => {}
                Way::Cut | Way::SwallowReplies => {
                    self.spoiled.fetch_add(1, Ordering::Relaxed);
                    return;
                }
                Way::HalfReplies => {
                    self.spoiled.fetch_add(1, Ordering::Relaxed);
                    let _ = to.write_all(&chunk[..read / 2]).await;
                    return;
                }
                Way::HoldReplies => {
                    self.spoiled.fetch_add(1, Ordering::Relaxed);
                    self.until(|way| way != Way::HoldReplies).await;
                }
            }
            if to.write_all(&chunk[..read]).await.is_err() {
                return;
            }
        }
    }

    async fn until(&self, is_so: impl Fn(Way) -> bool) {
        let mut way = self.way.subscribe();
        // The sender lives in `self`, so this ends only when it is so.
        let _ = way.wait_for(|way| is_so(*way)).await;
    }
}

async fn requests(mut from: OwnedReadHalf, mut to: OwnedWriteHalf) {
    let _ = tokio::io::copy(&mut from, &mut to).await;
    // The client has said all; the server may still answer.
    std::future::pending::<()>().await;
}
