-- Folders that administrators opened to agents while a server ran. Those of the configuration are not kept here.
CREATE TABLE root (
    uri {text} PRIMARY KEY NOT NULL,
    name {text} NOT NULL,
    description {text} NOT NULL,
    added_by {id} NOT NULL,
    added_at {int} NOT NULL
) {strict};
