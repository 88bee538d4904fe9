-- What the messages of a rule say, where the rule says it itself: a JSON object of texts.
ALTER TABLE operations_rules ADD COLUMN texts TEXT;
