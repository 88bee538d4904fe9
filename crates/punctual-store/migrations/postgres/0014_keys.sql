-- Who has a key, apart from what becomes of it. A row of work that changes gets a new entry in the indexes of its table,
-- and a key lies anywhere among the others: a page of the index, and a page of the log, for each row that ends. Keys are
-- compared byte by byte, as SQLite does it: the order of a language is slow, and says nothing about them.
-- A key that is written between the copy and the exchange of the index would be lost: nobody writes meanwhile.
LOCK TABLE work IN ACCESS EXCLUSIVE MODE;
CREATE TABLE work_keys (
    key TEXT COLLATE "C" NOT NULL,
    work_id BIGINT NOT NULL
);
INSERT INTO work_keys (key, work_id) SELECT key, id FROM work ORDER BY key;
DROP INDEX work_by_key;
CREATE UNIQUE INDEX work_by_key ON work_keys (key);
-- A row is changed once or twice in its life: room for that where it lies, in the table and in the index.
ALTER TABLE work SET (fillfactor = 50);
ALTER INDEX work_pkey SET (fillfactor = 50);
