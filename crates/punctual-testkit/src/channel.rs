//! Channels that misbehave as a test wants: answer as they are set, panic, hang, or wait to be let go.

use std::{
    future::Future,
    panic::AssertUnwindSafe,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use futures_util::future::BoxFuture;
use punctual_model::{
    Adapter, Callback, CallbackFault, CallbackTaken, Channel, Outgoing, Receipt, ReceiptState, SendOutcome,
    SettingsFault, SuppressionReason,
};
use tokio::sync::{Semaphore, mpsc};

type Send = dyn Fn(Outgoing) -> BoxFuture<'static, SendOutcome> + std::marker::Send + Sync;

/// An adapter all of whose channels send with one function.
#[derive(Clone)]
pub struct Scripted {
    name: &'static str,
    send: Arc<Send>,
    timeout: Duration,
    permits: usize,
    by_host: bool,
    is_address: fn(&str) -> bool,
    calls_back: bool,
}

impl Scripted {
    /// A channel that answers at once.
    pub fn new(
        name: &'static str,
        answer: impl Fn(Outgoing) -> SendOutcome + std::marker::Send + Sync + 'static,
    ) -> Self {
        let answer = Arc::new(answer);
        Self::future(name, move |message| {
            let answer = answer.clone();
            async move { answer(message) }
        })
    }

    /// A channel that takes its time.
    pub fn future<F>(
        name: &'static str,
        send: impl Fn(Outgoing) -> F + std::marker::Send + Sync + 'static,
    ) -> Self
    where
        F: Future<Output = SendOutcome> + std::marker::Send + 'static,
    {
        let send = Arc::new(move |message| Box::pin(send(message)) as BoxFuture<'static, SendOutcome>);
        Self {
            name,
            send,
            timeout: Duration::from_secs(5),
            permits: 16,
            by_host: false,
            is_address: |_| true,
            calls_back: false,
        }
    }

    /// A channel that panics at every message.
    pub fn panicking(name: &'static str) -> Self {
        Self::new(name, |_| panic!("a channel that panics, as the test wants it"))
    }

    /// A channel that never answers; it gives up after `timeout`.
    pub fn hanging(name: &'static str, timeout: Duration) -> Self {
        Self::future(name, |_| std::future::pending()).timeout(timeout)
    }

    #[must_use]
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = timeout;
        self
    }

    #[must_use]
    pub fn permits(mut self, permits: usize) -> Self {
        self.permits = permits;
        self
    }

    /// Only texts like this are addresses of the channel.
    #[must_use]
    pub fn takes(mut self, is_address: fn(&str) -> bool) -> Self {
        self.is_address = is_address;
        self
    }

    /// What an address has after its `@` is the host that is called.
    #[must_use]
    pub fn by_host(mut self) -> Self {
        self.by_host = true;
        self
    }

    /// The provider reports later the outcome of messages: `[{"id", "state", "suppress"?, "detail"?}]`, with the header
    /// `x-signature: good`.
    #[must_use]
    pub fn calls_back(mut self) -> Self {
        self.calls_back = true;
        self
    }
}

impl Adapter for Scripted {
    fn name(&self) -> &'static str {
        self.name
    }

    fn check(&self, _settings: &serde_json::Value) -> Vec<SettingsFault> {
        Vec::new()
    }

    fn open(&self, _settings: &serde_json::Value) -> Result<Arc<dyn Channel>, SettingsFault> {
        Ok(Arc::new(self.clone()))
    }

    fn check_address(&self, address: &str) -> Result<(), String> {
        if (self.is_address)(address) { Ok(()) } else { Err("it is no address of this channel".to_owned()) }
    }
}

impl Channel for Scripted {
    fn send(&self, message: Outgoing) -> BoxFuture<'_, SendOutcome> {
        let send = AssertUnwindSafe(self.send.clone());
        Box::pin(async move { send(message).await })
    }

    fn timeout(&self) -> Duration {
        self.timeout
    }

    fn permits(&self) -> usize {
        self.permits
    }

    fn carries_files(&self) -> bool {
        true
    }

    fn host_of(&self, address: &str) -> Option<String> {
        address.split_once('@').filter(|_| self.by_host).map(|(_, host)| host.to_owned())
    }

    fn takes_receipts(&self) -> bool {
        self.calls_back
    }

    fn callback(&self, call: &Callback<'_>) -> Result<CallbackTaken, CallbackFault> {
        if !self.calls_back {
            return Err(CallbackFault::NotTaken);
        }
        if (call.header)("x-signature").as_deref() != Some("good") {
            return Err(CallbackFault::Signature);
        }
        let items: Vec<serde_json::Value> = serde_json::from_slice(call.body)
            .map_err(|error| CallbackFault::Unreadable(error.to_string()))?;
        let receipt = |item: &serde_json::Value| {
            let text = |name: &str| item[name].as_str().map(str::to_owned);
            let state =
                ReceiptState::ALL.into_iter().find(|state| Some(state.as_str()) == item["state"].as_str());
            Some(Receipt {
                suppress: item["suppress"].as_str().and_then(SuppressionReason::parse),
                detail: text("detail"),
                at: item["at"].as_str().and_then(|at| at.parse().ok()),
                ..Receipt::new(text("id")?, state?)
            })
        };
        Ok(CallbackTaken::Receipts(items.iter().filter_map(receipt).collect()))
    }
}

/// The delivered answer that most scripts end with.
pub fn delivered() -> SendOutcome {
    SendOutcome::Delivered { provider_id: "test".into() }
}

/// A channel whose sends arrive here and wait to be let go one by one: for stalls and races without sleeping.
#[derive(Clone)]
pub struct Gated {
    arrived: Arc<tokio::sync::Mutex<mpsc::UnboundedReceiver<Outgoing>>>,
    go: Arc<Semaphore>,
    outcome: Arc<Mutex<SendOutcome>>,
}

impl Gated {
    /// The gate, and the adapter of that name which waits at it.
    pub fn new(name: &'static str) -> (Self, Scripted) {
        let (sender, receiver) = mpsc::unbounded_channel();
        let gate = Self {
            arrived: Arc::new(tokio::sync::Mutex::new(receiver)),
            go: Arc::new(Semaphore::new(0)),
            outcome: Arc::new(Mutex::new(delivered())),
        };
        let (go, outcome) = (gate.go.clone(), gate.outcome.clone());
        let adapter = Scripted::future(name, move |message| {
            let (sender, go, outcome) = (sender.clone(), go.clone(), outcome.clone());
            async move {
                // Nobody listens any more once the test is over.
                let _ = sender.send(message);
                if let Ok(permit) = go.acquire().await {
                    permit.forget();
                }
                outcome.lock().unwrap_or_else(PoisonError::into_inner).clone()
            }
        });
        (gate, adapter.timeout(Duration::from_secs(60)))
    }

    /// Waits for the next message that is being sent.
    ///
    /// # Panics
    /// When none comes.
    pub async fn arrived(&self) -> Outgoing {
        let mut arrived = self.arrived.lock().await;
        crate::signal("a send", arrived.recv()).await.expect("the channel is open")
    }

    /// Whether nothing more has been sent up to now.
    pub async fn nobody_else_arrived(&self) -> bool {
        self.arrived.lock().await.try_recv().is_err()
    }

    /// Lets `count` sends end with the present outcome.
    pub fn let_go(&self, count: usize) {
        self.go.add_permits(count);
    }

    /// What sends end with from now on.
    pub fn answer(&self, outcome: SendOutcome) {
        *self.outcome.lock().unwrap_or_else(PoisonError::into_inner) = outcome;
    }
}
