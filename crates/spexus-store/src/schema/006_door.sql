-- The audit trail tells whom an event is about and how often it happened, and can be searched and pruned.
ALTER TABLE audit ADD COLUMN target_id {id};
ALTER TABLE audit ADD COLUMN target {text} NOT NULL DEFAULT '';
ALTER TABLE audit ADD COLUMN times {int} NOT NULL DEFAULT 1;
CREATE INDEX audit_at ON audit (at);
CREATE INDEX audit_event ON audit (event, id);
CREATE INDEX audit_username ON audit (username, id);
CREATE INDEX audit_target ON audit (target, id) WHERE target <> '';

-- Failed logins that still count, by the hash of what they are counted for: a name from a network, a name from anywhere,
-- a network. Here, so that every node counts alike and a restart forgives nobody.
CREATE TABLE login_failure (
    key {bytes} PRIMARY KEY NOT NULL,
    failures {int} NOT NULL,
    last_at {int} NOT NULL
) {packed};
CREATE INDEX login_failure_last ON login_failure (last_at);

-- Networks from which an account was logged in to. They are spared by what strangers do to the account.
CREATE TABLE login_network (
    user_id {id} NOT NULL REFERENCES account (id),
    network {text} NOT NULL,
    last_at {int} NOT NULL,
    PRIMARY KEY (user_id, network)
) {packed};
