-- Counts one request toward the requests a minute of the key and the organization, without a slot.
--
-- KEYS  1 org  2 key  3 key's window  4 org's window
-- ARGV  1 offset (us)
-- Returns one of
--   admitted, now (us), limit, remaining, reset (us)      of the tighter window
--   rate_limited, cause (recovering, key_requests_per_minute, org_requests_per_minute), wait (us),
--     limit
--   key_invalid
--   need_key | need_org                                   seed it and call again
--!include time
--!include window
--!include state
--!include decisions

local org_data, key_data, key_times, org_times = unpack(KEYS)
local offset_us = ARGV[1]

local now = now_us(offset_us)
local org = read_org(org_data)
if not org then return { 'need_org' } end
local key = read_key(key_data)
if not key then return { 'need_key' } end
local key_window, org_window = open_window(key_times), open_window(org_times)
local refusal = refuse_key(key, now)
  or refuse_recovering(org, now)
  or refuse_window('key_requests_per_minute', key_window, key.rpm, now)
  or refuse_window('org_requests_per_minute', org_window, org.rpm, now)
if refusal then return refusal end
local reply = count_admission(key, key_window, org, org_window, now)
local at = exact(now)
write_window(key_window, now, at)
write_window(org_window, now, at)
return reply
