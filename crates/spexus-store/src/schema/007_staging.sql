-- Imports of many rows that nobody sees yet. What they bring is written here in small steps, and copied to its place in one
-- transaction; a row of `staged_import` stands as long as anything of the import is left. `alive_at` is when the import was
-- last heard of, 0 once it is over. Documents of search between `first_doc` and `last_doc` are there, but not found.
CREATE TABLE staged_import (
    id {id} PRIMARY KEY NOT NULL,
    first_doc {int},
    last_doc {int},
    alive_at {int} NOT NULL
) {strict};

CREATE TABLE staged_item (
    import_id {id} NOT NULL,
    ordinal {int} NOT NULL,
    is_new {int} NOT NULL,
    reindexed {int} NOT NULL,
    id {id} NOT NULL,
    project_id {id} NOT NULL,
    kind {text} NOT NULL,
    number {int} NOT NULL,
    parent_id {id},
    position {int} NOT NULL,
    title {text} NOT NULL,
    description {text} NOT NULL,
    status {text},
    priority {int},
    type {text},
    criterion_id {id},
    assignee_id {id},
    creator_id {id} NOT NULL,
    attributes {text} NOT NULL,
    rev {int} NOT NULL,
    content_hash {text} NOT NULL,
    created_at {int} NOT NULL,
    updated_at {int} NOT NULL,
    PRIMARY KEY (import_id, ordinal)
) {packed};

CREATE TABLE staged_comment (
    import_id {id} NOT NULL,
    ordinal {int} NOT NULL,
    id {id} NOT NULL,
    item_id {id} NOT NULL,
    parent_id {id},
    depth {int} NOT NULL,
    author_id {id} NOT NULL,
    content {text} NOT NULL,
    resolved {int} NOT NULL,
    anchor {text},
    rev {int} NOT NULL,
    created_at {int} NOT NULL,
    updated_at {int} NOT NULL,
    PRIMARY KEY (import_id, ordinal)
) {packed};

CREATE TABLE staged_link (
    import_id {id} NOT NULL,
    ordinal {int} NOT NULL,
    id {id} NOT NULL,
    project_id {id} NOT NULL,
    type {text} NOT NULL,
    source_id {id} NOT NULL,
    target_id {id} NOT NULL,
    source_hash {text} NOT NULL,
    target_hash {text} NOT NULL,
    rev {int} NOT NULL,
    created_by {id} NOT NULL,
    created_at {int} NOT NULL,
    PRIMARY KEY (import_id, ordinal)
) {packed};

-- What the history will tell of it, in order, without what only its place there decides.
CREATE TABLE staged_change (
    import_id {id} NOT NULL,
    ordinal {int} NOT NULL,
    project_id {id},
    entity {text} NOT NULL,
    entity_id {id} NOT NULL,
    item_id {id},
    other_item_id {id},
    label {text} NOT NULL,
    action {text} NOT NULL,
    rev {int} NOT NULL,
    before {text} NOT NULL,
    after {text} NOT NULL,
    PRIMARY KEY (import_id, ordinal)
) {packed};
