-- A link of two projects has a row in each.
INSERT INTO link (project_id, id, type, source_project_id, source_id, target_project_id, target_id, source_hash, target_hash, rev,
    created_by, created_at, deleted_at, deletion_id)
SELECT target_project_id, id, type, source_project_id, source_id, target_project_id, target_id, source_hash, target_hash, rev,
    created_by, created_at, deleted_at, deletion_id
FROM link WHERE source_project_id <> target_project_id;

-- A baseline is made on a change of its own ledger, which its number tells.
UPDATE baseline SET seq = coalesce((SELECT max(c.number) FROM change c WHERE c.ledger = baseline.project_id AND c.seq <= baseline.seq), 0);
ALTER TABLE baseline RENAME COLUMN seq TO number;

CREATE INDEX item_parent ON item (project_id, parent_id, position, id) WHERE parent_id IS NOT NULL;
CREATE INDEX item_criterion ON item (project_id, criterion_id) WHERE criterion_id IS NOT NULL;
CREATE INDEX item_deletion ON item (project_id, deletion_id) WHERE deletion_id IS NOT NULL;
CREATE UNIQUE INDEX link_once ON link (project_id, source_id, target_id, type) WHERE deleted_at IS NULL;
CREATE INDEX link_target ON link (project_id, target_id) WHERE deleted_at IS NULL;
CREATE INDEX link_deletion ON link (project_id, deletion_id) WHERE deletion_id IS NOT NULL;
CREATE INDEX comment_item ON comment (project_id, item_id, created_at, id) WHERE deleted_at IS NULL;
CREATE INDEX comment_parent ON comment (project_id, parent_id) WHERE parent_id IS NOT NULL;
CREATE INDEX comment_depth ON comment (project_id, depth, id) WHERE deleted_at IS NULL;
CREATE INDEX change_arrival ON change (seq);
CREATE INDEX change_item ON change (ledger, item_id, number) WHERE item_id IS NOT NULL;
CREATE INDEX change_other ON change (ledger, other_item_id, number) WHERE other_item_id IS NOT NULL;
CREATE INDEX search_doc_item ON search_doc (project_id, item_id);
CREATE INDEX search_doc_comment ON search_doc (project_id, comment_id) WHERE comment_id IS NOT NULL;
