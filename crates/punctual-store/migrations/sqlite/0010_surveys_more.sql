-- What a purge leaves of the tries at surveys' messages: the log of an instance is complete for as long as the instance is.
CREATE TABLE survey_tries (
    notification_id TEXT NOT NULL,
    -- Which try, from 1; 0 where there was none and the message was given up.
    n INTEGER NOT NULL,
    tried_at INTEGER NOT NULL,
    status TEXT NOT NULL,
    provider_id TEXT,
    answer TEXT,
    PRIMARY KEY (notification_id, n)
) STRICT;
