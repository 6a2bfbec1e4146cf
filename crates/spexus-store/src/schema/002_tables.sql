-- Sessions of MCP clients, so that they outlive the process that opened them. `state` is what the client said and asked
-- for, `unread` what it has not read yet, `mark` the change up to which it was told. `rev` counts over all sessions, so
-- that a node finds what another one wrote; a session that ended stays as a row until the idle time is over, for the same
-- reason.
CREATE TABLE mcp_session (
    id {text} PRIMARY KEY NOT NULL,
    owner {id} NOT NULL,
    state {text} NOT NULL,
    unread {text} NOT NULL,
    mark {int} NOT NULL,
    node {id} NOT NULL,
    rev {int} NOT NULL,
    seen_at {int} NOT NULL,
    ended_at {int}
) {strict};
CREATE INDEX mcp_session_rev ON mcp_session (rev);
CREATE INDEX mcp_session_owner ON mcp_session (owner, seen_at);
CREATE INDEX mcp_session_seen ON mcp_session (seen_at);
