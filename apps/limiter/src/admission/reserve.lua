-- Reserves one request and the model's context length in the current month, for each of several
-- admissions that one instance already holds in one organization. They are decided in order: each
-- sees the effect of those before it. Checks the keys again, because they may have been revoked or
-- have expired meanwhile. Idempotent. Decides everything in memory, then writes what was reserved.
--
-- KEYS  1 fenced  2 org  3 open records of the instance  4 month
--       then of each admission: key
-- ARGV  1 offset (us)  2 instance id  3 month (YYYY-MM)  4 its first us  5 first us after it
--       then of each admission: id, key id of its key
-- Returns for each admission one of
--   reserved, now (us)
--   rate_limited, cause (recovering), wait (us), 0
--   quota_exceeded, cause (requests, tokens), now (us)
--   key_invalid
--   lease_lost                                            or the admission is gone
--   wrong_scope, key id, month ("-")                      the real ones: call again with their keys
--   need_key | need_org | need_month                      seed it and call again
--   month_turned, now (us)                                call again with the current month
--!include time
--!include record
--!include state
--!include decisions

local fenced, org_data, open, month_data = unpack(KEYS, 1, 4)
local offset_us, instance_id, month_name, month_from_us, month_until_us = unpack(ARGV, 1, 5)
local FIRST_KEY, FIRST_ARG, ARGS_EACH = 5, 6, 2
local admissions = (#ARGV - FIRST_ARG + 1) / ARGS_EACH

local now = now_us(offset_us)
local at = exact(now)
local is_fenced = redis.call('ZSCORE', fenced, instance_id)
local ids = {}
for i = 1, admissions do ids[i] = ARGV[FIRST_ARG + (i - 1) * ARGS_EACH] end
local records = redis.call('HMGET', open, unpack(ids))
local org = read_org(org_data)
local month = read_month(month_data)
local keys, reserved, new_records = {}, {}, {}

-- Returns false if the key has not been seeded.
local function key_of(i)
  local name = KEYS[FIRST_KEY + i - 1]
  if keys[name] == nil then keys[name] = read_key(name) or false end
  return keys[name]
end

local function decide(i)
  local id, key_id = ids[i], ARGV[FIRST_ARG + (i - 1) * ARGS_EACH + 1]
  local text = records[i]
  if is_fenced or not text or text == WITHDRAWN then return { 'lease_lost' } end
  if reserved[id] then return { 'reserved', now } end
  local record = read_record(text)
  if record.reserved_us ~= '0' then return { 'reserved', record.reserved_us + 0 } end
  if record.key_id ~= key_id then return { 'wrong_scope', record.key_id, record.month } end

  if not org then return { 'need_org' } end
  local key = key_of(i)
  if not key then return { 'need_key' } end
  local refusal = refuse_key(key, now) or refuse_recovering(org, now)
  if refusal then return refusal end
  if now < month_from_us + 0 or now >= month_until_us + 0 then return { 'month_turned', now } end
  if not month then return { 'need_month' } end
  refusal = refuse_month(org, month, record.context_tokens, now)
  if refusal then return refusal end

  record.reserved_us, record.month = at, month_name
  month.requests, month.reserved = month.requests + 1, month.reserved + record.context_tokens
  reserved[id] = true
  new_records[#new_records + 1] = id
  new_records[#new_records + 1] = write_record(record)
  return { 'reserved', now }
end

local replies = {}
for i = 1, admissions do replies[i] = decide(i) end
if #new_records == 0 then return replies end

redis.call('HSET', open, unpack(new_records))
redis.call('HSET', month_data, 'requests', exact(month.requests), 'reserved', exact(month.reserved))
return replies
