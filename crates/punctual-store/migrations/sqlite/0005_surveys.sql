-- Surveys: what an author writes. The draft is checked when it is published; published versions never change.
CREATE TABLE surveys (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    name TEXT NOT NULL,
    integration_id TEXT,
    business_unit TEXT,
    draft TEXT NOT NULL,
    published_version INTEGER,
    version INTEGER NOT NULL DEFAULT 1,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL
) STRICT;

CREATE TABLE survey_versions (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    survey_id INTEGER NOT NULL,
    number INTEGER NOT NULL,
    schema_json TEXT NOT NULL,
    published_by TEXT NOT NULL,
    published_at INTEGER NOT NULL
) STRICT;
CREATE UNIQUE INDEX survey_versions_by_number ON survey_versions (survey_id, number);

-- One row for every link that was ever offered. What is due for it stands in work; this is what became of it.
CREATE TABLE survey_instances (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    public_id TEXT NOT NULL,
    survey_id INTEGER NOT NULL,
    version_id INTEGER NOT NULL,
    trigger_id TEXT NOT NULL,
    triggered_by TEXT NOT NULL,
    triggered_at INTEGER NOT NULL,
    status TEXT NOT NULL CHECK (status = 'pending' OR status = 'sent' OR status = 'opened' OR status = 'completed' OR status = 'expired'),
    reason_code TEXT,
    business_unit TEXT,
    customer_ref TEXT,
    metadata TEXT NOT NULL,
    channel TEXT NOT NULL,
    recipient_address TEXT NOT NULL,
    recipient_locale TEXT,
    next_send_at INTEGER,
    last_sent_at INTEGER,
    -- Successful sends so far; the next message of the schedule is the one after them.
    sends INTEGER NOT NULL DEFAULT 0,
    reminders_remaining INTEGER NOT NULL,
    unique_hash TEXT,
    deleted INTEGER NOT NULL DEFAULT 0,
    opened_at INTEGER,
    finished_at INTEGER
) STRICT;
CREATE UNIQUE INDEX survey_instances_by_public_id ON survey_instances (public_id);
CREATE UNIQUE INDEX survey_instances_by_hash ON survey_instances (unique_hash) WHERE unique_hash IS NOT NULL AND NOT deleted;
CREATE INDEX survey_instances_by_survey ON survey_instances (survey_id, id);

-- The one answer of an instance, and its parts.
CREATE TABLE survey_responses (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    instance_id INTEGER NOT NULL,
    survey_id INTEGER NOT NULL,
    version_id INTEGER NOT NULL,
    submission_id TEXT,
    agent_id TEXT,
    locale TEXT,
    answers TEXT NOT NULL,
    completed_at INTEGER NOT NULL
) STRICT;
CREATE UNIQUE INDEX survey_responses_by_instance ON survey_responses (instance_id);
CREATE INDEX survey_responses_by_survey ON survey_responses (survey_id, id);

CREATE TABLE survey_answers (
    response_id INTEGER NOT NULL,
    question_id TEXT NOT NULL,
    value TEXT NOT NULL,
    PRIMARY KEY (response_id, question_id)
) STRICT;

-- Who hears of what happens, by key.
CREATE TABLE subscribers (
    key TEXT NOT NULL PRIMARY KEY,
    adapter TEXT NOT NULL,
    settings TEXT NOT NULL,
    events TEXT NOT NULL,
    filter TEXT,
    retry TEXT NOT NULL,
    active INTEGER NOT NULL DEFAULT 1,
    version INTEGER NOT NULL DEFAULT 1,
    updated_at INTEGER NOT NULL
) STRICT;

-- What happened, and to whom it goes. How a delivery stands is told by its notification; an event has no state of its own.
CREATE TABLE outbox_events (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    event_type TEXT NOT NULL,
    instance_public_id TEXT NOT NULL,
    survey_id INTEGER NOT NULL,
    business_unit TEXT,
    payload TEXT NOT NULL,
    created_at INTEGER NOT NULL
) STRICT;
CREATE UNIQUE INDEX outbox_events_by_instance ON outbox_events (instance_public_id, event_type);

CREATE TABLE outbox_deliveries (
    event_id INTEGER NOT NULL,
    subscriber TEXT NOT NULL,
    notification_id TEXT NOT NULL,
    PRIMARY KEY (event_id, subscriber)
) STRICT;
