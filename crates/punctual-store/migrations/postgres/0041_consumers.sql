-- Where events are taken from: a stream or queue of a message broker.
CREATE TABLE consumers (
    key TEXT NOT NULL PRIMARY KEY,
    adapter TEXT NOT NULL,
    settings TEXT NOT NULL,
    business_unit TEXT,
    active BOOLEAN NOT NULL DEFAULT TRUE,
    version BIGINT NOT NULL DEFAULT 1,
    updated_at BIGINT NOT NULL
);

-- How a consumer is on each node that runs it. The counts are of all time, the rest is what the node last reported.
CREATE TABLE consumer_health (
    consumer TEXT NOT NULL,
    node TEXT NOT NULL,
    state TEXT NOT NULL CHECK (state IN ('connecting', 'connected', 'disconnected')),
    since BIGINT NOT NULL,
    last_message_at BIGINT,
    lag BIGINT,
    last_error TEXT,
    last_error_at BIGINT,
    accepted BIGINT NOT NULL DEFAULT 0,
    duplicates BIGINT NOT NULL DEFAULT 0,
    refused BIGINT NOT NULL DEFAULT 0,
    reported_at BIGINT NOT NULL,
    PRIMARY KEY (consumer, node)
);

-- Events that were taken from brokers, by who they are limited to, source and id: one that comes again is known.
CREATE TABLE known_events (
    scope TEXT NOT NULL,
    source TEXT NOT NULL,
    event_id TEXT NOT NULL,
    received_at BIGINT NOT NULL,
    PRIMARY KEY (scope, source, event_id)
);
CREATE INDEX known_events_by_age ON known_events (received_at);
