-- An identity in another calendar belongs to the business unit that imported it: what one unit has imported says nothing to another.
DROP INDEX operations_subjects_by_uid;
CREATE UNIQUE INDEX operations_subjects_by_uid ON operations_subjects (ical_uid, COALESCE(business_unit, '')) WHERE deleted_at IS NULL AND ical_uid IS NOT NULL;
