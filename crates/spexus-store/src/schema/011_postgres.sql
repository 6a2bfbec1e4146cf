-- Nothing of the history is changed or removed, but for the words of a person, which can be taken out.
CREATE FUNCTION history_is_only_added_to() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'the history is only added to';
END $$;
CREATE TRIGGER change_is_kept BEFORE DELETE ON change
    FOR EACH ROW EXECUTE FUNCTION history_is_only_added_to();
CREATE TRIGGER change_is_not_emptied BEFORE TRUNCATE ON change
    FOR EACH STATEMENT EXECUTE FUNCTION history_is_only_added_to();
CREATE TRIGGER change_stays BEFORE UPDATE ON change FOR EACH ROW
WHEN (NOT (
    NEW.salt = '' AND NEW.username = '' AND NEW.client = '' AND NEW.label = '' AND NEW.before = '{}' AND NEW.after = '{}'
    AND NEW.seq = OLD.seq AND NEW.ledger = OLD.ledger AND NEW.number = OLD.number AND NEW.at = OLD.at
    AND NEW.user_id = OLD.user_id AND NEW.token_id IS NOT DISTINCT FROM OLD.token_id AND NEW.entity = OLD.entity
    AND NEW.entity_id = OLD.entity_id AND NEW.item_id IS NOT DISTINCT FROM OLD.item_id
    AND NEW.other_item_id IS NOT DISTINCT FROM OLD.other_item_id AND NEW.action = OLD.action AND NEW.rev = OLD.rev
    AND NEW.payload_hash = OLD.payload_hash AND NEW.hash = OLD.hash
)) EXECUTE FUNCTION history_is_only_added_to();
CREATE TRIGGER former_history_is_kept BEFORE UPDATE OR DELETE ON former_history
    FOR EACH ROW EXECUTE FUNCTION history_is_only_added_to();
CREATE TRIGGER former_history_is_not_emptied BEFORE TRUNCATE ON former_history
    FOR EACH STATEMENT EXECUTE FUNCTION history_is_only_added_to();
