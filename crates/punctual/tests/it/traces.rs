//! Traces as a collector gets them: the shipped binary exports over OTLP to a receiver that reads with the protocol's own types.

use std::sync::{Arc, Mutex};

use axum::{
    Router,
    body::Bytes,
    extract::State,
    http::{HeaderMap, StatusCode, header},
    routing::post,
};
use jiff::Timestamp;
use opentelemetry_proto::tonic::{
    collector::trace::v1::{ExportTraceServiceRequest, ExportTraceServiceResponse},
    common::v1::any_value::Value as AnyValue,
    trace::v1::{Span, span::SpanKind},
};
use prost::Message;
use serde_json::{Value, json};
use tokio::net::TcpListener;

use crate::server::{KEY, Place, Server};

#[derive(Default)]
struct Taken {
    spans: Vec<Span>,
    /// The attributes of the last resource.
    resource: Vec<(String, String)>,
    /// `traceparent` of each webhook call.
    contexts: Vec<String>,
}

/// A collector and a webhook receiver in one.
#[derive(Clone, Default)]
struct Collector(Arc<Mutex<Taken>>);

impl Collector {
    /// Returns it with the addresses for traces and for webhooks.
    async fn start() -> (Self, String, String) {
        let collector = Self::default();
        // Servers of these tests may send messages to 127.0.0.0/8 and not here: a collector is no matter of that list.
        let traces = collector.serve("[::1]:0", Router::new().route("/v1/traces", post(take))).await;
        let hook = collector.serve("127.0.0.1:0", Router::new().route("/hook", post(hook))).await;
        (collector, traces, hook)
    }

    async fn serve(&self, listen: &str, routes: Router<Self>) -> String {
        let listener = TcpListener::bind(listen).await.unwrap();
        let address = format!("http://{}", listener.local_addr().unwrap());
        let routes = routes.with_state(self.clone());
        tokio::spawn(async move { axum::serve(listener, routes).await });
        address
    }

    /// Waits until there are so many spans of a name.
    async fn spans(&self, server: &Server, name: &str, count: usize) -> Vec<Span> {
        let found = async |_: &Server| {
            let taken = self.0.lock().unwrap();
            let found: Vec<Span> = taken.spans.iter().filter(|span| span.name == name).cloned().collect();
            (found.len() >= count).then_some(found)
        };
        server.until(&format!("{count} of {name}"), found).await
    }

    async fn one(&self, server: &Server, name: &str) -> Span {
        self.spans(server, name, 1).await.remove(0)
    }
}

