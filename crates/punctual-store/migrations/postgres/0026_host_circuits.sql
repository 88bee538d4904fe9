-- A target that names its own host has a circuit by that host; '' is the circuit of the channel itself.
CREATE TABLE circuits_by_host (
    channel TEXT NOT NULL,
    host TEXT NOT NULL,
    open_count BIGINT NOT NULL,
    opened_at BIGINT NOT NULL,
    open_until BIGINT NOT NULL,
    probe_until BIGINT,
    last_error TEXT NOT NULL,
    PRIMARY KEY (channel, host)
);
INSERT INTO circuits_by_host (channel, host, open_count, opened_at, open_until, probe_until, last_error)
SELECT channel, '', open_count, opened_at, open_until, probe_until, last_error FROM circuits;
DROP TABLE circuits;
ALTER TABLE circuits_by_host RENAME TO circuits;
