-- A child counts for parents of its own business unit.
ALTER TABLE reminder_children ADD COLUMN business_unit TEXT;
UPDATE reminder_children
SET business_unit = (
    SELECT s.business_unit
    FROM reminder_settings AS t
    JOIN sources AS s ON s.source_type = t.child_type AND s.source_id = reminder_children.child_id
    WHERE t.id = reminder_children.setting_id
);

-- A site may belong to a business unit, and what it hands over carries it.
ALTER TABLE sites ADD COLUMN business_unit TEXT;
