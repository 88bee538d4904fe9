-- A token of a site is a key that belongs to it.
ALTER TABLE api_keys ADD COLUMN site TEXT;
CREATE INDEX api_keys_by_site ON api_keys (site) WHERE site IS NOT NULL;

-- Sites that hand over notifications, with what each said at its last contact.
CREATE TABLE sites (
    id TEXT NOT NULL PRIMARY KEY,
    created_at INTEGER NOT NULL,
    revoked_at INTEGER,
    last_contact_at INTEGER,
    version TEXT,
    backlog INTEGER,
    oldest_buffered_age_seconds INTEGER,
    refused INTEGER,
    -- Central's clock minus the site's.
    clock_offset_ms INTEGER
) STRICT;

-- What sites said about forwarding that failed and rows that waited long. Bounded for each site.
CREATE TABLE site_events (
    seq INTEGER PRIMARY KEY AUTOINCREMENT,
    site TEXT NOT NULL,
    id TEXT NOT NULL,
    category TEXT NOT NULL,
    kind TEXT NOT NULL,
    began_at INTEGER NOT NULL,
    last_at INTEGER NOT NULL,
    count INTEGER NOT NULL,
    detail TEXT NOT NULL,
    received_at INTEGER NOT NULL
) STRICT;
CREATE UNIQUE INDEX site_events_by_id ON site_events (site, id);
CREATE INDEX site_events_by_site ON site_events (site, seq);
