-- An event of the outbox is about an answered survey or about a schedule that has arrived, by the key of its work row.
ALTER TABLE outbox_events ALTER COLUMN instance_public_id DROP NOT NULL;
ALTER TABLE outbox_events ALTER COLUMN survey_id DROP NOT NULL;
ALTER TABLE outbox_events ADD COLUMN work_key TEXT;
CREATE UNIQUE INDEX outbox_events_by_work ON outbox_events (work_key, event_type);
