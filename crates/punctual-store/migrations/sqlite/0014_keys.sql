-- A table of its own on PostgreSQL. Here a row that changes keeps its entries in the indexes of what stayed the same, so
-- the index of keys is already that table.
CREATE VIEW work_keys AS SELECT key, id AS work_id FROM work;
