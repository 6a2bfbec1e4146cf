-- Names for what pages show, each of one person; those that are shared are everybody's in the project.
CREATE TABLE saved_view (
    project_id {id} NOT NULL REFERENCES project (id),
    id {id} NOT NULL,
    owner_id {id} NOT NULL REFERENCES account (id),
    name {text} NOT NULL,
    page {text} NOT NULL,
    query {text} NOT NULL,
    shared {int} NOT NULL,
    rev {int} NOT NULL,
    created_at {int} NOT NULL,
    updated_at {int} NOT NULL,
    PRIMARY KEY (project_id, id)
) {strict};
