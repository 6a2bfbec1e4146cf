-- Ledgers that began at another installation, and came with their project: what they begin with, and how far they came. A ledger
-- that is not here begins with the former history of this installation.
CREATE TABLE ledger_origin (
    ledger {id} PRIMARY KEY NOT NULL,
    installation {text} NOT NULL,
    former_changes {int} NOT NULL,
    former_head {bytes} NOT NULL,
    number {int} NOT NULL,
    hash {bytes} NOT NULL,
    arrived_at {int} NOT NULL
) {strict};

-- Deleted things come with the history of a project, and changes that are sealed already with their place in their ledger.
ALTER TABLE staged_item ADD COLUMN deleted_at {int};
ALTER TABLE staged_item ADD COLUMN deletion_id {id};
ALTER TABLE staged_comment ADD COLUMN deleted_at {int};
ALTER TABLE staged_link ADD COLUMN deleted_at {int};
ALTER TABLE staged_link ADD COLUMN deletion_id {id};
ALTER TABLE staged_change ADD COLUMN number {int};
ALTER TABLE staged_change ADD COLUMN at {int};
ALTER TABLE staged_change ADD COLUMN user_id {id};
ALTER TABLE staged_change ADD COLUMN username {text};
ALTER TABLE staged_change ADD COLUMN token_id {id};
ALTER TABLE staged_change ADD COLUMN client {text};
ALTER TABLE staged_change ADD COLUMN salt {bytes};
ALTER TABLE staged_change ADD COLUMN payload_hash {bytes};
ALTER TABLE staged_change ADD COLUMN hash {bytes};
