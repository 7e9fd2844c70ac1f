-- Completes the month with the totals from Postgres, once. The month's counts already include
-- restored reservations. If such a reservation has been settled, settle.lua has noted that in a
-- field of the month, and the totals passed in include it.
--
-- Redis may have lost its data since the totals were read. So nothing is seeded while the
-- organization is missing or recovering: gateways have yet to restore what the totals may lack.
--
-- KEYS  1 month  2 org
-- ARGV  1 requests  2 charged tokens  3 seconds that the month is kept
--       4 number of the month's fields when the totals were read  5 offset (us)
-- Returns seeded | present
--   changed                                               settled since: read the totals again
--   not_open                                              the organization is missing or recovering
--!include time

local month_data, org_data = unpack(KEYS)
local requests, charged_tokens, keep_s, fields_read, offset_us = unpack(ARGV)

if redis.call('HEXISTS', month_data, 'charged') == 1 then return { 'present' } end
local org = redis.call('HMGET', org_data, 'version', 'opens_us')
if not org[1] or now_us(offset_us) < (org[2] or 0) + 0 then return { 'not_open' } end
if redis.call('HLEN', month_data) ~= fields_read + 0 then return { 'changed' } end
local counts = redis.call('HMGET', month_data, 'requests', 'reserved')
redis.call('DEL', month_data)
redis.call('HSET', month_data, 'requests', counts[1] or '0', 'charged', charged_tokens, 'reserved', counts[2] or '0')
redis.call('HINCRBY', month_data, 'requests', requests)
redis.call('EXPIRE', month_data, keep_s)
return { 'seeded' }
