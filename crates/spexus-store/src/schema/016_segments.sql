-- Up to which change each ledger was dropped by retention: its number in the ledger and among all, its hash, when it happened.
CREATE TABLE dropped_segment (
    ledger {id} PRIMARY KEY NOT NULL,
    number {int} NOT NULL,
    seq {int} NOT NULL,
    hash {bytes} NOT NULL,
    at {int} NOT NULL,
    dropped_at {int} NOT NULL
) {strict};

-- Cursors carry the hash of the last change their owner knows, so nothing else has to say which history this is.
ALTER TABLE installation DROP COLUMN epoch;
ALTER TABLE installation DROP COLUMN epoch_number;
ALTER TABLE installation DROP COLUMN place;
