-- Changes go only with a segment that was dropped, and what was dropped only grows.
DROP TRIGGER change_is_kept;
CREATE TRIGGER change_is_kept BEFORE DELETE ON change
WHEN NOT EXISTS (SELECT 1 FROM dropped_segment d WHERE d.ledger = OLD.ledger AND d.number >= OLD.number)
BEGIN
    SELECT RAISE(ABORT, 'the history is only added to');
END;
CREATE TRIGGER dropped_segment_is_kept BEFORE DELETE ON dropped_segment
BEGIN
    SELECT RAISE(ABORT, 'the history is only added to');
END;
CREATE TRIGGER dropped_segment_stays BEFORE UPDATE ON dropped_segment
WHEN NOT (NEW.ledger = OLD.ledger AND NEW.number > OLD.number)
BEGIN
    SELECT RAISE(ABORT, 'the history is only added to');
END;
