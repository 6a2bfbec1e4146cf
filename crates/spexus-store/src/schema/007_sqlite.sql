-- Documents of staged items are there before the items; so they point to nothing that is checked, and two imports may bring
-- the same comment, of which one will stand.
CREATE TABLE search_doc_unbound (
    doc INTEGER PRIMARY KEY,
    item_id BLOB NOT NULL,
    comment_id BLOB,
    project_id BLOB NOT NULL,
    kind TEXT NOT NULL
) STRICT;
INSERT INTO search_doc_unbound SELECT doc, item_id, comment_id, project_id, kind FROM search_doc;
DROP TABLE search_doc;
ALTER TABLE search_doc_unbound RENAME TO search_doc;
CREATE INDEX search_doc_item ON search_doc (item_id);
CREATE INDEX search_doc_comment ON search_doc (comment_id) WHERE comment_id IS NOT NULL;
