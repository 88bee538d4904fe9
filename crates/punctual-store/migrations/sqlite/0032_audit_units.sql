-- Entries of the audit belong to the business unit of what they are about.
ALTER TABLE audit ADD COLUMN business_unit TEXT;
UPDATE audit
SET business_unit = (SELECT work.business_unit FROM work WHERE work.id = CAST(audit.subject_id AS INTEGER))
WHERE subject_kind = 'work' AND subject_id NOT GLOB '*[^0-9]*' AND subject_id <> '';
UPDATE audit
SET business_unit = (SELECT notifications.business_unit FROM notifications WHERE notifications.id = audit.subject_id)
WHERE subject_kind = 'notification';

-- Pages, newest first.
CREATE INDEX audit_by_time ON audit (at, id);
CREATE INDEX audit_by_actor ON audit (actor, at, id);
CREATE INDEX audit_by_action ON audit (action, at, id);
CREATE INDEX audit_by_unit ON audit (business_unit, at, id);
