-- SQLite builds a table in memory for a list of three values or more, for each row that is written: conditions that are
-- looked at with every row are spelled out with OR.

-- What is due. Small on purpose: ids and coordinates, never content.
CREATE TABLE work (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    key TEXT NOT NULL,
    kind TEXT NOT NULL,
    trigger_type TEXT NOT NULL CHECK (trigger_type = 'date_based' OR trigger_type = 'threshold' OR trigger_type = 'recurring' OR trigger_type = 'scheduled_run' OR trigger_type = 'manual_run' OR trigger_type = 'at'),
    business_unit TEXT,
    source_type TEXT,
    source_id TEXT,
    setting_id TEXT,
    due_at INTEGER NOT NULL,
    local_date TEXT,
    time_zone TEXT,
    status TEXT NOT NULL CHECK (status = 'pending' OR status = 'processing' OR status = 'completed' OR status = 'failed' OR status = 'deactivated' OR status = 'cancelled'),
    on_hold INTEGER NOT NULL DEFAULT 0,
    ready_at INTEGER NOT NULL,
    lease_expires_at INTEGER,
    retry_count INTEGER NOT NULL DEFAULT 0,
    next_retry_at INTEGER,
    reason_code TEXT,
    cancelled_by_person INTEGER NOT NULL DEFAULT 0,
    input_hash TEXT NOT NULL,
    input TEXT NOT NULL,
    result TEXT,
    trace_blob TEXT,
    open_notifications INTEGER NOT NULL DEFAULT 0,
    retry_of INTEGER,
    version INTEGER NOT NULL DEFAULT 1,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL
) STRICT;
CREATE UNIQUE INDEX work_by_key ON work (key);
CREATE INDEX work_ready ON work (kind, ready_at, id) WHERE status = 'pending' AND NOT on_hold;
CREATE INDEX work_leased ON work (lease_expires_at) WHERE status = 'processing';
CREATE INDEX work_held ON work (id) WHERE on_hold;
CREATE INDEX work_failed ON work (id) WHERE status = 'failed';
CREATE INDEX work_by_source ON work (source_type, source_id) WHERE source_type IS NOT NULL;
CREATE INDEX work_by_setting ON work (setting_id) WHERE setting_id IS NOT NULL;
CREATE INDEX work_retries ON work (retry_of) WHERE retry_of IS NOT NULL;

-- What to send. seq is the order of arrival; id is the producer's.
CREATE TABLE notifications (
    seq INTEGER PRIMARY KEY AUTOINCREMENT,
    id TEXT NOT NULL,
    digest TEXT NOT NULL,
    kind TEXT NOT NULL,
    channel TEXT NOT NULL,
    list_name TEXT,
    targets TEXT,
    subject TEXT NOT NULL,
    body TEXT NOT NULL,
    html TEXT,
    template TEXT,
    locale TEXT,
    context TEXT,
    type_data TEXT,
    attachments TEXT,
    status TEXT NOT NULL CHECK (status = 'pending' OR status = 'retrying' OR status = 'delivered' OR status = 'parked' OR status = 'withdrawn' OR status = 'discarded'),
    priority INTEGER NOT NULL DEFAULT 5,
    ready_at INTEGER NOT NULL,
    lease_expires_at INTEGER,
    retry_count INTEGER NOT NULL DEFAULT 0,
    tries INTEGER NOT NULL DEFAULT 0,
    last_error TEXT,
    reason_code TEXT,
    business_unit TEXT,
    source_site TEXT,
    source_instance TEXT,
    source_script TEXT,
    work_id INTEGER,
    reports_back INTEGER NOT NULL DEFAULT 0,
    -- How many tries ended with no certain answer.
    uncertain INTEGER NOT NULL DEFAULT 0,
    site_enqueued_at INTEGER,
    created_at INTEGER NOT NULL,
    last_attempt_at INTEGER,
    delivered_at INTEGER,
    finished_at INTEGER,
    version INTEGER NOT NULL DEFAULT 1
) STRICT;
CREATE UNIQUE INDEX notifications_by_id ON notifications (id);
CREATE INDEX notifications_ready ON notifications (channel, priority, ready_at, seq) WHERE status IN ('pending', 'retrying') AND lease_expires_at IS NULL;
CREATE INDEX notifications_leased ON notifications (lease_expires_at) WHERE lease_expires_at IS NOT NULL;
-- For the figures alone. It leaves events out as they do, so that no claim can be planned over it by mistake.
CREATE INDEX notifications_live ON notifications (created_at) WHERE status IN ('pending', 'retrying') AND kind <> 'event';
CREATE INDEX notifications_by_work ON notifications (work_id) WHERE work_id IS NOT NULL AND (status = 'pending' OR status = 'retrying' OR status = 'parked');
CREATE INDEX notifications_parked ON notifications (seq) WHERE status = 'parked';
CREATE INDEX notifications_uncertain ON notifications (seq) WHERE uncertain > 0;
CREATE INDEX notifications_finished ON notifications (finished_at) WHERE finished_at IS NOT NULL;
CREATE INDEX notifications_by_site ON notifications (source_site, seq) WHERE source_site IS NOT NULL;

