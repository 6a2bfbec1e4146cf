-- Copies every table of the present schema into {backup}, with rows, constraints, indexes, triggers and the state of identities,
-- under the same names, so that the copy can take the place of the original by renaming schemas.
DO $$
DECLARE
    own text := current_schema();
    copied record;
    part record;
BEGIN
    IF NOT EXISTS (SELECT 1 FROM pg_namespace WHERE nspname = '{backup}') THEN
        CREATE SCHEMA {backup};
    END IF;
    FOR copied IN SELECT c.oid, c.relname FROM pg_class c
        WHERE c.relnamespace = own::regnamespace AND c.relkind = 'r' ORDER BY c.relname
    LOOP
        EXECUTE format('DROP TABLE IF EXISTS {backup}.%I CASCADE', copied.relname);
        EXECUTE format('CREATE TABLE {backup}.%I (LIKE %I.%I INCLUDING DEFAULTS INCLUDING GENERATED INCLUDING IDENTITY)',
            copied.relname, own, copied.relname);
        EXECUTE format('INSERT INTO {backup}.%I OVERRIDING SYSTEM VALUE SELECT * FROM %I.%I', copied.relname, own, copied.relname);
        FOR part IN SELECT attname FROM pg_attribute WHERE attrelid = copied.oid AND attidentity <> ''
        LOOP
            EXECUTE format('SELECT setval(pg_get_serial_sequence(%L, %L), coalesce((SELECT max(%I) FROM {backup}.%I), 0) + 1, false)',
                format('{backup}.%I', copied.relname), part.attname, part.attname, copied.relname);
        END LOOP;
    END LOOP;
    FOR part IN SELECT r.relname, c.conname, pg_get_constraintdef(c.oid) AS definition FROM pg_constraint c
        JOIN pg_class r ON r.oid = c.conrelid
        WHERE r.relnamespace = own::regnamespace AND r.relkind = 'r' AND c.contype IN ('p', 'u', 'c', 'f')
        ORDER BY position(c.contype::text IN 'pucf')
    LOOP
        EXECUTE format('SET LOCAL search_path = {backup}');
        EXECUTE format('ALTER TABLE {backup}.%I ADD CONSTRAINT %I %s', part.relname, part.conname, part.definition);
        EXECUTE format('SET LOCAL search_path = %I', own);
    END LOOP;
    FOR part IN SELECT r.relname, replace(pg_get_indexdef(i.indexrelid), format(' ON %I.%I ', own, r.relname),
            format(' ON {backup}.%I ', r.relname)) AS definition
        FROM pg_index i JOIN pg_class r ON r.oid = i.indrelid
        WHERE r.relnamespace = own::regnamespace AND r.relkind = 'r'
        AND NOT EXISTS (SELECT 1 FROM pg_constraint c WHERE c.conindid = i.indexrelid AND c.contype IN ('p', 'u', 'x'))
    LOOP
        EXECUTE part.definition;
    END LOOP;
    FOR part IN SELECT replace(pg_get_functiondef(p.oid), format(' FUNCTION %I.%I(', own, p.proname),
            format(' FUNCTION {backup}.%I(', p.proname)) AS definition
        FROM pg_proc p WHERE p.pronamespace = own::regnamespace AND p.prorettype = 'trigger'::regtype AND p.prolang IN
            (SELECT l.oid FROM pg_language l WHERE l.lanname = 'plpgsql')
    LOOP
        EXECUTE part.definition;
    END LOOP;
    FOR part IN SELECT replace(pg_get_triggerdef(t.oid), format(' ON %I.%I ', own, r.relname),
            format(' ON {backup}.%I ', r.relname)) AS definition
        FROM pg_trigger t JOIN pg_class r ON r.oid = t.tgrelid
        WHERE r.relnamespace = own::regnamespace AND r.relkind = 'r' AND NOT t.tgisinternal
    LOOP
        EXECUTE format('SET LOCAL search_path = {backup}');
        EXECUTE part.definition;
        EXECUTE format('SET LOCAL search_path = %I', own);
    END LOOP;
END $$
