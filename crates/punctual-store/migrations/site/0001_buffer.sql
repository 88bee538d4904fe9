-- What scripts at a site handed in. A row waits until central has it; then its content goes and its id stays a while.
CREATE TABLE outgoing (
    -- The order in which rows are forwarded; a number is never given twice.
    seq INTEGER PRIMARY KEY AUTOINCREMENT,
    id TEXT NOT NULL,
    digest TEXT NOT NULL,
    state TEXT NOT NULL CHECK (state IN ('waiting', 'handed_over', 'refused')),
    enqueued_at INTEGER NOT NULL,
    -- How much it takes on the wire, for batches and for the bound of the buffer.
    bytes INTEGER NOT NULL,
    -- When it stopped waiting.
    settled_at INTEGER,
    -- What was last known of it: forwarding, then central's word, or refused.
    status TEXT NOT NULL,
    retry_count INTEGER NOT NULL DEFAULT 0,
    last_error TEXT,
    delivered_at INTEGER,
    -- Gone once central has it.
    list_name TEXT,
    instance TEXT,
    script TEXT,
    subject TEXT,
    body TEXT
) STRICT;
CREATE UNIQUE INDEX outgoing_by_id ON outgoing (id);
-- Wide enough to count and to cut batches without reading content.
CREATE INDEX outgoing_waiting ON outgoing (seq, enqueued_at, bytes) WHERE state = 'waiting';
CREATE INDEX outgoing_settled ON outgoing (state, settled_at) WHERE settled_at IS NOT NULL;

-- The site's event log: forwarding that failed and rows that wait long; success is not logged. Bounded.
CREATE TABLE events (
    seq INTEGER PRIMARY KEY AUTOINCREMENT,
    id TEXT NOT NULL,
    category TEXT NOT NULL,
    kind TEXT NOT NULL,
    began_at INTEGER NOT NULL,
    last_at INTEGER NOT NULL,
    count INTEGER NOT NULL,
    detail TEXT NOT NULL,
    -- The last_at that central was told.
    reported_at INTEGER
) STRICT;
CREATE UNIQUE INDEX events_by_id ON events (id);

-- Whose buffer this is.
CREATE TABLE facts (
    name TEXT NOT NULL PRIMARY KEY,
    value TEXT NOT NULL,
    updated_at INTEGER NOT NULL
) STRICT;
