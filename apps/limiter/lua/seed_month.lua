-- Completes the month with the totals from Postgres, once. The month's counts already include
-- restored reservations. If such a reservation has been settled, settle.lua has noted that in a
-- field of the month, and the totals passed in include it.
--
-- KEYS  1 month
-- ARGV  1 requests  2 charged tokens  3 seconds that the month is kept
--       4 number of the month's fields when the totals were read
-- Returns seeded | present
--   changed                                               settled since: read the totals again

if redis.call('HEXISTS', KEYS[1], 'charged') == 1 then return { 'present' } end
if redis.call('HLEN', KEYS[1]) ~= ARGV[4] + 0 then return { 'changed' } end
local counts = redis.call('HMGET', KEYS[1], 'requests', 'reserved')
redis.call('DEL', KEYS[1])
redis.call('HSET', KEYS[1], 'requests', counts[1] or '0', 'charged', ARGV[2], 'reserved', counts[2] or '0')
redis.call('HINCRBY', KEYS[1], 'requests', ARGV[1])
redis.call('EXPIRE', KEYS[1], ARGV[3])
return { 'seeded' }
