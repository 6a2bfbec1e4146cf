-- The project leads every key of what grows. What has few rows (accounts, types, projects themselves) is pointed to as it is, and
-- documents of search keep the number that the index knows them by.
DROP TRIGGER change_is_kept;
DROP TRIGGER change_stays;
DROP INDEX item_created;
DROP INDEX item_updated;
DROP INDEX item_priority;
DROP INDEX item_status;
DROP INDEX item_title;
DROP INDEX item_position;
DROP INDEX item_parent;
DROP INDEX item_criterion;
DROP INDEX item_assignee;
DROP INDEX item_deletion;
DROP INDEX item_deleted;
DROP INDEX item_reference;
DROP INDEX link_once;
DROP INDEX link_target;
DROP INDEX link_deletion;
DROP INDEX link_project;
DROP INDEX comment_item;
DROP INDEX comment_parent;
DROP INDEX comment_depth;
DROP INDEX change_ledger;
DROP INDEX change_item;
DROP INDEX change_other;
DROP INDEX search_doc_item;
DROP INDEX search_doc_comment;

-- What is removed and put in is looked for by what points to it.
CREATE INDEX former_item_parent ON item (parent_id) WHERE parent_id IS NOT NULL;
CREATE INDEX former_item_criterion ON item (criterion_id) WHERE criterion_id IS NOT NULL;
CREATE INDEX former_comment_parent ON comment (parent_id) WHERE parent_id IS NOT NULL;
ALTER TABLE item RENAME TO former_item;
ALTER TABLE comment RENAME TO former_comment;
ALTER TABLE link RENAME TO former_link;
ALTER TABLE baseline RENAME TO former_baseline;
ALTER TABLE change RENAME TO former_change;

CREATE TABLE item (
    project_id BLOB NOT NULL REFERENCES project (id),
    id BLOB NOT NULL,
    kind TEXT NOT NULL,
    number INTEGER NOT NULL,
    parent_id BLOB,
    position INTEGER NOT NULL,
    title TEXT NOT NULL,
    description TEXT NOT NULL,
    status TEXT,
    priority INTEGER CHECK (priority BETWEEN 1 AND 4),
    type TEXT REFERENCES requirement_type (name),
    criterion_id BLOB,
    assignee_id BLOB REFERENCES account (id),
    creator_id BLOB NOT NULL REFERENCES account (id),
    attributes TEXT NOT NULL,
    rev INTEGER NOT NULL,
    content_hash TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    deleted_at INTEGER,
    deletion_id BLOB,
    PRIMARY KEY (project_id, id),
    UNIQUE (project_id, kind, number),
    FOREIGN KEY (project_id, parent_id) REFERENCES item (project_id, id) DEFERRABLE INITIALLY IMMEDIATE,
    FOREIGN KEY (project_id, criterion_id) REFERENCES item (project_id, id) DEFERRABLE INITIALLY IMMEDIATE
) STRICT;
CREATE INDEX item_parent ON item (project_id, parent_id, position, id) WHERE parent_id IS NOT NULL;
CREATE INDEX item_criterion ON item (project_id, criterion_id) WHERE criterion_id IS NOT NULL;
INSERT INTO item (project_id, id, kind, number, parent_id, position, title, description, status, priority, type, criterion_id,
    assignee_id, creator_id, attributes, rev, content_hash, created_at, updated_at, deleted_at, deletion_id)
SELECT project_id, id, kind, number, parent_id, position, title, description, status, priority, type, criterion_id,
    assignee_id, creator_id, attributes, rev, content_hash, created_at, updated_at, deleted_at, deletion_id
FROM former_item ORDER BY rowid;

