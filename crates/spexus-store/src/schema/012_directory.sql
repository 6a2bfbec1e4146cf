-- Where a thing is, for whoever knows nothing but its id: items, comments and links. A link of two projects is listed with the
-- project it begins in.
CREATE TABLE directory (
    id {id} PRIMARY KEY NOT NULL,
    project_id {id} NOT NULL
) {packed};
INSERT INTO directory (id, project_id) SELECT id, project_id FROM item;
INSERT INTO directory (id, project_id) SELECT m.id, i.project_id FROM comment m JOIN item i ON i.id = m.item_id
WHERE m.id NOT IN (SELECT id FROM directory);
INSERT INTO directory (id, project_id) SELECT id, project_id FROM link WHERE id NOT IN (SELECT id FROM directory);

-- What is staged has the columns of what it will be.
ALTER TABLE staged_comment ADD COLUMN project_id {id};
ALTER TABLE staged_link ADD COLUMN source_project_id {id};
ALTER TABLE staged_link ADD COLUMN target_project_id {id};

-- Words are known by project: what is written in one says nothing to those who search in another, and two writers of different
-- projects never wait for each other over a word. The index is written anew after this step.
DROP TABLE search_form;
CREATE TABLE search_form (
    project_id {id} NOT NULL,
    form {text} NOT NULL,
    word {text} NOT NULL,
    PRIMARY KEY (project_id, form, word)
) {packed};
