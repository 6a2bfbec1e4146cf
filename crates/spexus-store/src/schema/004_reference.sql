-- A reference id without a project is looked for in all of them, and that must not cost more the more projects there are.
CREATE INDEX item_reference ON item (kind, number);
