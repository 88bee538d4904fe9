-- Whose message it is: people and keys of one name may belong to different business units.
ALTER TABLE inbox ADD COLUMN business_unit TEXT;
