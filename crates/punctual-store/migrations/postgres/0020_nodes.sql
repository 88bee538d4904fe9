-- The nodes, as each last reported itself.
CREATE TABLE nodes (
    node TEXT NOT NULL PRIMARY KEY,
    version TEXT NOT NULL,
    role TEXT NOT NULL,
    -- The newest step of the schema that it knows.
    schema_version BIGINT NOT NULL,
    -- How far its machine's clock is ahead of the time that it goes by.
    clock_offset_ms BIGINT NOT NULL,
    held_work BIGINT NOT NULL,
    held_notifications BIGINT NOT NULL,
    started_at BIGINT NOT NULL,
    last_seen_at BIGINT NOT NULL
);
