-- What CI and people push as evidence: each push with a digest over all it brought, which its change in the ledger seals, and the
-- documents it brought, which are never changed.
CREATE TABLE trace_push (
    project_id {id} NOT NULL REFERENCES project (id),
    id {id} NOT NULL,
    number {int} NOT NULL,
    digest {bytes} NOT NULL,
    commit_id {text} NOT NULL,
    ordered_at {int} NOT NULL,
    is_dirty {int} NOT NULL,
    is_reported {int} NOT NULL,
    has_marks {int} NOT NULL,
    head {text} NOT NULL,
    pushed_by {id} NOT NULL,
    pushed_at {int} NOT NULL,
    PRIMARY KEY (project_id, id),
    UNIQUE (project_id, digest)
) {strict};
CREATE INDEX trace_push_order ON trace_push (project_id, ordered_at, number);

CREATE TABLE trace_part (
    project_id {id} NOT NULL,
    push_id {id} NOT NULL,
    ordinal {int} NOT NULL,
    kind {text} NOT NULL,
    body {text} NOT NULL,
    PRIMARY KEY (project_id, push_id, ordinal),
    FOREIGN KEY (project_id, push_id) REFERENCES trace_push (project_id, id)
) {strict};

-- Where each item stands, made from what was pushed: to read it is to read one row.
CREATE TABLE trace_state (
    project_id {id} NOT NULL REFERENCES project (id),
    item_id {id} NOT NULL,
    state {text} NOT NULL,
    flags {text} NOT NULL,
    weakest {text} NOT NULL,
    body {text} NOT NULL,
    content_hash {text} NOT NULL,
    confirmed_hash {text} NOT NULL,
    PRIMARY KEY (project_id, item_id)
) {strict};

-- What people say about the evidence of an item: the last of each kind.
CREATE TABLE trace_review (
    project_id {id} NOT NULL REFERENCES project (id),
    item_id {id} NOT NULL,
    kind {text} NOT NULL,
    why {text} NOT NULL,
    reviewer {text} NOT NULL,
    content_hash {text} NOT NULL,
    fingerprint {text} NOT NULL,
    reviewed_at {int} NOT NULL,
    expires_at {int},
    PRIMARY KEY (project_id, item_id, kind)
) {strict};
