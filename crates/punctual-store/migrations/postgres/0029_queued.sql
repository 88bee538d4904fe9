-- The notifications of rows that queued more than the row names.
CREATE TABLE work_notifications (
    work_id BIGINT NOT NULL,
    notification_id TEXT NOT NULL,
    PRIMARY KEY (work_id, notification_id)
);
CREATE INDEX work_notifications_by_notification ON work_notifications (notification_id);

-- Whose message is held back: what ends that row ends its place in the digest too.
ALTER TABLE digest_items ADD COLUMN work_id BIGINT;
UPDATE digest_items SET work_id = (SELECT n.work_id FROM notifications AS n WHERE n.id = digest_items.notification_id);
CREATE INDEX digest_items_by_work ON digest_items (work_id) WHERE work_id IS NOT NULL;

-- The agents of a site: each has a name and a buffer of its own. The only one of a site may have none.
CREATE TABLE site_agents (
    site TEXT NOT NULL,
    agent TEXT NOT NULL,
    last_contact_at BIGINT NOT NULL,
    version TEXT,
    backlog BIGINT NOT NULL,
    oldest_buffered_age_seconds BIGINT,
    refused BIGINT NOT NULL,
    clock_offset_ms BIGINT,
    PRIMARY KEY (site, agent)
);
