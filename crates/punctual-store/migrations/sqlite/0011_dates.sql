-- An event of the outbox is about an answered survey or about a schedule that has arrived, by the key of its work row.
CREATE TABLE outbox_events_now (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    event_type TEXT NOT NULL,
    instance_public_id TEXT,
    survey_id INTEGER,
    work_key TEXT,
    business_unit TEXT,
    payload TEXT NOT NULL,
    created_at INTEGER NOT NULL
) STRICT;
INSERT INTO outbox_events_now (id, event_type, instance_public_id, survey_id, business_unit, payload, created_at)
SELECT id, event_type, instance_public_id, survey_id, business_unit, payload, created_at FROM outbox_events ORDER BY id;
DROP TABLE outbox_events;
ALTER TABLE outbox_events_now RENAME TO outbox_events;
CREATE UNIQUE INDEX outbox_events_by_instance ON outbox_events (instance_public_id, event_type);
CREATE UNIQUE INDEX outbox_events_by_work ON outbox_events (work_key, event_type);
