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

local now = now_us(ARGV[1])
if redis.call('ZSCORE', KEYS[1], ARGV[2]) then return { 'lease_lost' } end
local text = redis.call('HGET', KEYS[4], ARGV[3])
if not text or text == 'void' then return { 'lease_lost' } end
local key_id, model, context, admitted, reserved, month_name, streamed = read_record(text)
if reserved ~= '0' then return { 'reserved', reserved + 0 } end
if key_id ~= ARGV[4] then return { 'wrong_scope', key_id, month_name } end

local org = read_org(KEYS[2])
if not org then return { 'need_org' } end
local key = read_key(KEYS[3])
if not key then return { 'need_key' } end
local refusal = refuse_key(key, now) or refuse_recovering(org, now)
if refusal then return refusal end
if now < ARGV[6] + 0 or now >= ARGV[7] + 0 then return { 'month_turned', now } end
local month = redis.call('HMGET', KEYS[5], 'requests', 'charged', 'reserved')
if not month[2] then return { 'need_month' } end
refusal = refuse_month(org, month, context, now)
if refusal then return refusal end

redis.call('HSET', KEYS[4], ARGV[3], write_record(key_id, model, context, admitted, exact(now), ARGV[5], streamed))
redis.call('HSET', KEYS[5], 'requests', exact(month[1] + 1), 'reserved', exact(month[3] + context))
return { 'reserved', now }
