-- A row that is planned again after it had ended, or is released, starts with all of its attempts: how many there were before,
-- and why it had ended, stays readable.
ALTER TABLE work ADD COLUMN earlier_attempts BIGINT NOT NULL DEFAULT 0;
ALTER TABLE work ADD COLUMN earlier_reason TEXT;
