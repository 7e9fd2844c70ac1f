-- Makes a key refused from now on, whether or not it is in Redis. The tombstone keeps a late seed
-- from bringing the key back. Idempotent.
--
-- KEYS  1 key  2 id of the key with this value
-- ARGV  1 key id  2 SHA-256 of its value (hex)  3 seconds that the tombstone is kept (longer
--       than any read of Postgres takes)
-- Returns revoked

redis.call('SET', KEYS[2], ARGV[1], 'EX', ARGV[3])
redis.call('HSET', KEYS[1], 'hash', ARGV[2], 'state', 'revoked')
redis.call('EXPIRE', KEYS[1], ARGV[3])
return { 'revoked' }
