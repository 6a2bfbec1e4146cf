-- Documents of staged items are there before the items; so they point to nothing that is checked, and two imports may bring
-- the same comment, of which one will stand.
ALTER TABLE search_doc DROP CONSTRAINT search_doc_item_id_fkey;
ALTER TABLE search_doc DROP CONSTRAINT search_doc_comment_id_fkey;
DROP INDEX search_doc_comment;
CREATE INDEX search_doc_comment ON search_doc (comment_id) WHERE comment_id IS NOT NULL;
