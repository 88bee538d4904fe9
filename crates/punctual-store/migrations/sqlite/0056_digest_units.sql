-- Whose message was held back: a digest is of one business unit, so that what another unit told the same person is not in it.
ALTER TABLE digest_items ADD COLUMN business_unit TEXT;
