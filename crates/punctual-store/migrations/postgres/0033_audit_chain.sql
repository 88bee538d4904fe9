-- The seal of each entry: its digest covers the entry, a hash of its payload and the digest before.
CREATE TABLE audit_seals (
    entry_id BIGINT NOT NULL PRIMARY KEY,
    position BIGINT NOT NULL,
    -- Empty once the payload was erased.
    salt TEXT,
    payload_hash TEXT NOT NULL,
    digest TEXT NOT NULL
);

-- One row: everything up to the start was purged, everything up to the head is sealed.
CREATE TABLE audit_chain (
    start_id BIGINT NOT NULL,
    start_position BIGINT NOT NULL,
    start_digest TEXT NOT NULL,
    head_id BIGINT NOT NULL,
    head_position BIGINT NOT NULL,
    head_digest TEXT NOT NULL,
    signature TEXT NOT NULL
);
INSERT INTO audit_chain (start_id, start_position, start_digest, head_id, head_position, head_digest, signature)
VALUES (0, 0, '', 0, 0, '', '');

-- Entries are added and stay as they are. An erasure empties the payload and nothing else; a purge first moves the start
-- of the chain.
CREATE FUNCTION audit_keeps() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'DELETE' THEN
        IF OLD.id <= (SELECT start_id FROM audit_chain) THEN
            RETURN OLD;
        END IF;
    ELSIF TG_OP = 'UPDATE' THEN
        IF NEW.reason IS NULL AND NEW.data IS NULL AND NEW.subject_id IN (OLD.subject_id, '')
            AND (NEW.id, NEW.at, NEW.actor, NEW.action, NEW.subject_kind)
                = (OLD.id, OLD.at, OLD.actor, OLD.action, OLD.subject_kind)
            AND (NEW.from_status, NEW.to_status, NEW.version, NEW.business_unit)
                IS NOT DISTINCT FROM (OLD.from_status, OLD.to_status, OLD.version, OLD.business_unit) THEN
            RETURN NEW;
        END IF;
    END IF;
    RAISE EXCEPTION 'entries of the audit are neither changed nor removed';
END $$;
CREATE TRIGGER audit_keeps BEFORE UPDATE OR DELETE ON audit FOR EACH ROW EXECUTE FUNCTION audit_keeps();
CREATE TRIGGER audit_keeps_all BEFORE TRUNCATE ON audit FOR EACH STATEMENT EXECUTE FUNCTION audit_keeps();

CREATE FUNCTION audit_seals_keep() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'DELETE' THEN
        IF OLD.entry_id <= (SELECT start_id FROM audit_chain) THEN
            RETURN OLD;
        END IF;
    ELSIF TG_OP = 'UPDATE' THEN
        IF NEW.salt IS NULL AND (NEW.entry_id, NEW.position, NEW.payload_hash, NEW.digest)
            = (OLD.entry_id, OLD.position, OLD.payload_hash, OLD.digest) THEN
            RETURN NEW;
        END IF;
    END IF;
    RAISE EXCEPTION 'seals of the audit are neither changed nor removed';
END $$;
CREATE TRIGGER audit_seals_keep BEFORE UPDATE OR DELETE ON audit_seals
    FOR EACH ROW EXECUTE FUNCTION audit_seals_keep();
CREATE TRIGGER audit_seals_keep_all BEFORE TRUNCATE ON audit_seals
    FOR EACH STATEMENT EXECUTE FUNCTION audit_seals_keep();
