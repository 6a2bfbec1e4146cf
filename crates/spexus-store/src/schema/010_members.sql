-- Who belongs to a project, and as what; by name, by group, or because the project takes whoever has an account.
ALTER TABLE project ADD COLUMN default_role {text} NOT NULL DEFAULT 'none';
-- Quick starts and single teams work in the project that always exists; it stays open to every account.
UPDATE project SET default_role = 'author' WHERE key = 'default';

-- A service account belongs to a person. A token may be marked as an agent's.
ALTER TABLE account ADD COLUMN owner_id {id} REFERENCES account (id) DEFERRABLE INITIALLY IMMEDIATE;
CREATE INDEX account_owner ON account (owner_id) WHERE owner_id IS NOT NULL;
ALTER TABLE token ADD COLUMN agent {int} NOT NULL DEFAULT 0;

CREATE TABLE member (
    project_id {id} NOT NULL REFERENCES project (id),
    user_id {id} NOT NULL REFERENCES account (id),
    role {text} NOT NULL CHECK (role IN ('none', 'reader', 'commenter', 'reviewer', 'author', 'owner')),
    since {int} NOT NULL,
    PRIMARY KEY (project_id, user_id)
) {packed};
CREATE INDEX member_user ON member (user_id, project_id);

-- Whoever had an account could work in every project, and goes on doing so.
INSERT INTO member (project_id, user_id, role, since)
SELECT p.id, a.id, CASE WHEN a.role = 'User' THEN 'author' ELSE 'commenter' END, a.created_at
FROM project p CROSS JOIN account a WHERE a.role <> 'Administrator';

CREATE TABLE user_group (
    id {id} PRIMARY KEY NOT NULL,
    name {text} NOT NULL UNIQUE,
    rev {int} NOT NULL,
    created_at {int} NOT NULL
) {strict};

CREATE TABLE group_user (
    group_id {id} NOT NULL REFERENCES user_group (id),
    user_id {id} NOT NULL REFERENCES account (id),
    PRIMARY KEY (group_id, user_id)
) {packed};
CREATE INDEX group_user_user ON group_user (user_id, group_id);

CREATE TABLE member_group (
    project_id {id} NOT NULL REFERENCES project (id),
    group_id {id} NOT NULL REFERENCES user_group (id),
    role {text} NOT NULL CHECK (role IN ('reader', 'commenter', 'reviewer', 'author', 'owner')),
    since {int} NOT NULL,
    PRIMARY KEY (project_id, group_id)
) {packed};
CREATE INDEX member_group_group ON member_group (group_id, project_id);
