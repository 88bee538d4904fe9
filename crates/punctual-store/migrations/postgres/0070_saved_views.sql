-- Filters of the console's lists that somebody has given a name.
CREATE TABLE saved_views (
    -- The account, or the name of the key that signed in.
    owner TEXT NOT NULL,
    -- The path of the list.
    page TEXT NOT NULL,
    name TEXT NOT NULL,
    -- The parameters of its address: a JSON array of pairs.
    pairs TEXT NOT NULL,
    saved_at BIGINT NOT NULL,
    PRIMARY KEY (owner, page, name)
);
