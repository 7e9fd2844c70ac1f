-- Completes the month with the totals from Postgres, once. The month's counts already include
-- restored reservations. If such a reservation has been settled, settle.lua has noted that in a
-- field of the month, and the totals passed in include it.
--
-- KEYS  1 month
-- ARGV  1 requests  2 charged tokens  3 seconds that the month is kept
--       4 number of the month's fields when the totals were read
-- Returns seeded | present
--   changed                                               settled since: read the totals again

local month_data = KEYS[1]
local requests, charged_tokens, keep_s, fields_read = unpack(ARGV)

if redis.call('HEXISTS', month_data, 'charged') == 1 then return { 'present' } end
if redis.call('HLEN', month_data) ~= fields_read + 0 then return { 'changed' } end
local counts = redis.call('HMGET', month_data, 'requests', 'reserved')
redis.call('DEL', month_data)
redis.call('HSET', month_data, 'requests', counts[1] or '0', 'charged', charged_tokens, 'reserved', counts[2] or '0')
redis.call('HINCRBY', month_data, 'requests', requests)
redis.call('EXPIRE', month_data, keep_s)
return { 'seeded' }
