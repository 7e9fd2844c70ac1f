-- Refuses a key from now on, whether or not it is in Redis. The tombstone keeps a late seed from
-- bringing the key back. Idempotent.
--
-- KEYS  1 key  2 id of the key with this value
-- ARGV  1 key id  2 SHA-256 of its value (hex)  3 seconds that the tombstone is kept (longer
--       than any read of Postgres takes)
-- Returns revoked

local key_data, id_by_value = unpack(KEYS)
local key_id, key_hash, keep_s = unpack(ARGV)

redis.call('SET', id_by_value, key_id, 'EX', keep_s)
redis.call('HSET', key_data, 'hash', key_hash, 'state', 'revoked')
redis.call('EXPIRE', key_data, keep_s)
return { 'revoked' }
