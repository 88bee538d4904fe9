-- Answers of the single sign-on that were used: each signs in once. Only the hash of one is kept, for as long as it is good.
CREATE TABLE sign_on_answers (
    hash TEXT NOT NULL PRIMARY KEY,
    expires_at INTEGER NOT NULL
) STRICT;
