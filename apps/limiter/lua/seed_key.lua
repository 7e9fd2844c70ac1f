-- Writes a key as Postgres has it, but only if it is absent: what a write-through wrote is newer.
--
-- KEYS  1 key  2 id of the key with this value
-- ARGV  1 key id  2 SHA-256 of its value (hex)  3 state (active, revoked)  4 requests a minute
--       5 requests at once  6 expires at (ms; 0: never)
--       7 models ("*": all; else ids, space-separated)  8 seconds that a revoked key is kept
-- Returns seeded | present

local present = redis.call('HGET', KEYS[1], 'state')
redis.call('SET', KEYS[2], ARGV[1])
if (present or ARGV[3]) == 'revoked' then redis.call('EXPIRE', KEYS[2], ARGV[8]) end
if present then return { 'present' } end
redis.call('HSET', KEYS[1], 'hash', ARGV[2], 'state', ARGV[3], 'rpm', ARGV[4], 'at_once', ARGV[5], 'expires_at_ms', ARGV[6],
  'models', ARGV[7])
if ARGV[3] == 'revoked' then redis.call('EXPIRE', KEYS[1], ARGV[8]) end
return { 'seeded' }
