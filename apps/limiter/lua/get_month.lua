-- The month ledger of now.
--
-- KEYS  1 org  2 month
-- ARGV  1 offset (us)  2 first us of the month  3 first us after it
-- Returns one of
--   month, requests, charged tokens, reserved tokens, requests in flight
--   need_month                                            seed it and call again
--   month_turned, now (us)                                call again with the month of now
--!include time

local now = now_us(ARGV[1])
if now < ARGV[2] + 0 or now >= ARGV[3] + 0 then return { 'month_turned', now } end
local month = redis.call('HMGET', KEYS[2], 'requests', 'charged', 'reserved')
if not month[1] then return { 'need_month' } end
local in_flight = redis.call('HGET', KEYS[1], 'in_flight') or 0
return { 'month', month[1] + 0, month[2] + 0, month[3] + 0, in_flight + 0 }
