-- How each reckoning of a project's evidence moved its items, so that it can be told where they stood at a commit or at a baseline.
CREATE TABLE trace_step (
    project_id {id} NOT NULL REFERENCES project (id),
    number {int} NOT NULL,
    seq {int} NOT NULL,
    made_at {int} NOT NULL,
    commit_id {text} NOT NULL,
    body {text} NOT NULL,
    PRIMARY KEY (project_id, number)
) {strict};
