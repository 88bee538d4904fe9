-- Addresses that get nothing over channels of a type, in the spelling in which they are compared.
CREATE TABLE suppressions (
    channel_type TEXT NOT NULL,
    address TEXT NOT NULL,
    reason TEXT NOT NULL CHECK (reason = 'hardBounce' OR reason = 'complaint' OR reason = 'manual' OR reason = 'unsubscribed'),
    -- Who or what put it there: a key, or the message that came back.
    source TEXT NOT NULL,
    detail TEXT,
    since INTEGER NOT NULL,
    expires_at INTEGER,
    PRIMARY KEY (channel_type, address)
) STRICT, WITHOUT ROWID;

-- Targets of a notification that were left out when it was delivered, and why. A try was never made.
CREATE TABLE skipped_targets (
    notification_seq INTEGER NOT NULL,
    target TEXT NOT NULL,
    reason TEXT NOT NULL,
    detail TEXT,
    at INTEGER NOT NULL,
    PRIMARY KEY (notification_seq, target)
) STRICT, WITHOUT ROWID;

-- What providers tell later about what they took. A row is made when a provider says yes, and only for channels whose
-- provider calls back; or by a receipt that was quicker than our own record of the yes.
CREATE TABLE receipts (
    -- The adapter: two channels may share an account, and with it the address that is called back.
    provider TEXT NOT NULL,
    provider_id TEXT NOT NULL,
    channel TEXT,
    notification_seq INTEGER,
    target TEXT,
    attempt INTEGER,
    -- How far it got: it only ever rises.
    rank INTEGER NOT NULL,
    confirmed_at INTEGER,
    failed_at INTEGER,
    code TEXT,
    detail TEXT,
    -- What the receipt means for the address, until that is done.
    suppress TEXT,
    needs_person INTEGER NOT NULL DEFAULT 0,
    -- When the last receipt came that said something new; nothing before the first.
    received_at INTEGER,
    PRIMARY KEY (provider, provider_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX receipts_by_notification ON receipts (notification_seq) WHERE notification_seq IS NOT NULL;
CREATE INDEX receipts_received ON receipts (received_at) WHERE received_at IS NOT NULL;
CREATE INDEX receipts_waiting ON receipts (failed_at) WHERE needs_person;

-- Messages to people who look at the console.
CREATE TABLE inbox (
    seq INTEGER PRIMARY KEY AUTOINCREMENT,
    -- The id of the message, the same in every try.
    id TEXT NOT NULL,
    person TEXT NOT NULL,
    notification_id TEXT NOT NULL,
    channel TEXT NOT NULL,
    kind TEXT NOT NULL,
    subject TEXT NOT NULL,
    body TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    read_at INTEGER
) STRICT;
CREATE UNIQUE INDEX inbox_by_id ON inbox (id);
CREATE INDEX inbox_by_person ON inbox (person, seq);
CREATE INDEX inbox_unread ON inbox (person, seq) WHERE read_at IS NULL;
CREATE INDEX inbox_by_age ON inbox (created_at);
