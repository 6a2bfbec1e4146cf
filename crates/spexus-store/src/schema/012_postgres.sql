-- The project leads every key of what grows. What has few rows (accounts, types, projects themselves) is pointed to as it is.
DROP INDEX item_parent, item_criterion, item_deletion;
DROP INDEX link_once, link_target, link_deletion;
DROP INDEX comment_item, comment_parent, comment_depth;
DROP INDEX change_ledger, change_item, change_other;
DROP INDEX search_doc_item, search_doc_comment;

ALTER TABLE comment ADD COLUMN project_id UUID;
UPDATE comment SET project_id = i.project_id FROM item i WHERE i.id = comment.item_id;
ALTER TABLE link ADD COLUMN source_project_id UUID, ADD COLUMN target_project_id UUID;
UPDATE link SET source_project_id = s.project_id, target_project_id = t.project_id
FROM item s, item t WHERE s.id = link.source_id AND t.id = link.target_id;

DO $$
DECLARE
    old record;
BEGIN
    -- Foreign keys before the keys they point to. What points to accounts, types and projects stays.
    FOR old IN SELECT c.conname, r.relname FROM pg_constraint c JOIN pg_class r ON r.oid = c.conrelid
        LEFT JOIN pg_class f ON f.oid = c.confrelid
        WHERE r.relnamespace = current_schema()::regnamespace
        AND r.relname IN ('item', 'link', 'comment', 'baseline', 'change', 'search_doc')
        AND (c.contype = 'p' OR (c.contype = 'f' AND f.relname IN ('item', 'comment')))
        ORDER BY c.contype
    LOOP
        EXECUTE format('ALTER TABLE %I DROP CONSTRAINT %I', old.relname, old.conname);
    END LOOP;
END $$;

ALTER TABLE item ADD CONSTRAINT item_pkey PRIMARY KEY (project_id, id),
    ADD CONSTRAINT item_parent_fkey FOREIGN KEY (project_id, parent_id) REFERENCES item (project_id, id) DEFERRABLE INITIALLY IMMEDIATE,
    ADD CONSTRAINT item_criterion_fkey FOREIGN KEY (project_id, criterion_id) REFERENCES item (project_id, id)
        DEFERRABLE INITIALLY IMMEDIATE;
ALTER TABLE comment ALTER COLUMN project_id SET NOT NULL,
    ADD CONSTRAINT comment_pkey PRIMARY KEY (project_id, id),
    ADD CONSTRAINT comment_item_fkey FOREIGN KEY (project_id, item_id) REFERENCES item (project_id, id),
    ADD CONSTRAINT comment_parent_fkey FOREIGN KEY (project_id, parent_id) REFERENCES comment (project_id, id)
        DEFERRABLE INITIALLY IMMEDIATE;
ALTER TABLE link ALTER COLUMN source_project_id SET NOT NULL, ALTER COLUMN target_project_id SET NOT NULL,
    ADD CONSTRAINT link_pkey PRIMARY KEY (project_id, id),
    ADD CONSTRAINT link_source_fkey FOREIGN KEY (source_project_id, source_id) REFERENCES item (project_id, id),
    ADD CONSTRAINT link_target_fkey FOREIGN KEY (target_project_id, target_id) REFERENCES item (project_id, id);
ALTER TABLE baseline ADD CONSTRAINT baseline_pkey PRIMARY KEY (project_id, id);
ALTER TABLE change ADD CONSTRAINT change_pkey PRIMARY KEY (ledger, number);
ALTER TABLE search_doc ADD CONSTRAINT search_doc_pkey PRIMARY KEY (project_id, doc);
CREATE INDEX search_doc_number ON search_doc (doc);
CREATE INDEX item_parent ON item (project_id, parent_id, position, id) WHERE parent_id IS NOT NULL;
CREATE INDEX item_criterion ON item (project_id, criterion_id) WHERE criterion_id IS NOT NULL;
CREATE INDEX comment_parent ON comment (project_id, parent_id) WHERE parent_id IS NOT NULL;

-- What is made is listed where it is. An id is listed once, so nothing in another project can have it too.
CREATE OR REPLACE FUNCTION list_in_directory() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO directory (id, project_id) SELECT NEW.id, NEW.project_id
    WHERE NOT EXISTS (SELECT 1 FROM directory WHERE id = NEW.id AND project_id = NEW.project_id);
    RETURN NULL;
END $$;
CREATE OR REPLACE FUNCTION list_link_in_directory() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO directory (id, project_id) SELECT NEW.id, NEW.source_project_id
    WHERE NOT EXISTS (SELECT 1 FROM directory WHERE id = NEW.id AND project_id = NEW.source_project_id);
    RETURN NULL;
END $$;
CREATE TRIGGER item_is_listed AFTER INSERT ON item FOR EACH ROW EXECUTE FUNCTION list_in_directory();
CREATE TRIGGER comment_is_listed AFTER INSERT ON comment FOR EACH ROW EXECUTE FUNCTION list_in_directory();
CREATE TRIGGER link_is_listed AFTER INSERT ON link FOR EACH ROW EXECUTE FUNCTION list_link_in_directory();
