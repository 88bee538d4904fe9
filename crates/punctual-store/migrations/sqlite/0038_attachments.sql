-- Files that callers bring. The content is a blob; it stays while something uses it, else until keep_until.
CREATE TABLE uploads (
    id TEXT NOT NULL PRIMARY KEY,
    business_unit TEXT,
    digest TEXT NOT NULL,
    media_type TEXT NOT NULL,
    bytes INTEGER NOT NULL,
    stored INTEGER NOT NULL DEFAULT 0,
    in_use INTEGER NOT NULL DEFAULT 0,
    keep_until INTEGER NOT NULL,
    created_at INTEGER NOT NULL,
    removed_at INTEGER
) STRICT;
CREATE INDEX uploads_unused ON uploads (keep_until) WHERE NOT in_use;

-- What uses a file: a notification by its number, or a message by the key of its work row.
CREATE TABLE upload_uses (
    upload_id TEXT NOT NULL,
    used_by TEXT NOT NULL,
    notification_seq INTEGER,
    PRIMARY KEY (upload_id, used_by)
) STRICT;
CREATE INDEX upload_uses_of_notifications ON upload_uses (notification_seq) WHERE notification_seq IS NOT NULL;
CREATE INDEX upload_uses_of_messages ON upload_uses (used_by) WHERE notification_seq IS NULL;

-- Where answers go, headers of the mail, the trace: a JSON object. The client is named where its keys may only send.
ALTER TABLE notifications ADD COLUMN envelope TEXT;
ALTER TABLE notifications ADD COLUMN client TEXT;
CREATE INDEX notifications_by_client ON notifications (client, seq) WHERE client IS NOT NULL;
ALTER TABLE messages ADD COLUMN attachments TEXT;
ALTER TABLE messages ADD COLUMN envelope TEXT;
ALTER TABLE messages ADD COLUMN client TEXT;
