-- Subscriptions to reports. What one says is its definition; the columns are for finding it.
CREATE TABLE report_subscriptions (
    guid TEXT NOT NULL PRIMARY KEY,
    name TEXT NOT NULL,
    business_unit TEXT,
    -- The person who answers for it.
    owner TEXT,
    -- The list it goes to, where it goes to one.
    list_name TEXT,
    paused BOOLEAN NOT NULL,
    deleted BOOLEAN NOT NULL DEFAULT FALSE,
    definition TEXT NOT NULL,
    version BIGINT NOT NULL DEFAULT 1,
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL
);
CREATE INDEX report_subscriptions_by_unit ON report_subscriptions (business_unit, guid) WHERE business_unit IS NOT NULL;

-- Who makes the delivery of a run: one row a key, won before anything is made for it.
CREATE TABLE run_ownership (
    key TEXT NOT NULL PRIMARY KEY,
    -- The kind of work, and what the run is of.
    path TEXT NOT NULL,
    subject_id TEXT NOT NULL,
    owner TEXT NOT NULL CHECK (owner IN ('old_scheduler', 'automation_scheduler')),
    owner_version TEXT NOT NULL,
    status TEXT NOT NULL CHECK (status IN ('owned', 'delivery_created', 'cancelled')),
    -- Where what was made for the run lies: a JSON object.
    coordinates TEXT,
    version BIGINT NOT NULL DEFAULT 1,
    taken_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL
);
CREATE INDEX run_ownership_by_subject ON run_ownership (path, subject_id, taken_at);

-- What became of each run, and under which stage of a rollout: for comparison and figures, and for people.
CREATE TABLE run_records (
    key TEXT NOT NULL PRIMARY KEY,
    path TEXT NOT NULL,
    subject_id TEXT NOT NULL,
    business_unit TEXT,
    stage BIGINT,
    due_at BIGINT NOT NULL,
    decided_at BIGINT NOT NULL,
    outcome TEXT NOT NULL,
    reason TEXT,
    tries BIGINT NOT NULL,
    conflicts BIGINT NOT NULL,
    -- What the path has to say about it: a JSON object.
    details TEXT NOT NULL
);
CREATE INDEX run_records_by_subject ON run_records (path, subject_id, due_at);
CREATE INDEX run_records_by_due ON run_records (path, due_at);

-- How far one subject or business unit has moved over from an old scheduler. Without a row, everything has.
CREATE TABLE rollouts (
    path TEXT NOT NULL,
    scope TEXT NOT NULL CHECK (scope IN ('subject', 'business_unit')),
    scope_id TEXT NOT NULL,
    stage BIGINT NOT NULL,
    -- What was confirmed, by whom and when: a JSON object.
    checklist TEXT NOT NULL,
    version BIGINT NOT NULL DEFAULT 1,
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL,
    PRIMARY KEY (path, scope, scope_id)
);

-- For schedulers that can only ask a database: who owns a run.
CREATE VIEW report_run_ownership AS
SELECT key AS scheduler_key,
    CASE owner WHEN 'old_scheduler' THEN 'OldScheduler' ELSE 'AutomationScheduler' END AS owner_type,
    owner_version,
    CASE status WHEN 'owned' THEN 'Owned' WHEN 'cancelled' THEN 'Cancelled' ELSE 'DeliveryCreated' END AS status,
    coordinates AS coordinates_json
FROM run_ownership
WHERE path = 'report-subscription';

-- And whose duty the runs of a subscription are at its stage.
CREATE VIEW report_run_duties AS
SELECT s.guid AS subscription_guid,
    COALESCE(own.stage, unit.stage) AS stage,
    CASE WHEN COALESCE(own.stage, unit.stage) < 3 THEN 'OldScheduler' ELSE 'AutomationScheduler' END AS scheduled_owner,
    CASE WHEN COALESCE(own.stage, unit.stage) < 2 THEN 'OldScheduler' ELSE 'AutomationScheduler' END AS manual_owner
FROM report_subscriptions s
LEFT JOIN rollouts own ON own.path = 'report-subscription' AND own.scope = 'subject' AND own.scope_id = s.guid
LEFT JOIN rollouts unit ON unit.path = 'report-subscription' AND unit.scope = 'business_unit' AND unit.scope_id = s.business_unit
WHERE NOT s.deleted;
