-- One text for both engines; {id}, {int}, {text}, {bytes}, {strict} and {packed} are replaced by the engine's own words.
-- Times are microseconds since 1970, flags are 0 and 1, JSON is kept as the text that was hashed. What points within its
-- own table is deferrable, so that a copy can write rows in any order.

CREATE TABLE project (
    id {id} PRIMARY KEY NOT NULL,
    key {text} NOT NULL UNIQUE,
    name {text} NOT NULL,
    description {text} NOT NULL,
    attributes {text} NOT NULL,
    rev {int} NOT NULL,
    created_at {int} NOT NULL,
    updated_at {int} NOT NULL
) {strict};

-- The last number given out for each prefix of a project. Taken inside the transaction that uses it, so a failed
-- write leaves no gap and a deleted item's number is never given again.
CREATE TABLE counter (
    project_id {id} NOT NULL,
    prefix {text} NOT NULL,
    last {int} NOT NULL,
    PRIMARY KEY (project_id, prefix)
) {packed};

CREATE TABLE account (
    id {id} PRIMARY KEY NOT NULL,
    username {text} NOT NULL,
    username_folded {text} NOT NULL UNIQUE,
    email {text},
    email_folded {text} UNIQUE,
    role {text} NOT NULL CHECK (role IN ('Administrator', 'User', 'Commenter')),
    password_hash {text} NOT NULL,
    active {int} NOT NULL,
    rev {int} NOT NULL,
    created_at {int} NOT NULL,
    updated_at {int} NOT NULL
) {strict};

CREATE TABLE token (
    id {id} PRIMARY KEY NOT NULL,
    user_id {id} NOT NULL REFERENCES account (id),
    name {text} NOT NULL,
    hash {bytes} NOT NULL UNIQUE,
    scopes {text} NOT NULL,
    project_id {id} REFERENCES project (id),
    expires_at {int},
    last_used_at {int},
    created_at {int} NOT NULL,
    UNIQUE (user_id, name)
) {strict};

-- Keys the installation made for itself, such as the one that token hashes are keyed with.
CREATE TABLE secret (
    name {text} PRIMARY KEY NOT NULL,
    value {bytes} NOT NULL
) {strict};

CREATE TABLE web_session (
    id {id} PRIMARY KEY NOT NULL,
    user_id {id} NOT NULL REFERENCES account (id),
    hash {bytes} NOT NULL UNIQUE,
    created_at {int} NOT NULL,
    expires_at {int} NOT NULL
) {strict};
CREATE INDEX web_session_user ON web_session (user_id);

CREATE TABLE requirement_type (
    name {text} PRIMARY KEY NOT NULL,
    description {text} NOT NULL,
    ordinal {int} NOT NULL
) {strict};

CREATE TABLE link_type (
    name {text} PRIMARY KEY NOT NULL,
    definition {text} NOT NULL,
    ordinal {int} NOT NULL
) {strict};

CREATE TABLE workflow (
    kind {text} PRIMARY KEY NOT NULL,
    definition {text} NOT NULL,
    rev {int} NOT NULL
) {strict};

CREATE TABLE item (
    id {id} PRIMARY KEY NOT NULL,
    project_id {id} NOT NULL REFERENCES project (id),
    kind {text} NOT NULL,
    number {int} NOT NULL,
    parent_id {id} REFERENCES item (id) DEFERRABLE INITIALLY IMMEDIATE,
    position {int} NOT NULL,
    title {text} NOT NULL,
    description {text} NOT NULL,
    status {text},
    priority {int} CHECK (priority BETWEEN 1 AND 4),
    type {text} REFERENCES requirement_type (name),
    criterion_id {id} REFERENCES item (id) DEFERRABLE INITIALLY IMMEDIATE,
    assignee_id {id} REFERENCES account (id),
    creator_id {id} NOT NULL REFERENCES account (id),
    attributes {text} NOT NULL,
    rev {int} NOT NULL,
    content_hash {text} NOT NULL,
    created_at {int} NOT NULL,
    updated_at {int} NOT NULL,
    deleted_at {int},
    deletion_id {id},
    UNIQUE (project_id, kind, number)
) {strict};
CREATE INDEX item_created ON item (project_id, kind, created_at, id) WHERE deleted_at IS NULL;
CREATE INDEX item_updated ON item (project_id, kind, updated_at, id) WHERE deleted_at IS NULL;
CREATE INDEX item_priority ON item (project_id, kind, coalesce(priority, 9), id) WHERE deleted_at IS NULL;
CREATE INDEX item_status ON item (project_id, kind, coalesce(status, ''), created_at, id) WHERE deleted_at IS NULL;
CREATE INDEX item_title ON item (project_id, kind, title, id) WHERE deleted_at IS NULL;
CREATE INDEX item_position ON item (project_id, kind, position, id);
CREATE INDEX item_parent ON item (parent_id, position, id) WHERE parent_id IS NOT NULL;
CREATE INDEX item_criterion ON item (criterion_id) WHERE criterion_id IS NOT NULL;
CREATE INDEX item_assignee ON item (assignee_id, created_at, id) WHERE assignee_id IS NOT NULL;
CREATE INDEX item_deletion ON item (deletion_id) WHERE deletion_id IS NOT NULL;
CREATE INDEX item_deleted ON item (project_id, kind, created_at, id) WHERE deleted_at IS NOT NULL;

