-- What a calendar says beside title and dates, and the series that a date was imported with: at the next import the dates
-- that are no longer in the file are removed.
ALTER TABLE operations_subjects ADD COLUMN location TEXT;
ALTER TABLE operations_subjects ADD COLUMN description TEXT;
ALTER TABLE operations_subjects ADD COLUMN ical_series TEXT;

UPDATE operations_subjects
SET ical_series = substr(rtrim(ical_uid, replace(ical_uid, '#', '')), 1, length(rtrim(ical_uid, replace(ical_uid, '#', ''))) - 1)
WHERE ical_uid LIKE '%_#%';

CREATE INDEX operations_subjects_by_series ON operations_subjects (ical_series) WHERE deleted_at IS NULL AND ical_series IS NOT NULL;
