-- The installation: which history this is (a new one begins where a backup is read back or a database is copied), when that
-- began, where the database was then, and how often something was changed that every writer remembers.
CREATE TABLE installation (
    epoch {text} NOT NULL,
    epoch_number {int} NOT NULL,
    place {text} NOT NULL,
    shared_rev {int} NOT NULL
) {strict};
INSERT INTO installation (epoch, epoch_number, place, shared_rev) VALUES ('', 0, '', 0);
