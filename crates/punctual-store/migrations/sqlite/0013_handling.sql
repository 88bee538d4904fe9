-- What a path says of its messages: topic, priority and order of channels, a JSON object; nothing where it says nothing.
ALTER TABLE messages ADD COLUMN handling TEXT;
ALTER TABLE operations_rules ADD COLUMN handling TEXT;
