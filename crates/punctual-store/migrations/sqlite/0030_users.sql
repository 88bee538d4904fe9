-- People who sign in to the console. An email is stored in lower case, so that it is unique whatever its case.
CREATE TABLE users (
    id TEXT NOT NULL PRIMARY KEY,
    email TEXT NOT NULL,
    name TEXT NOT NULL,
    role TEXT NOT NULL CHECK (role IN ('viewer', 'operator', 'author', 'admin')),
    business_units TEXT,
    active INTEGER NOT NULL DEFAULT 1 CHECK (active IN (0, 1)),
    password_hash TEXT,
    issuer TEXT,
    subject TEXT,
    rights_from_provider INTEGER NOT NULL DEFAULT 0 CHECK (rights_from_provider IN (0, 1)),
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    last_sign_in_at INTEGER,
    version INTEGER NOT NULL DEFAULT 1
) STRICT;
CREATE UNIQUE INDEX users_by_email ON users (email);
CREATE UNIQUE INDEX users_by_subject ON users (issuer, subject) WHERE subject IS NOT NULL;

-- Links with which somebody sets a password, once. Only the hash of a link is kept.
CREATE TABLE invitations (
    hash TEXT NOT NULL PRIMARY KEY,
    user_id TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    expires_at INTEGER NOT NULL
) STRICT;
CREATE INDEX invitations_by_user ON invitations (user_id);

-- A session belongs to a key or to a person. SQLite cannot drop a NOT NULL, so the table is made anew with its rows.
ALTER TABLE sessions RENAME TO sessions_of_keys;
CREATE TABLE sessions (
    hash TEXT NOT NULL PRIMARY KEY,
    key_id TEXT,
    created_at INTEGER NOT NULL,
    last_used_at INTEGER NOT NULL,
    expires_at INTEGER NOT NULL,
    user_id TEXT,
    device TEXT,
    CHECK ((key_id IS NULL) <> (user_id IS NULL))
) STRICT;
INSERT INTO sessions (hash, key_id, created_at, last_used_at, expires_at)
SELECT hash, key_id, created_at, last_used_at, expires_at FROM sessions_of_keys;
DROP TABLE sessions_of_keys;
CREATE INDEX sessions_by_expiry ON sessions (expires_at);
CREATE INDEX sessions_by_key ON sessions (key_id);
CREATE INDEX sessions_by_user ON sessions (user_id);
