-- The trail of what happens at the door is chained, each day (UTC) by itself: a hash covers the one before it in the day, the
-- columns, and `payload_hash`, that of salt, user name, address, client, detail and target, which can be taken out together.
-- `number` counts the events of a day from 1. `id` is the order of all.
DROP INDEX audit_at;
DROP INDEX audit_event;
DROP INDEX audit_username;
DROP INDEX audit_target;
ALTER TABLE audit RENAME TO former_audit;

CREATE TABLE audit (
    day {int} NOT NULL,
    number {int} NOT NULL,
    id {id} NOT NULL UNIQUE,
    at {int} NOT NULL,
    event {text} NOT NULL,
    username {text} NOT NULL,
    token_id {id},
    address {text} NOT NULL,
    client {text} NOT NULL,
    detail {text} NOT NULL,
    target_id {id},
    target {text} NOT NULL,
    times {int} NOT NULL,
    salt {bytes} NOT NULL,
    payload_hash {bytes} NOT NULL,
    hash {bytes} NOT NULL,
    PRIMARY KEY (day, number)
) {strict};

-- Each day: how many events it has and the hash of the last. A finished day is sealed, once these stand in the ledger of the
-- installation; what retention drops of it is its events, after the ledger was told; this row stays.
CREATE TABLE audit_day (
    day {int} PRIMARY KEY NOT NULL,
    events {int} NOT NULL,
    head {bytes} NOT NULL,
    sealed_at {int},
    dropped_at {int}
) {strict};
