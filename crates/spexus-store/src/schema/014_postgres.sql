CREATE TRIGGER ledger_origin_is_kept BEFORE UPDATE OR DELETE ON ledger_origin
    FOR EACH ROW EXECUTE FUNCTION history_is_only_added_to();
CREATE TRIGGER ledger_origin_is_not_emptied BEFORE TRUNCATE ON ledger_origin
    FOR EACH STATEMENT EXECUTE FUNCTION history_is_only_added_to();
