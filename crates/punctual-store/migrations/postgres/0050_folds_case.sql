-- Searches take no account of upper and lower case in any language. ILIKE and LOWER go by the locale of the database, and
-- one in the locale C knows ASCII alone. So they name a collation of our own: ICU's, which is the same on every server; where
-- a server was built without it the system's for Unicode; and where there is neither, what a database can do at least.
DO $$
BEGIN
    CREATE COLLATION folds_case (provider = icu, locale = 'und');
EXCEPTION WHEN OTHERS THEN
    BEGIN
        CREATE COLLATION folds_case (provider = libc, locale = 'C.UTF-8');
    EXCEPTION WHEN OTHERS THEN
        CREATE COLLATION folds_case FROM "C";
    END;
END
$$;
