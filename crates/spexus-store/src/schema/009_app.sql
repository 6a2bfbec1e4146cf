-- Which apps the installation has. Their files are in a folder of each machine; here stands which ones there should be.
CREATE TABLE app (
    name {text} PRIMARY KEY NOT NULL,
    installation {text} NOT NULL,
    version {text} NOT NULL,
    source {text} NOT NULL,
    installed_by {id} NOT NULL,
    installed_at {int} NOT NULL
) {strict};
