-- The sum of bigints as a bigint. sum() makes numerics of them, which takes longer: usage adds up a million of them for one page.
-- A sum beyond bigint is an error, as it is when a numeric is cast.
CREATE AGGREGATE "bigint_total"(BIGINT) (
    SFUNC = int8pl,
    STYPE = BIGINT,
    COMBINEFUNC = int8pl,
    PARALLEL = SAFE
);
