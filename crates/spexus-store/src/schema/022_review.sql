-- What people and agents are asked about, as it stood when they were asked, and what they said.
CREATE TABLE review (
    project_id {id} NOT NULL REFERENCES project (id),
    id {id} NOT NULL,
    number {int} NOT NULL,
    title {text} NOT NULL,
    description {text} NOT NULL,
    state {text} NOT NULL,
    created_by {id} NOT NULL REFERENCES account (id),
    rev {int} NOT NULL,
    created_at {int} NOT NULL,
    updated_at {int} NOT NULL,
    PRIMARY KEY (project_id, id),
    UNIQUE (project_id, number)
) {strict};

CREATE TABLE review_item (
    project_id {id} NOT NULL,
    review_id {id} NOT NULL,
    item_id {id} NOT NULL,
    ordinal {int} NOT NULL,
    rev {int} NOT NULL,
    content_hash {text} NOT NULL,
    PRIMARY KEY (project_id, review_id, item_id),
    FOREIGN KEY (project_id, review_id) REFERENCES review (project_id, id),
    FOREIGN KEY (project_id, item_id) REFERENCES item (project_id, id)
) {packed};
CREATE INDEX review_item_of ON review_item (project_id, item_id);

CREATE TABLE review_person (
    project_id {id} NOT NULL,
    review_id {id} NOT NULL,
    user_id {id} NOT NULL REFERENCES account (id),
    ordinal {int} NOT NULL,
    verdict {text} NOT NULL,
    reason {text} NOT NULL,
    decided_at {int},
    PRIMARY KEY (project_id, review_id, user_id),
    FOREIGN KEY (project_id, review_id) REFERENCES review (project_id, id)
) {packed};
