-- Subscriptions that were written since a moment, and units: what the repair of reports reads.
CREATE INDEX report_subscriptions_by_update ON report_subscriptions (updated_at);
CREATE INDEX business_units_by_update ON business_units (updated_at);

-- The runs that were chosen at stage 2: a JSON array of their ids. Without it all that people ask for are meant.
ALTER TABLE rollouts ADD COLUMN selected_runs TEXT;
