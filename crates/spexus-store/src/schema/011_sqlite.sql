-- Nothing of the history is changed or removed, but for the words of a person, which can be taken out.
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
CREATE TRIGGER former_history_is_kept BEFORE DELETE ON former_history
BEGIN
    SELECT RAISE(ABORT, 'the history is only added to');
END;
CREATE TRIGGER former_history_stays BEFORE UPDATE ON former_history
BEGIN
    SELECT RAISE(ABORT, 'the history is only added to');
END;
