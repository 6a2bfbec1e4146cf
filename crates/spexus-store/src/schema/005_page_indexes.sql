-- The order in which exports and reports read links and comments page by page, so that a page begins where the last one
-- ended instead of walking everything again.
CREATE INDEX link_project ON link (project_id, id) WHERE deleted_at IS NULL;
CREATE INDEX comment_depth ON comment (depth, id) WHERE deleted_at IS NULL;
