-- Who is signed in to the console. Only the hash of a cookie is kept; what a session may do is what its key may do.
CREATE TABLE sessions (
    hash TEXT NOT NULL PRIMARY KEY,
    key_id TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    last_used_at INTEGER NOT NULL,
    expires_at INTEGER NOT NULL
) STRICT;
CREATE INDEX sessions_by_expiry ON sessions (expires_at);

-- Links that sign in once, as the key they were made for.
CREATE TABLE sign_in_links (
    hash TEXT NOT NULL PRIMARY KEY,
    key_id TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    expires_at INTEGER NOT NULL
) STRICT;

-- For lists of the seldom states alone: rows on their usual way are never in it.
CREATE INDEX notifications_set_aside ON notifications (status, seq) WHERE (status = 'retrying' OR status = 'withdrawn' OR status = 'discarded');