-- Ledger and log: the intent is written before a send, its result after it.
CREATE TABLE attempts (
    notification_seq INTEGER NOT NULL,
    target TEXT NOT NULL,
    n INTEGER NOT NULL,
    node TEXT NOT NULL,
    channel TEXT NOT NULL,
    started_at INTEGER NOT NULL,
    finished_at INTEGER,
    outcome TEXT CHECK (outcome = 'delivered' OR outcome = 'transient' OR outcome = 'permanent' OR outcome = 'uncertain'),
    provider_id TEXT,
    answer TEXT,
    PRIMARY KEY (notification_seq, target, n)
) STRICT, WITHOUT ROWID;

-- What a purge leaves behind, so that forgetting never reopens an id.
CREATE TABLE tombstones (
    id TEXT NOT NULL PRIMARY KEY,
    digest TEXT NOT NULL,
    status TEXT NOT NULL,
    purged_at INTEGER NOT NULL
) STRICT;

CREATE TABLE idempotency_keys (
    owner TEXT NOT NULL,
    key TEXT NOT NULL,
    digest TEXT NOT NULL,
    status INTEGER NOT NULL,
    body TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    PRIMARY KEY (owner, key)
) STRICT;
CREATE INDEX idempotency_keys_by_age ON idempotency_keys (created_at);

CREATE TABLE lists (
    name TEXT NOT NULL PRIMARY KEY,
    kind TEXT NOT NULL,
    channel TEXT NOT NULL,
    targets TEXT NOT NULL,
    business_unit TEXT,
    updated_at INTEGER NOT NULL
) STRICT;

CREATE TABLE channels (
    key TEXT NOT NULL PRIMARY KEY,
    adapter TEXT NOT NULL,
    settings TEXT NOT NULL,
    retry TEXT NOT NULL,
    at_most_once INTEGER NOT NULL DEFAULT 0,
    version INTEGER NOT NULL DEFAULT 1,
    updated_at INTEGER NOT NULL
) STRICT;

CREATE TABLE templates (
    name TEXT NOT NULL PRIMARY KEY,
    default_locale TEXT NOT NULL,
    variants TEXT NOT NULL,
    version INTEGER NOT NULL DEFAULT 1,
    updated_at INTEGER NOT NULL
) STRICT;

CREATE TABLE business_units (
    id TEXT NOT NULL PRIMARY KEY,
    name TEXT NOT NULL,
    time_zone TEXT NOT NULL,
    updated_at INTEGER NOT NULL
) STRICT;

CREATE TABLE sources (
    source_type TEXT NOT NULL,
    source_id TEXT NOT NULL,
    business_unit TEXT,
    active INTEGER NOT NULL,
    deleted INTEGER NOT NULL DEFAULT 0,
    state TEXT NOT NULL,
    -- An older event never overwrites a newer one: the producer's sequence where it has one, else its time.
    sequence INTEGER,
    occurred_at INTEGER NOT NULL,
    version INTEGER NOT NULL DEFAULT 1,
    updated_at INTEGER NOT NULL,
    PRIMARY KEY (source_type, source_id)
) STRICT;

CREATE TABLE api_keys (
    id TEXT NOT NULL PRIMARY KEY,
    name TEXT NOT NULL,
    secret_hash TEXT NOT NULL,
    scopes TEXT NOT NULL,
    business_units TEXT,
    created_at INTEGER NOT NULL,
    expires_at INTEGER,
    revoked_at INTEGER,
    last_used_at INTEGER
) STRICT;
CREATE UNIQUE INDEX api_keys_by_hash ON api_keys (secret_hash);

CREATE TABLE audit (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    at INTEGER NOT NULL,
    actor TEXT NOT NULL,
    action TEXT NOT NULL,
    subject_kind TEXT NOT NULL,
    subject_id TEXT NOT NULL,
    from_status TEXT,
    to_status TEXT,
    version INTEGER,
    reason TEXT,
    data TEXT
) STRICT;
CREATE INDEX audit_by_subject ON audit (subject_kind, subject_id, id);

-- Messages to given people at a given time.
CREATE TABLE messages (
    id TEXT NOT NULL PRIMARY KEY,
    channel TEXT,
    list_name TEXT,
    targets TEXT,
    subject TEXT NOT NULL,
    body TEXT NOT NULL,
    html TEXT,
    template TEXT,
    locale TEXT,
    context TEXT,
    business_unit TEXT,
    send_at INTEGER NOT NULL,
    created_at INTEGER NOT NULL
) STRICT;

-- Facts about the installation: the last purge, the first start.
CREATE TABLE facts (
    name TEXT NOT NULL PRIMARY KEY,
    value TEXT NOT NULL,
    updated_at INTEGER NOT NULL
) STRICT;
