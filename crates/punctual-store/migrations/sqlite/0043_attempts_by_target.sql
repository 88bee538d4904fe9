-- Whom messages went to: a search for an address finds the attempts for it, however many there are.
CREATE INDEX attempts_by_target ON attempts (target, notification_seq);