async fn take(
    State(Collector(taken)): State<Collector>,
    headers: HeaderMap,
    body: Bytes,
) -> ([(header::HeaderName, &'static str); 1], Vec<u8>) {
    assert_eq!(headers[header::CONTENT_TYPE], "application/x-protobuf");
    let request = ExportTraceServiceRequest::decode(body).expect("a request of OTLP");
    let mut taken = taken.lock().unwrap();
    for resource_spans in request.resource_spans {
        let attributes = resource_spans.resource.unwrap_or_default().attributes.into_iter();
        taken.resource = attributes
            .filter_map(|one| match one.value?.value? {
                AnyValue::StringValue(text) => Some((one.key, text)),
                _ => None,
            })
            .collect();
        taken.spans.extend(resource_spans.scope_spans.into_iter().flat_map(|scope| scope.spans));
    }
    let protobuf = [(header::CONTENT_TYPE, "application/x-protobuf")];
    (protobuf, ExportTraceServiceResponse::default().encode_to_vec())
}

async fn hook(State(Collector(taken)): State<Collector>, headers: HeaderMap) -> StatusCode {
    let contexts = headers.get("traceparent").map(|value| value.to_str().unwrap().to_owned());
    taken.lock().unwrap().contexts.extend(contexts);
    StatusCode::NO_CONTENT
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

async fn webhook(server: &Server, address: &str) {
    let settings =
        json!({ "url": format!("{address}/hook"), "secret": "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw" });
    let channel = json!({ "adapter": "webhook", "settings": settings });
    server.put("/api/v1/channels/webhook:test", &channel).await;
}

async fn post_to(server: &Server, path: &str, traceparent: Option<&str>, body: &Value) {
    let mut request = server.client.post(format!("{}{path}", server.address)).bearer_auth(KEY).json(body);
    if let Some(traceparent) = traceparent {
        request = request.header("traceparent", traceparent);
    }
    let answer = request.send().await.unwrap();
    assert_eq!(answer.status(), 201, "{}", answer.text().await.unwrap());
}

const TRACE: &str = "0af7651916cd43dd8448eb211c80319c";
const CALLER: &str = "b7ad6b7169203331";

async fn traces_reach_the_collector(mut place: Place) {
    let (collector, traces, address) = Collector::start().await;
    place.environment = vec![
        ("OTEL_EXPORTER_OTLP_ENDPOINT".into(), traces),
        ("OTEL_RESOURCE_ATTRIBUTES".into(), "deployment.environment.name=test".into()),
    ];
    let server = place.start(&["--node", "n-1"]);
    webhook(&server, &address).await;
    let message = json!({ "targets": ["someone"], "channel": "webhook:test", "subject": "s", "body": "b" });
    let traceparent = format!("00-{TRACE}-{CALLER}-01");
    post_to(&server, "/api/v1/notifications", Some(&traceparent), &message).await;
    let request = collector.one(&server, "POST /api/v1/notifications").await;
    assert_eq!((hex(&request.trace_id), hex(&request.parent_span_id)), (TRACE.into(), CALLER.into()));
    assert_eq!(request.kind(), SpanKind::Server);
    let stored = collector.one(&server, "store notifications").await;
    let (queued, attempt) = (collector.one(&server, "queued").await, collector.one(&server, "deliver").await);
    let call = collector.one(&server, "send webhook").await;
    for (span, parent) in [(&stored, &request), (&queued, &request), (&attempt, &queued), (&call, &attempt)] {
        assert_eq!(hex(&span.trace_id), TRACE, "{}", span.name);
        assert_eq!(span.parent_span_id, parent.span_id, "{} is a part of {}", span.name, parent.name);
        assert!(span.start_time_unix_nano <= span.end_time_unix_nano);
    }
    assert_eq!(call.kind(), SpanKind::Client);
    let contexts = collector.0.lock().unwrap().contexts.clone();
    assert_eq!(contexts, [format!("00-{TRACE}-{}-01", hex(&call.span_id))]);
    let resource = collector.0.lock().unwrap().resource.clone();
    for (key, value) in [
        ("service.name", "punctual"),
        ("service.instance.id", "n-1"),
        ("deployment.environment.name", "test"),
    ] {
        assert!(resource.contains(&(key.into(), value.into())), "{key}: {resource:?}");
    }
    // Work that is due: the trace of the request goes on in the decision, and the batch is linked to it.
    let mut later = message.clone();
    let already = Timestamp::from_nanosecond(i128::from(request.end_time_unix_nano)).unwrap();
    later["sendAt"] = json!(already.to_string());
    let traceparent = format!("00-{}-{CALLER}-01", TRACE.replace('0', "1"));
    post_to(&server, "/api/v1/messages", Some(&traceparent), &later).await;
    let decision = collector.one(&server, "decide message").await;
    assert_eq!(hex(&decision.trace_id), TRACE.replace('0', "1"));
    let batch = collector.one(&server, "settle work").await;
    assert!(batch.links.iter().any(|link| link.span_id == decision.span_id), "{batch:?}");
    let calls = collector.spans(&server, "send webhook", 2).await;
    assert_eq!(calls[1].trace_id, decision.trace_id);
    let text = server.client.get(format!("{}/metrics", server.address)).send().await.unwrap();
    let text = text.text().await.unwrap();
    assert!(text.contains("punctual_trace_spans_dropped_total 0"), "{text}");
    server.kill();
}

/// A collector that is not there takes nothing away from the product, and what it did not take is counted.
async fn a_collector_that_is_down_disturbs_nothing(mut place: Place) {
    let (collector, _, address) = Collector::start().await;
    place.environment = vec![("OTEL_EXPORTER_OTLP_ENDPOINT".into(), "http://127.0.0.1:9".into())];
    let server = place.start(&[]);
    webhook(&server, &address).await;
    let message = json!({ "targets": ["someone"], "channel": "webhook:test", "subject": "s", "body": "b" });
    post_to(&server, "/api/v1/notifications", None, &message).await;
    let counted = async |server: &Server| {
        let text = server.client.get(format!("{}/metrics", server.address)).send().await.unwrap();
        let text = text.text().await.unwrap();
        let line = text.lines().find(|line| line.starts_with("punctual_trace_spans_dropped_total ")).unwrap();
        (line.rsplit(' ').next() != Some("0")).then_some(())
    };
    server.until("spans that were dropped", counted).await;
    let delivered = async |_: &Server| (!collector.0.lock().unwrap().contexts.is_empty()).then_some(());
    server.until("the message", delivered).await;
    server.kill();
}

mod sqlite {
    use super::*;

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn traces_reach_the_collector() {
        super::traces_reach_the_collector(Place::sqlite()).await;
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn a_collector_that_is_down_disturbs_nothing() {
        super::a_collector_that_is_down_disturbs_nothing(Place::sqlite()).await;
    }
}

mod postgres {
    use super::*;

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn traces_reach_the_collector() {
        super::traces_reach_the_collector(Place::postgres().await).await;
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn a_collector_that_is_down_disturbs_nothing() {
        super::a_collector_that_is_down_disturbs_nothing(Place::postgres().await).await;
    }
}
