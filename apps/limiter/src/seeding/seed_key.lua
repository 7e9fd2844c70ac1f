-- Writes a key as Postgres has it, but only if it is absent: what a write-through wrote is newer.
--
-- KEYS  1 key  2 id of the key with this value
-- ARGV  1 key id  2 SHA-256 of its value (hex)  3 state (active, revoked)  4 requests a minute
--       5 requests at once  6 expires at (ms; 0: never)
--       7 models ("*": all; else ids, space-separated)  8 seconds that a revoked key is kept
--       9 seconds until Redis forgets a key that is not revoked (0: never)
-- Returns seeded | present

local key_data, id_by_value = unpack(KEYS)
local key_id, key_hash, state, rpm, at_once, expires_at_ms, models, revoked_keep_s,
  forget_in_s = unpack(ARGV)

local present = redis.call('HGET', key_data, 'state')
local keep_s = (present or state) == 'revoked' and revoked_keep_s or forget_in_s
redis.call('SET', id_by_value, key_id)
if keep_s ~= '0' then redis.call('EXPIRE', id_by_value, keep_s) end
if present then return { 'present' } end
redis.call('HSET', key_data, 'hash', key_hash, 'state', state, 'rpm', rpm, 'at_once', at_once,
  'expires_at_ms', expires_at_ms, 'models', models)
if keep_s ~= '0' then redis.call('EXPIRE', key_data, keep_s) end
return { 'seeded' }
