-- What each node is deciding, committed before it decides: after a process died, its rows are known.
CREATE TABLE batches (
    node TEXT NOT NULL,
    -- A node decides several batches at once.
    slot BIGINT NOT NULL,
    -- Of rows of work, as a JSON array.
    ids TEXT NOT NULL,
    begun_at BIGINT NOT NULL,
    PRIMARY KEY (node, slot)
);
