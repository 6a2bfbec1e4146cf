DROP TABLE former_change;
CREATE INDEX change_ledger ON change (ledger, seq);
CREATE INDEX change_item ON change (item_id, seq) WHERE item_id IS NOT NULL;
CREATE INDEX change_other ON change (other_item_id, seq) WHERE other_item_id IS NOT NULL;
