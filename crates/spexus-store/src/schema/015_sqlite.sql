-- Nothing of the trail is changed or removed, but for the words of a person, which can be taken out, and the events of a day
-- that was dropped.
CREATE TRIGGER audit_is_kept BEFORE DELETE ON audit
WHEN NOT EXISTS (SELECT 1 FROM audit_day d WHERE d.day = OLD.day AND d.dropped_at IS NOT NULL)
BEGIN
    SELECT RAISE(ABORT, 'the audit trail is only added to');
END;
CREATE TRIGGER audit_stays BEFORE UPDATE ON audit
WHEN NOT (
    NEW.salt = x'' AND NEW.username = '' AND NEW.address = '' AND NEW.client = '' AND NEW.detail = '' AND NEW.target = ''
    AND NEW.day = OLD.day AND NEW.number = OLD.number AND NEW.id = OLD.id AND NEW.at = OLD.at AND NEW.event = OLD.event
    AND NEW.token_id IS OLD.token_id AND NEW.target_id IS OLD.target_id AND NEW.times = OLD.times
    AND NEW.payload_hash = OLD.payload_hash AND NEW.hash = OLD.hash
)
BEGIN
    SELECT RAISE(ABORT, 'the audit trail is only added to');
END;
CREATE TRIGGER audit_day_is_kept BEFORE DELETE ON audit_day
BEGIN
    SELECT RAISE(ABORT, 'the audit trail is only added to');
END;
-- A day grows, is sealed once, and is dropped once after that.
CREATE TRIGGER audit_day_stays BEFORE UPDATE ON audit_day
WHEN NOT (
    NEW.day = OLD.day AND (
        (OLD.sealed_at IS NULL AND NEW.sealed_at IS NULL AND NEW.dropped_at IS NULL AND NEW.events >= OLD.events)
        OR (NEW.events = OLD.events AND NEW.head = OLD.head AND (
            (OLD.sealed_at IS NULL AND NEW.sealed_at IS NOT NULL AND NEW.dropped_at IS NULL)
            OR (OLD.sealed_at IS NOT NULL AND NEW.sealed_at IS NOT NULL AND NEW.sealed_at = OLD.sealed_at
                AND OLD.dropped_at IS NULL AND NEW.dropped_at IS NOT NULL)
        ))
    )
)
BEGIN
    SELECT RAISE(ABORT, 'the audit trail is only added to');
END;