CREATE TABLE comment (
    project_id BLOB NOT NULL,
    id BLOB NOT NULL,
    item_id BLOB NOT NULL,
    parent_id BLOB,
    depth INTEGER NOT NULL,
    author_id BLOB NOT NULL REFERENCES account (id),
    content TEXT NOT NULL,
    resolved INTEGER NOT NULL,
    anchor TEXT,
    rev INTEGER NOT NULL,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    deleted_at INTEGER,
    PRIMARY KEY (project_id, id),
    FOREIGN KEY (project_id, item_id) REFERENCES item (project_id, id),
    FOREIGN KEY (project_id, parent_id) REFERENCES comment (project_id, id) DEFERRABLE INITIALLY IMMEDIATE
) STRICT;
CREATE INDEX comment_parent ON comment (project_id, parent_id) WHERE parent_id IS NOT NULL;
INSERT INTO comment (project_id, id, item_id, parent_id, depth, author_id, content, resolved, anchor, rev, created_at,
    updated_at, deleted_at)
SELECT i.project_id, m.id, m.item_id, m.parent_id, m.depth, m.author_id, m.content, m.resolved, m.anchor, m.rev, m.created_at,
    m.updated_at, m.deleted_at
FROM former_comment m JOIN former_item i ON i.id = m.item_id ORDER BY m.rowid;

CREATE TABLE link (
    project_id BLOB NOT NULL REFERENCES project (id),
    id BLOB NOT NULL,
    type TEXT NOT NULL REFERENCES link_type (name),
    source_project_id BLOB NOT NULL,
    source_id BLOB NOT NULL,
    target_project_id BLOB NOT NULL,
    target_id BLOB NOT NULL,
    source_hash TEXT NOT NULL,
    target_hash TEXT NOT NULL,
    rev INTEGER NOT NULL,
    created_by BLOB NOT NULL REFERENCES account (id),
    created_at INTEGER NOT NULL,
    deleted_at INTEGER,
    deletion_id BLOB,
    PRIMARY KEY (project_id, id),
    FOREIGN KEY (source_project_id, source_id) REFERENCES item (project_id, id),
    FOREIGN KEY (target_project_id, target_id) REFERENCES item (project_id, id)
) STRICT;
INSERT INTO link (project_id, id, type, source_project_id, source_id, target_project_id, target_id, source_hash, target_hash, rev,
    created_by, created_at, deleted_at, deletion_id)
SELECT l.project_id, l.id, l.type, s.project_id, l.source_id, t.project_id, l.target_id, l.source_hash, l.target_hash, l.rev,
    l.created_by, l.created_at, l.deleted_at, l.deletion_id
FROM former_link l JOIN former_item s ON s.id = l.source_id JOIN former_item t ON t.id = l.target_id ORDER BY l.rowid;

CREATE TABLE baseline (
    project_id BLOB NOT NULL REFERENCES project (id),
    id BLOB NOT NULL,
    name TEXT NOT NULL,
    description TEXT NOT NULL,
    seq INTEGER NOT NULL,
    hash BLOB NOT NULL,
    created_by BLOB NOT NULL REFERENCES account (id),
    created_at INTEGER NOT NULL,
    PRIMARY KEY (project_id, id),
    UNIQUE (project_id, name)
) STRICT;
INSERT INTO baseline (project_id, id, name, description, seq, hash, created_by, created_at)
SELECT project_id, id, name, description, seq, hash, created_by, created_at FROM former_baseline;

CREATE TABLE change (
    ledger BLOB NOT NULL,
    number INTEGER NOT NULL,
    seq INTEGER NOT NULL,
    at INTEGER NOT NULL,
    user_id BLOB NOT NULL,
    username TEXT NOT NULL,
    token_id BLOB,
    client TEXT NOT NULL,
    entity TEXT NOT NULL,
    entity_id BLOB NOT NULL,
    item_id BLOB,
    other_item_id BLOB,
    label TEXT NOT NULL,
    action TEXT NOT NULL,
    rev INTEGER NOT NULL,
    before TEXT NOT NULL,
    after TEXT NOT NULL,
    salt BLOB NOT NULL,
    payload_hash BLOB NOT NULL,
    hash BLOB NOT NULL,
    PRIMARY KEY (ledger, number)
) STRICT;
INSERT INTO change (ledger, number, seq, at, user_id, username, token_id, client, entity, entity_id, item_id, other_item_id,
    label, action, rev, before, after, salt, payload_hash, hash)
