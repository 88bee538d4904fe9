-- What templates said before: a message is shown as it was sent, and its text is not stored again.
CREATE TABLE template_versions (
    name TEXT NOT NULL,
    -- In force from then on, until the next one.
    since INTEGER NOT NULL,
    version INTEGER NOT NULL,
    default_locale TEXT NOT NULL,
    variants TEXT NOT NULL,
    PRIMARY KEY (name, since)
) STRICT;
CREATE INDEX template_versions_since ON template_versions (since);
INSERT INTO template_versions (name, since, version, default_locale, variants)
SELECT name, updated_at, version, default_locale, variants FROM templates;
