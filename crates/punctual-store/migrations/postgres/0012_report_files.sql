-- The files of runs are removed after a while; what is known about them stays.
ALTER TABLE run_records ADD COLUMN has_files BOOLEAN NOT NULL DEFAULT FALSE;
ALTER TABLE run_records ADD COLUMN files_purged_at BIGINT;
UPDATE run_records SET has_files = TRUE WHERE details LIKE '%"artefacts":[{%';
CREATE INDEX run_records_with_files ON run_records (decided_at) WHERE has_files;