SELECT ledger, number, seq, at, user_id, username, token_id, client, entity, entity_id, item_id, other_item_id,
    label, action, rev, before, after, salt, payload_hash, hash
FROM former_change ORDER BY seq;

DROP TABLE former_baseline;
DROP TABLE former_change;
DROP TABLE former_link;
DROP TABLE former_comment;
DROP TABLE former_item;

CREATE INDEX item_created ON item (project_id, kind, created_at, id) WHERE deleted_at IS NULL;
CREATE INDEX item_updated ON item (project_id, kind, updated_at, id) WHERE deleted_at IS NULL;
CREATE INDEX item_priority ON item (project_id, kind, coalesce(priority, 9), id) WHERE deleted_at IS NULL;
CREATE INDEX item_status ON item (project_id, kind, coalesce(status, ''), created_at, id) WHERE deleted_at IS NULL;
CREATE INDEX item_title ON item (project_id, kind, title, id) WHERE deleted_at IS NULL;
CREATE INDEX item_position ON item (project_id, kind, position, id);
CREATE INDEX item_assignee ON item (assignee_id, created_at, id) WHERE assignee_id IS NOT NULL;
CREATE INDEX item_deleted ON item (project_id, kind, created_at, id) WHERE deleted_at IS NOT NULL;
CREATE INDEX item_reference ON item (kind, number);
CREATE INDEX link_project ON link (project_id, id) WHERE deleted_at IS NULL;
CREATE TRIGGER change_is_kept BEFORE DELETE ON change
BEGIN
    SELECT RAISE(ABORT, 'the history is only added to');
END;
CREATE TRIGGER change_stays BEFORE UPDATE ON change
WHEN NOT (
    NEW.salt = x'' AND NEW.username = '' AND NEW.client = '' AND NEW.label = '' AND NEW.before = '{}' AND NEW.after = '{}'
    AND NEW.seq = OLD.seq AND NEW.ledger = OLD.ledger AND NEW.number = OLD.number AND NEW.at = OLD.at
    AND NEW.user_id = OLD.user_id AND NEW.token_id IS OLD.token_id AND NEW.entity = OLD.entity
    AND NEW.entity_id = OLD.entity_id AND NEW.item_id IS OLD.item_id AND NEW.other_item_id IS OLD.other_item_id
    AND NEW.action = OLD.action AND NEW.rev = OLD.rev AND NEW.payload_hash = OLD.payload_hash AND NEW.hash = OLD.hash
)
BEGIN
    SELECT RAISE(ABORT, 'the history is only added to');
END;

-- What is made is listed where it is. An id that is listed in another project is refused: it would be listed nowhere then.
CREATE TRIGGER item_is_listed AFTER INSERT ON item
BEGIN
    INSERT INTO directory (id, project_id) VALUES (NEW.id, NEW.project_id) ON CONFLICT (id)
    DO UPDATE SET project_id = CASE WHEN directory.project_id = excluded.project_id THEN directory.project_id END;
END;
CREATE TRIGGER comment_is_listed AFTER INSERT ON comment
BEGIN
    INSERT INTO directory (id, project_id) VALUES (NEW.id, NEW.project_id) ON CONFLICT (id)
    DO UPDATE SET project_id = CASE WHEN directory.project_id = excluded.project_id THEN directory.project_id END;
END;
CREATE TRIGGER link_is_listed AFTER INSERT ON link
BEGIN
    INSERT INTO directory (id, project_id) VALUES (NEW.id, NEW.source_project_id) ON CONFLICT (id)
    DO UPDATE SET project_id = CASE WHEN directory.project_id = excluded.project_id THEN directory.project_id END;
END;
