-- Reserves one request and the model's context window in the current month, for an admission that
-- is already held. Checks the key again, because it may have been revoked or have expired
-- meanwhile. Idempotent.
--
-- KEYS  1 fenced  2 org  3 key  4 open records of the instance  5 month
-- ARGV  1 offset (us)  2 instance id  3 admission id  4 key id of KEYS 3  5 month (YYYY-MM)
--       6 its first us  7 first us after it
-- Returns one of
--   reserved, now (us)
--   rate_limited, cause (recovering), wait (us), 0
--   quota_exceeded, cause (requests, tokens), now (us)
--   key_invalid
--   lease_lost                                            or the admission is gone
--   wrong_scope, key id, month ("-")                     of this key: call again with its keys
--   need_key | need_org | need_month                      seed it and call again
--   month_turned, now (us)                                call again with the current month
--!include time
--!include record
--!include state
--!include decisions

local fenced, org_hash, key_hash, open, month_hash = unpack(KEYS)
local offset_us, instance_id, admission_id, key_id, month_name, month_from_us,
  month_until_us = unpack(ARGV)

local now = now_us(offset_us)
if redis.call('ZSCORE', fenced, instance_id) then return { 'lease_lost' } end
local text = redis.call('HGET', open, admission_id)
if not text or text == 'void' then return { 'lease_lost' } end
local record = read_record(text)
if record.reserved_us ~= '0' then return { 'reserved', record.reserved_us + 0 } end
if record.key_id ~= key_id then return { 'wrong_scope', record.key_id, record.month } end

local org = read_org(org_hash)
if not org then return { 'need_org' } end
local key = read_key(key_hash)
if not key then return { 'need_key' } end
local refusal = refuse_key(key, now) or refuse_recovering(org, now)
if refusal then return refusal end
if now < month_from_us + 0 or now >= month_until_us + 0 then return { 'month_turned', now } end
local month = read_month(month_hash)
if not month then return { 'need_month' } end
refusal = refuse_month(org, month, record.context, now)
if refusal then return refusal end

record.reserved_us, record.month = exact(now), month_name
redis.call('HSET', open, admission_id, write_record(record))
redis.call('HSET', month_hash, 'requests', exact(month.requests + 1), 'reserved',
  exact(month.reserved + record.context))
return { 'reserved', now }
