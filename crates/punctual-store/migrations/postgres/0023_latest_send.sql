-- After this instant a message is not sent any more.
ALTER TABLE notifications ADD COLUMN not_after BIGINT;

-- What is held for a digest is dropped with the message that it was.
CREATE INDEX digest_items_by_notification ON digest_items (notification_id);

-- The links that may still be answered, for whoever makes sure that each of them ends.
CREATE INDEX survey_instances_open ON survey_instances (id)
    WHERE NOT deleted AND (status = 'pending' OR status = 'sent' OR status = 'opened');
