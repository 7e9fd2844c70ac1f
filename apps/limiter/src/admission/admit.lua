-- Admits requests of one organization and one instance, with or without their reservations, or
-- refuses them. They are decided in order: each sees the effect of those before it. A request
-- without a reservation is still refused if the month could not take one, since preparing the
-- request would be pointless. Decides everything in memory, then writes what was admitted.
--
-- KEYS  1 org  2 org's window  3 open records of the instance  4 month
--       then of each request: key, key's window
-- ARGV  1 offset (us)  2 instance id  3 month (YYYY-MM)  4 its first us  5 first us after it
--       then of each request: admission id, key id, model id, context tokens, has images (1, 0),
--       streamed (1, 0), reserve (1, 0)
-- Returns for each request one of
--   admitted, now (us), limit, remaining, reset (us)      of the tighter window
--   rate_limited, cause (recovering, key_requests_per_minute, org_requests_per_minute,
--     key_requests_at_once, org_requests_at_once), wait (us), limit
--   quota_exceeded, cause (requests, tokens), now (us)
--   key_invalid | plan_upgrade_required
--   lease_lost                                            or the id was admitted or withdrawn
--   need_key | need_org | need_month                      seed it and call again
--   need_join                                             register the instance here and call again
--   month_turned, now (us)                                call again with the current month
--!include time
--!include window
--!include record
--!include state
--!include decisions

local org_data, org_times, open, month_data = unpack(KEYS, 1, 4)
local offset_us, instance_id, month_name, month_from_us, month_until_us = unpack(ARGV, 1, 5)
local FIRST_KEY, FIRST_ARG = 5, 6
local KEYS_EACH, ARGS_EACH = 2, 7
local requests = (#ARGV - FIRST_ARG + 1) / ARGS_EACH

local function reply_to_all(reply)
  local replies = {}
  for i = 1, requests do replies[i] = reply end
  return replies
end

local now = now_us(offset_us)
local at = exact(now)
local org = read_org(org_data, instance_id)
if not org then return reply_to_all({ 'need_org' }) end
if not org.joined then return reply_to_all({ 'need_join' }) end
if org.joined == FENCED then return reply_to_all({ 'lease_lost' }) end

local org_window = open_window(org_times)
local keys = {}
local ids = {}
for i = 1, requests do ids[i] = ARGV[FIRST_ARG + (i - 1) * ARGS_EACH] end
-- What is open, or withdrawn, under each id.
local records = redis.call('HMGET', open, unpack(ids))
local month

-- Returns false if the key has not been seeded.
local function key_of(i)
  local first = FIRST_KEY + (i - 1) * KEYS_EACH
  local name = KEYS[first]
  local key = keys[name]
  if key == nil then
    key = read_key(name) or false
    keys[name] = key
    if key then key.window, key.admitted = open_window(KEYS[first + 1]), 0 end
  end
  return key
end

local added, new_records, reserved = {}, {}, 0

local function decide(i)
  local first = FIRST_ARG + (i - 1) * ARGS_EACH
  local id, key_id, model_id, context_tokens, has_images, streamed, reserve =
    unpack(ARGV, first, first + ARGS_EACH - 1)
  local key = key_of(i)
  if not key then return { 'need_key' } end

  local refusal = refuse_key(key, now)
  if refusal then return refusal end
  if has_images == '1' and org.images ~= '1' then return { 'plan_upgrade_required' } end
  refusal = refuse_recovering(org, now)
    or refuse_window('key_requests_per_minute', key.window, key.rpm, now)
    or refuse_window('org_requests_per_minute', org_window, org.rpm, now)
    or refuse_slots('key_requests_at_once', key.in_flight, key.at_once)
    or refuse_slots('org_requests_at_once', org.in_flight, org.at_once)
  if refusal then return refusal end

  if now < month_from_us + 0 or now >= month_until_us + 0 then return { 'month_turned', now } end
  month = month or read_month(month_data)
  if not month then return { 'need_month' } end
  refusal = refuse_month(org, month, context_tokens, now)
  if refusal then return refusal end
  if records[i] or added[id] then return { 'lease_lost' } end

  local record = {
    key_id = key_id, model_id = model_id, context_tokens = context_tokens, admitted_us = at, reserved_us = '0',
    month = '-', streamed = streamed,
  }
  if reserve == '1' then
    record.reserved_us, record.month = at, month_name
    month.requests, month.reserved = month.requests + 1, month.reserved + context_tokens
    reserved = reserved + 1
  end
  added[id] = true
  new_records[#new_records + 1] = id
  new_records[#new_records + 1] = write_record(record)
  org.in_flight, key.in_flight = org.in_flight + 1, key.in_flight + 1
  key.admitted = key.admitted + 1
  return count_admission(key, key.window, org, org_window, now)
end

local replies = {}
for i = 1, requests do replies[i] = decide(i) end
if #new_records == 0 then return replies end

redis.call('HSET', open, unpack(new_records))
redis.call('HINCRBY', org_data, 'in_flight', exact(#new_records / 2))
write_window(org_window, now, at)
for name, key in pairs(keys) do
  if key and key.admitted > 0 then
    redis.call('HINCRBY', name, 'in_flight', exact(key.admitted))
    write_window(key.window, now, at)
  end
end
if reserved > 0 then
  redis.call('HSET', month_data, 'requests', exact(month.requests), 'reserved', exact(month.reserved))
end
return replies
