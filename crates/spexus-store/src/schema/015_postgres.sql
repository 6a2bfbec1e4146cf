-- Nothing of the trail is changed or removed, but for the words of a person, which can be taken out, and the events of a day
-- that was dropped.
CREATE FUNCTION trail_is_only_added_to() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'the audit trail is only added to';
END $$;
CREATE FUNCTION only_days_that_were_dropped_go() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF NOT EXISTS (SELECT 1 FROM audit_day d WHERE d.day = OLD.day AND d.dropped_at IS NOT NULL) THEN
        RAISE EXCEPTION 'the audit trail is only added to';
    END IF;
    RETURN OLD;
END $$;
CREATE TRIGGER audit_is_kept BEFORE DELETE ON audit
    FOR EACH ROW EXECUTE FUNCTION only_days_that_were_dropped_go();
CREATE TRIGGER audit_is_not_emptied BEFORE TRUNCATE ON audit
    FOR EACH STATEMENT EXECUTE FUNCTION trail_is_only_added_to();
CREATE TRIGGER audit_stays BEFORE UPDATE ON audit FOR EACH ROW
WHEN (NOT (
    NEW.salt = '' AND NEW.username = '' AND NEW.address = '' AND NEW.client = '' AND NEW.detail = '' AND NEW.target = ''
    AND NEW.day = OLD.day AND NEW.number = OLD.number AND NEW.id = OLD.id AND NEW.at = OLD.at AND NEW.event = OLD.event
    AND NEW.token_id IS NOT DISTINCT FROM OLD.token_id AND NEW.target_id IS NOT DISTINCT FROM OLD.target_id
    AND NEW.times = OLD.times AND NEW.payload_hash = OLD.payload_hash AND NEW.hash = OLD.hash
)) EXECUTE FUNCTION trail_is_only_added_to();
CREATE TRIGGER audit_day_is_kept BEFORE DELETE ON audit_day
    FOR EACH ROW EXECUTE FUNCTION trail_is_only_added_to();
CREATE TRIGGER audit_day_is_not_emptied BEFORE TRUNCATE ON audit_day
    FOR EACH STATEMENT EXECUTE FUNCTION trail_is_only_added_to();
-- A day grows, is sealed once, and is dropped once after that.
CREATE TRIGGER audit_day_stays BEFORE UPDATE ON audit_day FOR EACH ROW
WHEN (NOT (
    NEW.day = OLD.day AND (
        (OLD.sealed_at IS NULL AND NEW.sealed_at IS NULL AND NEW.dropped_at IS NULL AND NEW.events >= OLD.events)
        OR (NEW.events = OLD.events AND NEW.head = OLD.head AND (
            (OLD.sealed_at IS NULL AND NEW.sealed_at IS NOT NULL AND NEW.dropped_at IS NULL)
            OR (OLD.sealed_at IS NOT NULL AND NEW.sealed_at IS NOT NULL AND NEW.sealed_at = OLD.sealed_at
                AND OLD.dropped_at IS NULL AND NEW.dropped_at IS NOT NULL)
        ))
    )
)) EXECUTE FUNCTION trail_is_only_added_to();