-- How many living items there are of each kind and status, kept with every write, so that the total of a list costs
-- the same with a hundred thousand items as with ten.
CREATE TABLE item_count (
    project_id {id} NOT NULL,
    kind {text} NOT NULL,
    status {text} NOT NULL,
    n {int} NOT NULL,
    PRIMARY KEY (project_id, kind, status)
) {packed};

CREATE TABLE link (
    id {id} PRIMARY KEY NOT NULL,
    project_id {id} NOT NULL REFERENCES project (id),
    type {text} NOT NULL REFERENCES link_type (name),
    source_id {id} NOT NULL REFERENCES item (id),
    target_id {id} NOT NULL REFERENCES item (id),
    source_hash {text} NOT NULL,
    target_hash {text} NOT NULL,
    rev {int} NOT NULL,
    created_by {id} NOT NULL REFERENCES account (id),
    created_at {int} NOT NULL,
    deleted_at {int},
    deletion_id {id}
) {strict};
CREATE UNIQUE INDEX link_once ON link (source_id, target_id, type) WHERE deleted_at IS NULL;
CREATE INDEX link_target ON link (target_id) WHERE deleted_at IS NULL;
CREATE INDEX link_deletion ON link (deletion_id) WHERE deletion_id IS NOT NULL;

CREATE TABLE comment (
    id {id} PRIMARY KEY NOT NULL,
    item_id {id} NOT NULL REFERENCES item (id),
    parent_id {id} REFERENCES comment (id) DEFERRABLE INITIALLY IMMEDIATE,
    depth {int} NOT NULL,
    author_id {id} NOT NULL REFERENCES account (id),
    content {text} NOT NULL,
    resolved {int} NOT NULL,
    anchor {text},
    rev {int} NOT NULL,
    created_at {int} NOT NULL,
    updated_at {int} NOT NULL,
    deleted_at {int}
) {strict};
CREATE INDEX comment_item ON comment (item_id, created_at, id) WHERE deleted_at IS NULL;
CREATE INDEX comment_parent ON comment (parent_id) WHERE parent_id IS NOT NULL;

CREATE TABLE prompt (
    id {id} PRIMARY KEY NOT NULL,
    number {int} NOT NULL UNIQUE,
    name {text} NOT NULL UNIQUE,
    title {text} NOT NULL,
    description {text} NOT NULL,
    messages {text} NOT NULL,
    arguments {text} NOT NULL,
    active {int} NOT NULL,
    rev {int} NOT NULL,
    creator_id {id} NOT NULL REFERENCES account (id),
    created_at {int} NOT NULL,
    updated_at {int} NOT NULL
) {strict};
CREATE UNIQUE INDEX prompt_one_active ON prompt (active) WHERE active = 1;

CREATE TABLE change (
    seq {int} PRIMARY KEY NOT NULL,
    at {int} NOT NULL,
    user_id {id} NOT NULL,
    username {text} NOT NULL,
    token_id {id},
    client {text} NOT NULL,
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
    hash {bytes} NOT NULL
) {strict};
CREATE INDEX change_project ON change (project_id, seq);
CREATE INDEX change_item ON change (item_id, seq) WHERE item_id IS NOT NULL;
CREATE INDEX change_other ON change (other_item_id, seq) WHERE other_item_id IS NOT NULL;

CREATE TABLE baseline (
    id {id} PRIMARY KEY NOT NULL,
    project_id {id} NOT NULL REFERENCES project (id),
    name {text} NOT NULL,
    description {text} NOT NULL,
    seq {int} NOT NULL,
    hash {bytes} NOT NULL,
    created_by {id} NOT NULL REFERENCES account (id),
    created_at {int} NOT NULL,
    UNIQUE (project_id, name)
) {strict};

-- What a request with an idempotency key answered, so that sending it twice does it once.
CREATE TABLE idempotency (
    user_id {id} NOT NULL,
    key {text} NOT NULL,
    request_hash {bytes} NOT NULL,
    answer {text} NOT NULL,
    created_at {int} NOT NULL,
    PRIMARY KEY (user_id, key)
) {packed};
CREATE INDEX idempotency_created ON idempotency (created_at);

-- Logins, failures and token use: what happened at the door, beside the chain of what happened inside.
CREATE TABLE audit (
    id {id} PRIMARY KEY NOT NULL,
    at {int} NOT NULL,
    event {text} NOT NULL,
    username {text} NOT NULL,
    token_id {id},
    address {text} NOT NULL,
    client {text} NOT NULL,
    detail {text} NOT NULL
) {strict};

-- Search: one document for each living item and comment. The engine's own index over it stands in its own file. What
-- most searches filter by is kept here too, so that ranking a thousand documents does not read a thousand items.
CREATE TABLE search_doc (
    doc {serial},
    item_id {id} NOT NULL REFERENCES item (id),
    comment_id {id} REFERENCES comment (id),
    project_id {id} NOT NULL,
    kind {text} NOT NULL
) {strict};
CREATE INDEX search_doc_item ON search_doc (item_id);
CREATE UNIQUE INDEX search_doc_comment ON search_doc (comment_id) WHERE comment_id IS NOT NULL;

-- Every word in use under itself, and under each form of it or of its stem with one letter left out: how a misspelt word
-- finds the right one.
CREATE TABLE search_form (
    form {text} NOT NULL,
    word {text} NOT NULL,
    PRIMARY KEY (form, word)
) {packed};
