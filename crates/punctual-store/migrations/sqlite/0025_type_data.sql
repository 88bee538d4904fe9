-- Messages keep the fields that only one type of channel understands, as notifications do.
ALTER TABLE messages ADD COLUMN type_data TEXT;
-- Which site may still ask what became of something after the purge.
ALTER TABLE tombstones ADD COLUMN source_site TEXT;
