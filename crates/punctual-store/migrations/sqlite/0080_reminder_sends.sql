-- What each reminder setting has sent, newest first. An index over work would be written with every row of the pipeline.
CREATE TABLE reminder_sends (
    setting_id TEXT NOT NULL,
    sent_at INTEGER NOT NULL,
    work_id INTEGER NOT NULL,
    PRIMARY KEY (setting_id, sent_at, work_id)
) STRICT, WITHOUT ROWID;
-- For the purge.
CREATE INDEX reminder_sends_by_age ON reminder_sends (sent_at);
