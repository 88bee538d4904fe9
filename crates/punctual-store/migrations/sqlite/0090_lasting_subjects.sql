-- Events and tasks that last longer than a day, those of more than thirty days apart: what lasts shorter is found within a day of its
-- end, and a calendar looks far ahead for these alone.
CREATE INDEX operations_subjects_lasting ON operations_subjects
    ((CASE WHEN last_at - first_at > 2592000000000 THEN 2 ELSE 1 END), last_at, id)
    WHERE deleted_at IS NULL AND last_at - first_at > 86400000000;
