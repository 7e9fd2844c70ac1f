-- Admits one request, with or without its reservation, or refuses it. Without a reservation, it
-- still refuses if the month could not take one, since preparing such a request would be pointless.
-- Checks everything, then writes all or nothing.
--
-- KEYS  1 org  2 key  3 key's window  4 org's window  5 open records of the instance  6 month
-- ARGV  1 offset (us)  2 instance id  3 admission id  4 key id  5 model id  6 context tokens
--       7 has images (1, 0)  8 streamed (1, 0)  9 reserve (1, 0)  10 month (YYYY-MM)
--       11 its first us  12 first us after it
-- Returns one of
--   admitted, now (us), limit, remaining, reset (us)      of the tighter window
--   rate_limited, cause (recovering, key_rpm, org_rpm, key_at_once, org_at_once), wait (us), limit
--   quota_exceeded, cause (requests, tokens), now (us)
--   key_invalid | plan_upgrade_required
--   lease_lost                                            or the admission was withdrawn already
--   need_key | need_org | need_month                      seed it and call again
--   need_join                                             register the instance here and call again
--   month_turned, now (us)                                call again with the current month
--!include time
--!include window
--!include record
--!include state
--!include decisions

local org_hash, key_hash, key_window, org_window, open, month_hash = unpack(KEYS)
local offset_us, instance_id, admission_id, key_id, model_id, context, has_images, streamed,
  reserve, month_name, month_from_us, month_until_us = unpack(ARGV)

local now = now_us(offset_us)
local org = read_org(org_hash, instance_id)
if not org then return { 'need_org' } end
if not org.joined then return { 'need_join' } end
if org.joined == FENCED then return { 'lease_lost' } end
local key = read_key(key_hash)
if not key then return { 'need_key' } end

local refusal = refuse_key(key, now)
if refusal then return refusal end
if has_images == '1' and org.images ~= '1' then return { 'plan_upgrade_required' } end
refusal = refuse_recovering(org, now)
  or refuse_window('key_rpm', key_window, key.rpm, now)
  or refuse_window('org_rpm', org_window, org.rpm, now)
  or refuse_slots('key_at_once', key.in_flight, key.at_once)
  or refuse_slots('org_at_once', org.in_flight, org.at_once)
if refusal then return refusal end

if now < month_from_us + 0 or now >= month_until_us + 0 then return { 'month_turned', now } end
local month = redis.call('HMGET', month_hash, 'requests', 'charged', 'reserved')
if not month[2] then return { 'need_month' } end
refusal = refuse_month(org, month, context, now)
if refusal then return refusal end

local at = exact(now)
local record = {
  key_id = key_id, model_id = model_id, context = context, admitted_us = at, reserved_us = '0', month = '-',
  streamed = streamed,
}
if reserve == '1' then
  record.reserved_us, record.month = at, month_name
end
if redis.call('HSETNX', open, admission_id, write_record(record)) == 0 then return { 'lease_lost' } end
redis.call('HINCRBY', org_hash, 'in_flight', '1')
redis.call('HINCRBY', key_hash, 'in_flight', '1')
if reserve == '1' then
  redis.call('HSET', month_hash, 'requests', exact(month[1] + 1), 'reserved', exact(month[3] + context))
end
return admitted(key, key_window, org, org_window, now, at)
