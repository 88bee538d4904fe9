-- What people are reminded of, and how. The definition is JSON; the columns are what settings are found by.
CREATE TABLE reminder_settings (
    id TEXT NOT NULL PRIMARY KEY,
    name TEXT NOT NULL,
    business_unit TEXT,
    source_type TEXT NOT NULL,
    -- The type of the sources that it counts, where it counts some.
    child_type TEXT,
    kind TEXT NOT NULL,
    active BOOLEAN NOT NULL,
    deleted BOOLEAN NOT NULL DEFAULT FALSE,
    definition TEXT NOT NULL,
    version BIGINT NOT NULL DEFAULT 1,
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL
);
CREATE INDEX reminder_settings_by_source ON reminder_settings (source_type) WHERE NOT deleted;
CREATE INDEX reminder_settings_by_child ON reminder_settings (child_type) WHERE child_type IS NOT NULL AND NOT deleted;

-- Where a measure of a source stands to its threshold: what a firing policy has to remember.
CREATE TABLE reminder_states (
    setting_id TEXT NOT NULL,
    source_id TEXT NOT NULL,
    metric TEXT NOT NULL,
    scope TEXT NOT NULL,
    met BOOLEAN NOT NULL,
    -- How often it has gone from not met to met.
    crossing BIGINT NOT NULL,
    fired BOOLEAN NOT NULL,
    value TEXT,
    updated_at BIGINT NOT NULL,
    PRIMARY KEY (setting_id, source_id, metric, scope)
);

-- What each counted source adds to which parent, so that a parent is summed up without looking at all of them.
CREATE TABLE reminder_children (
    setting_id TEXT NOT NULL,
    child_id TEXT NOT NULL,
    parent_id TEXT NOT NULL,
    -- One for a count, the amount for a sum.
    amount_millionths BIGINT NOT NULL,
    PRIMARY KEY (setting_id, child_id)
);
CREATE INDEX reminder_children_by_parent ON reminder_children (setting_id, parent_id);

-- How far a change over many sources has got, by the key of its work row.
CREATE TABLE reminder_changes (
    key TEXT NOT NULL PRIMARY KEY,
    after_type TEXT NOT NULL,
    after_id TEXT NOT NULL,
    created BIGINT NOT NULL,
    updated BIGINT NOT NULL,
    deactivated BIGINT NOT NULL,
    updated_at BIGINT NOT NULL
);

-- How far each provider's reconciliation has looked, and what its last run did.
CREATE TABLE reconciliations (
    provider TEXT NOT NULL PRIMARY KEY,
    watermark BIGINT NOT NULL,
    last_run_at BIGINT NOT NULL,
    report TEXT NOT NULL
);

-- For reconciliation: what changed since.
CREATE INDEX sources_changed ON sources (updated_at, source_type, source_id);
