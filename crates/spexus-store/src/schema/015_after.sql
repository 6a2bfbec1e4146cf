DROP TABLE former_audit;
CREATE INDEX audit_at ON audit (at);
CREATE INDEX audit_event ON audit (event, id);
CREATE INDEX audit_username ON audit (username, id);
CREATE INDEX audit_target ON audit (target, id) WHERE target <> '';
