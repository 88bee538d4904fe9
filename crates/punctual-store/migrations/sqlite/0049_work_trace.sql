-- The trace of the request or event that asked for a row, where traces are recorded: what the row sends goes on with it.
ALTER TABLE work ADD COLUMN trace TEXT;
