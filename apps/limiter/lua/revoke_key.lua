-- Makes a key refused from now on, whether it is here or not: what is left keeps a late seed from bringing it back. Idempotent.
--
-- KEYS  1 key  2 whose its value is
-- ARGV  1 key id  2 SHA-256 of its value (hex)  3 seconds that it is kept: longer than any read of Postgres under way
-- Returns revoked

redis.call('SET', KEYS[2], ARGV[1], 'EX', ARGV[3])
redis.call('HSET', KEYS[1], 'hash', ARGV[2], 'state', 'revoked')
redis.call('EXPIRE', KEYS[1], ARGV[3])
return { 'revoked' }
