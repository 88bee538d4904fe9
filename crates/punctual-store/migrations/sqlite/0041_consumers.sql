-- Where events are taken from: a stream or queue of a message broker.
CREATE TABLE consumers (
    key TEXT NOT NULL PRIMARY KEY,
    adapter TEXT NOT NULL,
    settings TEXT NOT NULL,
    business_unit TEXT,
    active INTEGER NOT NULL DEFAULT 1,
    version INTEGER NOT NULL DEFAULT 1,
    updated_at INTEGER NOT NULL
) STRICT;

-- How a consumer is on each node that runs it. The counts are of all time, the rest is what the node last reported.
CREATE TABLE consumer_health (
    consumer TEXT NOT NULL,
    node TEXT NOT NULL,
    state TEXT NOT NULL CHECK (state IN ('connecting', 'connected', 'disconnected')),
    since INTEGER NOT NULL,
    last_message_at INTEGER,
    lag INTEGER,
    last_error TEXT,
    last_error_at INTEGER,
    accepted INTEGER NOT NULL DEFAULT 0,
    duplicates INTEGER NOT NULL DEFAULT 0,
    refused INTEGER NOT NULL DEFAULT 0,
    reported_at INTEGER NOT NULL,
    PRIMARY KEY (consumer, node)
) STRICT;

-- Events that were taken from brokers, by who they are limited to, source and id: one that comes again is known.
CREATE TABLE known_events (
    scope TEXT NOT NULL,
    source TEXT NOT NULL,
    event_id TEXT NOT NULL,
    received_at INTEGER NOT NULL,
    PRIMARY KEY (scope, source, event_id)
) STRICT;
CREATE INDEX known_events_by_age ON known_events (received_at);
