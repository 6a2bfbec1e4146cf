CREATE TRIGGER ledger_origin_is_kept BEFORE DELETE ON ledger_origin
BEGIN
    SELECT RAISE(ABORT, 'the history is only added to');
END;
CREATE TRIGGER ledger_origin_stays BEFORE UPDATE ON ledger_origin
BEGIN
    SELECT RAISE(ABORT, 'the history is only added to');
END;
