-- A message has settled and its row of work could not be told with it: the sweep does that.
CREATE TABLE owed (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    work_id INTEGER NOT NULL,
    notification_id TEXT NOT NULL,
    -- What the message settled as.
    status TEXT NOT NULL,
    attempts INTEGER NOT NULL,
    owed_since INTEGER NOT NULL,
    next_at INTEGER NOT NULL,
    last_error TEXT NOT NULL
) STRICT;
CREATE INDEX owed_next ON owed (next_at, id);
