-- What the traced commit of a project is, and which items a run can touch: read and written with every push, so that a push reads
-- nothing else but those items. What each item goes on from stands beside its state.
CREATE TABLE trace_head (
    project_id {id} NOT NULL PRIMARY KEY REFERENCES project (id),
    version {int} NOT NULL,
    body {text} NOT NULL,
    keys {bytes} NOT NULL
) {strict};
ALTER TABLE trace_state ADD COLUMN ground {text} NOT NULL DEFAULT '{}';
CREATE INDEX trace_push_commit ON trace_push (project_id, commit_id);
