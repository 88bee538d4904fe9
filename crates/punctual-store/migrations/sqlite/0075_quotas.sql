-- What a business unit may use: rows accepted a day, and the share of a channel's calls in per cent. Nothing is no limit.
-- A unit with a share has a lane of its own among ready messages.
ALTER TABLE business_units ADD COLUMN rows_per_day INTEGER;
ALTER TABLE business_units ADD COLUMN channel_share INTEGER;
ALTER TABLE business_units ADD COLUMN lane INTEGER;
CREATE INDEX business_units_with_quota ON business_units (id) WHERE rows_per_day IS NOT NULL OR lane IS NOT NULL;

-- How many rows units with a quota have been given on a day of theirs. Every commit adds a row, so that none waits for
-- another; the sweep adds them up.
CREATE TABLE unit_rows (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    business_unit TEXT NOT NULL,
    local_date TEXT NOT NULL,
    accepted INTEGER NOT NULL,
    -- When the last of them was accepted.
    counted_at INTEGER NOT NULL
) STRICT;
CREATE INDEX unit_rows_by_day ON unit_rows (business_unit, local_date);
