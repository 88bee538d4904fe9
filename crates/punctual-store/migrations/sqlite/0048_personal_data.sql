-- Where addresses occur, so that what is stored about a person is found without an index over every attempt: short hashes in
-- pieces of thousands of rows, written behind the pipeline. A piece is spread over 64 buckets; a search reads one bucket.
CREATE TABLE address_index (
    bucket INTEGER NOT NULL,
    -- The table that the numbers are of.
    part TEXT NOT NULL,
    piece INTEGER NOT NULL,
    -- Four bytes of a hash and the eight bytes of a row's number, again and again.
    entries BLOB NOT NULL,
    PRIMARY KEY (bucket, part, piece)
) STRICT;

-- How far each part of the index reaches. What lies behind is read row by row.
CREATE TABLE address_index_parts (
    part TEXT NOT NULL PRIMARY KEY,
    pieces INTEGER NOT NULL,
    after_at INTEGER NOT NULL,
    after_number INTEGER NOT NULL,
    after_text TEXT NOT NULL,
    -- The greatest number that there was at a moment: smaller ones can all be seen some minutes later.
    seen_number INTEGER NOT NULL,
    seen_at INTEGER NOT NULL
) STRICT;

-- Erasures of people. Whom one was about is kept as a salted hash alone.
CREATE TABLE erasures (
    id TEXT NOT NULL PRIMARY KEY,
    status TEXT NOT NULL CHECK (status IN ('planned', 'done', 'incomplete')),
    requested_by TEXT NOT NULL,
    -- The business units that it was limited to: a JSON array.
    units TEXT,
    salt TEXT NOT NULL,
    subject_hash TEXT NOT NULL,
    -- How many rows of each kind: a JSON array.
    found TEXT NOT NULL,
    erased TEXT,
    signature TEXT,
    created_at INTEGER NOT NULL,
    done_at INTEGER
) STRICT;
