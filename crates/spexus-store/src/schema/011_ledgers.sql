-- Each project has a ledger of changes of its own, and what belongs to no project one of the installation, under the nil
-- UUID. A hash covers the one before it in the ledger, the columns, and `payload_hash`; that is the hash of salt, user name,
-- client, label, before and after, which can be taken out together (salt empty). `seq` is the order of arrival over all ledgers.
DROP INDEX change_project;
DROP INDEX change_item;
DROP INDEX change_other;
ALTER TABLE change RENAME TO former_change;

CREATE TABLE change (
    seq {int} PRIMARY KEY NOT NULL,
    ledger {id} NOT NULL,
    number {int} NOT NULL,
    at {int} NOT NULL,
    user_id {id} NOT NULL,
    username {text} NOT NULL,
    token_id {id},
    client {text} NOT NULL,
    entity {text} NOT NULL,
    entity_id {id} NOT NULL,
    item_id {id},
    other_item_id {id},
    label {text} NOT NULL,
    action {text} NOT NULL,
    rev {int} NOT NULL,
    before {text} NOT NULL,
    after {text} NOT NULL,
    salt {bytes} NOT NULL,
    payload_hash {bytes} NOT NULL,
    hash {bytes} NOT NULL
) {strict};

-- The one chain there was before there were ledgers: how long it was, its last hash, and the first fault it had by then. No
-- row where there was none.
CREATE TABLE former_history (
    changes {int} PRIMARY KEY NOT NULL,
    head {bytes} NOT NULL,
    fault_seq {int},
    fault {text} NOT NULL
) {strict};
