-- Reads the current month's ledger.
--
-- KEYS  1 org  2 month
-- ARGV  1 offset (us)  2 first us of the month  3 first us after it
-- Returns one of
--   month, requests, charged tokens, reserved tokens, requests in flight
--   recovering, requests in flight                        the ledger is not restored yet
--   need_month | need_org                                 seed it and call again
--   month_turned, now (us)                                call again with the current month
--!include time
--!include state

local now = now_us(ARGV[1])
if now < ARGV[2] + 0 or now >= ARGV[3] + 0 then return { 'month_turned', now } end
local org = read_org(KEYS[1])
if not org then return { 'need_org' } end
if now < org.opens_us then return { 'recovering', org.in_flight } end
local month = redis.call('HMGET', KEYS[2], 'requests', 'charged', 'reserved')
if not month[2] then return { 'need_month' } end
return { 'month', month[1] + 0, month[2] + 0, month[3] + 0, org.in_flight }
