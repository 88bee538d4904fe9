//! What the consumers of each kind of broker say about themselves, whether this build includes them or not.

use punctual_model::{AboutAdapter, Setting, adapter_settings::Section};

use super::{CREDENTIALS, NKEY_SEED, PASSWORD, TOKEN, USERNAME};

/// What the durable consumer is called, unless the settings say another name.
pub(crate) const DURABLE: &str = "punctual";

const BATCH: Setting = Setting::number(
    "batch",
    "Batch",
    "how many messages are taken at once; one commit for all of them",
    1,
    1_000,
)
.usually("100")
.section(Section::Advanced);

pub(crate) static NATS: AboutAdapter = AboutAdapter {
    title: "NATS JetStream",
    purpose: "takes events from a stream",
    types: &["nats"],
    example: r#"{"url":"tls://nats.example.com","stream":"ORDERS","deadLetterSubject":"orders-refused"}"#,
    settings: &[
        Setting::url("url", "URL", "the server, such as tls://nats.example.com").required(),
        Setting::text("stream", "Stream", "the stream with the events, such as ORDERS").required(),
        Setting::text("durable", "Durable consumer", "its name at the server").usually(DURABLE),
        Setting::text(
            "subject",
            "Subject",
            "which messages of the stream are meant; all of them where it is missing",
        ),
        Setting::text(
            "deadLetterSubject",
            "Dead letters",
            "where messages that are refused go, such as orders-refused; another stream keeps it",
        )
        .required(),
        BATCH,
        USERNAME,
        PASSWORD,
        TOKEN,
        NKEY_SEED,
        CREDENTIALS,
    ],
};

pub(crate) static AMQP: AboutAdapter = AboutAdapter {
    title: "AMQP 0.9.1",
    purpose: "takes events from a queue of RabbitMQ",
    types: &["amqp"],
    example: r#"{"url":"amqps://rabbit.example.com","queue":"orders","deadLetterQueue":"orders-refused"}"#,
    settings: &[
        Setting::url("url", "URL", "the broker, such as amqps://rabbit.example.com/vhost").required(),
        Setting::text("queue", "Queue", "where events are, such as orders").required(),
        Setting::text(
            "deadLetterQueue",
            "Dead letters",
            "the queue for refused events, such as orders-refused",
        )
        .required(),
        BATCH,
        USERNAME,
        PASSWORD,
    ],
};

pub(crate) static AMQP1: AboutAdapter = AboutAdapter {
    title: "AMQP 1.0",
    purpose: "takes events from Azure Service Bus, ActiveMQ and others",
    types: &["amqp1"],
    example: r#"{"url":"amqps://bus.example.com","address":"orders","deadLetterAddress":"orders-refused"}"#,
    settings: &[
        Setting::url("url", "URL", "the broker, such as amqps://bus.servicebus.windows.net").required(),
        Setting::text("address", "Address", "where events are, such as orders").required(),
        Setting::text(
            "deadLetterAddress",
            "Dead letters",
            "the queue for refused events, such as orders-refused",
        )
        .required(),
        Setting::text("virtualHost", "Virtual host", "the virtual host, as RabbitMQ has them")
            .section(Section::Advanced),
        BATCH,
        USERNAME,
        PASSWORD,
    ],
};
