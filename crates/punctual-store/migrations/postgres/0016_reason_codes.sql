-- Reason codes are kebab-case: `address_invalid` is now `address-invalid`. Which rule a URL breaks is in the error, so
-- that its reason is `url-invalid` for all of them. A note in the audit is a person's own text and stays.
UPDATE notifications
SET reason_code = CASE
    WHEN reason_code IN ('url_host', 'url_port', 'url_scheme', 'url_userinfo') THEN 'url-invalid'
    ELSE REPLACE(reason_code, '_', '-')
END
WHERE reason_code LIKE '%\_%' ESCAPE '\';

UPDATE survey_tries
SET status = CASE
    WHEN status IN ('url_host', 'url_port', 'url_scheme', 'url_userinfo') THEN 'url-invalid'
    ELSE REPLACE(status, '_', '-')
END
WHERE status LIKE '%\_%' ESCAPE '\';

UPDATE work
SET reason_code = CASE
    WHEN reason_code IN ('url_host', 'url_port', 'url_scheme', 'url_userinfo') THEN 'url-invalid'
    ELSE REPLACE(reason_code, '_', '-')
END
WHERE reason_code LIKE '%\_%' ESCAPE '\';

UPDATE run_records
SET reason = CASE
    WHEN reason IN ('url_host', 'url_port', 'url_scheme', 'url_userinfo') THEN 'url-invalid'
    ELSE REPLACE(reason, '_', '-')
END
WHERE reason LIKE '%\_%' ESCAPE '\';

UPDATE audit
SET reason = CASE
    WHEN reason = 'channel-resting' THEN 'circuit-open'
    WHEN reason IN ('url_host', 'url_port', 'url_scheme', 'url_userinfo') THEN 'url-invalid'
    ELSE REPLACE(reason, '_', '-')
END
WHERE action <> 'note' AND (reason = 'channel-resting' OR reason LIKE '%\_%' ESCAPE '\');

-- The status of a late result is no reason.
UPDATE audit SET data = '{"status":"' || reason || '"}', reason = NULL
WHERE action = 'late-result' AND reason IS NOT NULL AND data IS NULL;
