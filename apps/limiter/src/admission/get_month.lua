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

local org_data, month_data = unpack(KEYS)
local offset_us, month_from_us, month_until_us = unpack(ARGV)

local now = now_us(offset_us)
if now < month_from_us + 0 or now >= month_until_us + 0 then return { 'month_turned', now } end
local org = read_org(org_data)
if not org then return { 'need_org' } end
if now < org.opens_us then return { 'recovering', org.in_flight } end
local month = read_month(month_data)
if not month then return { 'need_month' } end
return { 'month', month.requests, month.charged, month.reserved, org.in_flight }
