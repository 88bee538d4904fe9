-- What a message is about, and the channels that are tried after its own: a JSON array of keys.
ALTER TABLE notifications ADD COLUMN topic TEXT;
ALTER TABLE notifications ADD COLUMN failover TEXT;

-- What a channel keeps to: limits, hours and their zone, as JSON.
ALTER TABLE channels ADD COLUMN manners TEXT NOT NULL DEFAULT '{}';

-- The places that sends have taken up, one row a channel or provider with a limit.
CREATE TABLE limiters (
    key TEXT NOT NULL PRIMARY KEY,
    state TEXT NOT NULL,
    updated_at BIGINT NOT NULL
);

-- Channels that rest because they did not work. No row: it works.
CREATE TABLE circuits (
    channel TEXT NOT NULL PRIMARY KEY,
    -- How often it has rested in a row.
    rests BIGINT NOT NULL,
    opened_at BIGINT NOT NULL,
    rests_until BIGINT NOT NULL,
    -- Until then one message is trying whether it works again.
    probe_until BIGINT,
    last_error TEXT NOT NULL
);

-- What people want; the definition is JSON.
CREATE TABLE preferences (
    person TEXT NOT NULL PRIMARY KEY,
    definition TEXT NOT NULL,
    version BIGINT NOT NULL DEFAULT 1,
    updated_at BIGINT NOT NULL
);

-- Whose address it is, in lower case.
CREATE TABLE preference_addresses (
    address TEXT NOT NULL PRIMARY KEY,
    person TEXT NOT NULL
);
CREATE INDEX preference_addresses_by_person ON preference_addresses (person);

-- How many messages somebody was sent on a local day.
CREATE TABLE sent_days (
    person TEXT NOT NULL,
    local_date TEXT NOT NULL,
    sent BIGINT NOT NULL,
    PRIMARY KEY (person, local_date)
);

-- What somebody was not sent on a local day because it was too much: it is told in one message.
CREATE TABLE digest_items (
    person TEXT NOT NULL,
    local_date TEXT NOT NULL,
    notification_id TEXT NOT NULL,
    target TEXT NOT NULL,
    channel TEXT NOT NULL,
    subject TEXT NOT NULL,
    body TEXT NOT NULL,
    held_at BIGINT NOT NULL,
    PRIMARY KEY (person, local_date, notification_id, target)
);

-- Whose zone it is, for messages that wait for an hour.
CREATE INDEX operations_people_by_email ON operations_people (email) WHERE email IS NOT NULL;
