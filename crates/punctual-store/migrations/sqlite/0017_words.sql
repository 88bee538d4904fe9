-- Columns have the words that the API and the documentation use.
ALTER TABLE notifications RENAME COLUMN tries TO attempts;
ALTER TABLE operations_rules RENAME COLUMN sync_tries TO sync_attempts;
ALTER TABLE run_ownership RENAME COLUMN path TO workflow;
ALTER TABLE run_records RENAME COLUMN path TO workflow;
ALTER TABLE run_records RENAME COLUMN tries TO attempts;
ALTER TABLE rollouts RENAME COLUMN path TO workflow;
ALTER TABLE channels RENAME COLUMN manners TO policy;
ALTER TABLE circuits RENAME COLUMN rests TO open_count;
ALTER TABLE circuits RENAME COLUMN rests_until TO open_until;
ALTER TABLE survey_tries RENAME TO survey_attempts;
ALTER TABLE survey_attempts RENAME COLUMN tried_at TO attempted_at;
UPDATE facts SET name = 'delivery-policy' WHERE name = 'manners';
