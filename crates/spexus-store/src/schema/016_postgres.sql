-- Changes go only with a segment that was dropped, and what was dropped only grows.
CREATE FUNCTION only_dropped_changes_go() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF NOT EXISTS (SELECT 1 FROM dropped_segment d WHERE d.ledger = OLD.ledger AND d.number >= OLD.number) THEN
        RAISE EXCEPTION 'the history is only added to';
    END IF;
    RETURN OLD;
END $$;
DROP TRIGGER change_is_kept ON change;
CREATE TRIGGER change_is_kept BEFORE DELETE ON change
    FOR EACH ROW EXECUTE FUNCTION only_dropped_changes_go();
CREATE TRIGGER dropped_segment_is_kept BEFORE DELETE ON dropped_segment
    FOR EACH ROW EXECUTE FUNCTION history_is_only_added_to();
CREATE TRIGGER dropped_segment_is_not_emptied BEFORE TRUNCATE ON dropped_segment
    FOR EACH STATEMENT EXECUTE FUNCTION history_is_only_added_to();
CREATE TRIGGER dropped_segment_stays BEFORE UPDATE ON dropped_segment FOR EACH ROW
WHEN (NOT (NEW.ledger = OLD.ledger AND NEW.number > OLD.number)) EXECUTE FUNCTION history_is_only_added_to();
