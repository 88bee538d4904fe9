-- What the keys of a setting are measured against. A threshold that is there keeps the keys it has: its operator and
-- filter enter them only once they are changed.
ALTER TABLE reminder_settings ADD COLUMN key_base TEXT;

UPDATE reminder_settings SET key_base = json_extract(definition, '$.threshold') WHERE kind = 'threshold';
