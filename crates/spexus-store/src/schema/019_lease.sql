-- Who works on what, until when. A lease that ran out is no lease; it goes when the next one of the project is made.
CREATE TABLE lease (
    project_id {id} NOT NULL REFERENCES project (id),
    item_id {id} NOT NULL,
    user_id {id} NOT NULL REFERENCES account (id),
    token_id {id},
    holder {text} NOT NULL,
    intent {text} NOT NULL,
    since {int} NOT NULL,
    until {int} NOT NULL,
    PRIMARY KEY (project_id, item_id),
    FOREIGN KEY (project_id, item_id) REFERENCES item (project_id, id)
) {packed};
