-- The seal of each entry: its digest covers the entry, a hash of its payload and the digest before.
CREATE TABLE audit_seals (
    entry_id INTEGER NOT NULL PRIMARY KEY,
    position INTEGER NOT NULL,
    -- Empty once the payload was erased.
    salt TEXT,
    payload_hash TEXT NOT NULL,
    digest TEXT NOT NULL
) STRICT;

-- One row: everything up to the start was purged, everything up to the head is sealed.
CREATE TABLE audit_chain (
    start_id INTEGER NOT NULL,
    start_position INTEGER NOT NULL,
    start_digest TEXT NOT NULL,
    head_id INTEGER NOT NULL,
    head_position INTEGER NOT NULL,
    head_digest TEXT NOT NULL,
    signature TEXT NOT NULL
) STRICT;
INSERT INTO audit_chain (start_id, start_position, start_digest, head_id, head_position, head_digest, signature)
VALUES (0, 0, '', 0, 0, '', '');

-- Entries are added and stay as they are. An erasure empties the payload and nothing else; a purge first moves the start
-- of the chain.
CREATE TRIGGER audit_keeps BEFORE UPDATE ON audit
WHEN NOT (NEW.reason IS NULL AND NEW.data IS NULL AND NEW.subject_id IN (OLD.subject_id, '')
    AND NEW.id = OLD.id AND NEW.at = OLD.at AND NEW.actor = OLD.actor AND NEW.action = OLD.action
    AND NEW.subject_kind = OLD.subject_kind AND NEW.from_status IS OLD.from_status
    AND NEW.to_status IS OLD.to_status AND NEW.version IS OLD.version AND NEW.business_unit IS OLD.business_unit)
BEGIN
    SELECT RAISE(ABORT, 'entries of the audit are neither changed nor removed');
END;
CREATE TRIGGER audit_keeps_all BEFORE DELETE ON audit
WHEN OLD.id > (SELECT start_id FROM audit_chain)
BEGIN
    SELECT RAISE(ABORT, 'entries of the audit are neither changed nor removed');
END;

CREATE TRIGGER audit_seals_keep BEFORE UPDATE ON audit_seals
WHEN NOT (NEW.salt IS NULL AND NEW.entry_id = OLD.entry_id AND NEW.position = OLD.position
    AND NEW.payload_hash = OLD.payload_hash AND NEW.digest = OLD.digest)
BEGIN
    SELECT RAISE(ABORT, 'seals of the audit are neither changed nor removed');
END;
CREATE TRIGGER audit_seals_keep_all BEFORE DELETE ON audit_seals
WHEN OLD.entry_id > (SELECT start_id FROM audit_chain)
BEGIN
    SELECT RAISE(ABORT, 'seals of the audit are neither changed nor removed');
END;
