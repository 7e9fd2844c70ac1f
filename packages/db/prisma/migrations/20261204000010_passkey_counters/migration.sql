-- The counter of a passkey goes to 2^32 - 1, which an integer does not hold. The sign-in library
-- wants a JavaScript number, so it is not a bigint.
ALTER TABLE "passkey" ALTER COLUMN "counter" TYPE DOUBLE PRECISION;
