-- People who sign in to the console. An email is stored in lower case, so that it is unique whatever its case.
CREATE TABLE users (
    id TEXT NOT NULL PRIMARY KEY,
    email TEXT NOT NULL,
    name TEXT NOT NULL,
    role TEXT NOT NULL CHECK (role IN ('viewer', 'operator', 'author', 'admin')),
    business_units TEXT,
    active BOOLEAN NOT NULL DEFAULT TRUE,
    password_hash TEXT,
    issuer TEXT,
    subject TEXT,
    rights_from_provider BOOLEAN NOT NULL DEFAULT FALSE,
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL,
    last_sign_in_at BIGINT,
    version BIGINT NOT NULL DEFAULT 1
);
CREATE UNIQUE INDEX users_by_email ON users (email);
CREATE UNIQUE INDEX users_by_subject ON users (issuer, subject) WHERE subject IS NOT NULL;

-- Links with which somebody sets a password, once. Only the hash of a link is kept.
CREATE TABLE invitations (
    hash TEXT NOT NULL PRIMARY KEY,
    user_id TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    expires_at BIGINT NOT NULL
);
CREATE INDEX invitations_by_user ON invitations (user_id);

-- A session belongs to a key or to a person.
ALTER TABLE sessions ALTER COLUMN key_id DROP NOT NULL;
ALTER TABLE sessions ADD COLUMN user_id TEXT;
ALTER TABLE sessions ADD COLUMN device TEXT;
ALTER TABLE sessions ADD CHECK ((key_id IS NULL) <> (user_id IS NULL));
CREATE INDEX sessions_by_key ON sessions (key_id);
CREATE INDEX sessions_by_user ON sessions (user_id);
