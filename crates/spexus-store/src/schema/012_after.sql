-- A link of two projects has a row in each.
INSERT INTO link (project_id, id, type, source_project_id, source_id, target_project_id, target_id, source_hash, target_hash, rev,
    created_by, created_at, deleted_at, deletion_id)
SELECT target_project_id, id, type, source_project_id, source_id, target_project_id, target_id, source_hash, target_hash, rev,
    created_by, created_at, deleted_at, deletion_id
FROM link WHERE source_project_id <> target_project_id;

CREATE INDEX item_deletion ON item (project_id, deletion_id) WHERE deletion_id IS NOT NULL;
CREATE UNIQUE INDEX link_once ON link (project_id, source_id, target_id, type) WHERE deleted_at IS NULL;
CREATE INDEX link_target ON link (project_id, target_id) WHERE deleted_at IS NULL;
CREATE INDEX link_deletion ON link (project_id, deletion_id) WHERE deletion_id IS NOT NULL;
CREATE INDEX comment_item ON comment (project_id, item_id, created_at, id) WHERE deleted_at IS NULL;
CREATE INDEX comment_depth ON comment (project_id, depth, id) WHERE deleted_at IS NULL;
-- The order of arrival over all ledgers, for those who follow all of them.
CREATE UNIQUE INDEX change_arrival ON change (seq);
CREATE INDEX change_ledger ON change (ledger, seq);
CREATE INDEX change_item ON change (ledger, item_id, seq) WHERE item_id IS NOT NULL;
-- A link is in the ledger it begins in; whoever asks for the history of its other end need not be of that project.
CREATE INDEX change_other ON change (other_item_id, seq) WHERE other_item_id IS NOT NULL;
CREATE INDEX search_doc_item ON search_doc (project_id, item_id);
CREATE INDEX search_doc_comment ON search_doc (project_id, comment_id) WHERE comment_id IS NOT NULL;
