-- People who may be told about events and tasks.
CREATE TABLE operations_people (
    id TEXT NOT NULL PRIMARY KEY,
    name TEXT NOT NULL,
    email TEXT,
    time_zone TEXT,
    locale TEXT,
    -- What they want to be told over, in their order: a JSON array of texts.
    channels TEXT NOT NULL,
    -- Where they are reached besides e-mail: a JSON object, type of channel to address.
    addresses TEXT NOT NULL,
    business_unit TEXT,
    updated_at INTEGER NOT NULL
) STRICT;

-- What events and tasks of one organisation have in common.
CREATE TABLE operations_organisations (
    id TEXT NOT NULL PRIMARY KEY,
    name TEXT NOT NULL,
    time_zone TEXT,
    -- The local time at which an all-day date counts.
    all_day_at TEXT,
    -- The rules that a new event or task gets: a JSON array; nothing for the ordinary two.
    rules TEXT,
    business_unit TEXT,
    updated_at INTEGER NOT NULL
) STRICT;

-- Events and tasks.
CREATE TABLE operations_subjects (
    id TEXT NOT NULL PRIMARY KEY,
    subject_type TEXT NOT NULL CHECK (subject_type IN ('event', 'task')),
    title TEXT NOT NULL,
    start_at INTEGER,
    end_at INTEGER,
    is_all_day INTEGER NOT NULL,
    creator TEXT NOT NULL,
    -- Participants of an event, related users of a task: a JSON array of ids.
    people TEXT NOT NULL,
    organisation TEXT,
    time_zone TEXT,
    business_unit TEXT,
    -- The identity it had in the calendar it was imported from.
    ical_uid TEXT,
    -- The earlier and the later of its dates, for calendars.
    first_at INTEGER,
    last_at INTEGER,
    deleted_at INTEGER,
    version INTEGER NOT NULL DEFAULT 1,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL
) STRICT;
CREATE INDEX operations_subjects_by_type ON operations_subjects (subject_type, id) WHERE deleted_at IS NULL;
CREATE INDEX operations_subjects_by_time ON operations_subjects (last_at, id) WHERE deleted_at IS NULL;
CREATE INDEX operations_subjects_by_organisation ON operations_subjects (organisation, id) WHERE deleted_at IS NULL AND organisation IS NOT NULL;
CREATE UNIQUE INDEX operations_subjects_by_uid ON operations_subjects (ical_uid) WHERE deleted_at IS NULL AND ical_uid IS NOT NULL;

-- When somebody is told about an event or task, and how far that is scheduled.
CREATE TABLE operations_rules (
    id TEXT NOT NULL PRIMARY KEY,
    subject_type TEXT NOT NULL CHECK (subject_type IN ('event', 'task')),
    subject_id TEXT NOT NULL,
    kind TEXT NOT NULL CHECK (kind IN ('start', 'end')),
    -- The type inside the rule, for the bound on how many there may be.
    rule_type TEXT NOT NULL,
    rule TEXT NOT NULL,
    channels TEXT NOT NULL,
    -- The work row of the occurrence that is scheduled, with its key's last part and its moment.
    schedule_id INTEGER,
    occurrence TEXT,
    run_at INTEGER,
    -- When the date was set that this occurrence follows from.
    dated_at INTEGER NOT NULL,
    sync_status TEXT NOT NULL CHECK (sync_status = 'pending' OR sync_status = 'synced' OR sync_status = 'failed'),
    sync_error TEXT,
    sync_tries INTEGER NOT NULL DEFAULT 0,
    -- When the reconciler takes it; nothing once it is synced.
    sync_due_at INTEGER,
    active INTEGER NOT NULL,
    deleted_at INTEGER,
    last_sent_at INTEGER,
    last_sent_occurrence TEXT,
    business_unit TEXT,
    version INTEGER NOT NULL DEFAULT 1,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL
) STRICT;
CREATE INDEX operations_rules_by_subject ON operations_rules (subject_id, id);
CREATE UNIQUE INDEX operations_rules_at_date ON operations_rules (subject_id, kind) WHERE rule_type = 'at_subject_date' AND deleted_at IS NULL;
CREATE INDEX operations_rules_to_sync ON operations_rules (sync_due_at, id) WHERE sync_due_at IS NOT NULL;
CREATE INDEX operations_rules_failed ON operations_rules (id) WHERE sync_status = 'failed';

-- Secret links to calendars: one for each organisation or person that has one.
CREATE TABLE operations_feeds (
    owner_type TEXT NOT NULL CHECK (owner_type IN ('organisation', 'person')),
    owner_id TEXT NOT NULL,
    secret_hash TEXT NOT NULL,
    business_unit TEXT,
    created_at INTEGER NOT NULL,
    PRIMARY KEY (owner_type, owner_id)
) STRICT;
CREATE UNIQUE INDEX operations_feeds_by_hash ON operations_feeds (secret_hash);
