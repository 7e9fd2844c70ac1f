-- Reserves one request and the model's context window of this month for an admission already held.
-- Its key may have been revoked, or have expired, since. Idempotent.
--
-- KEYS  1 fenced  2 org  3 key  4 open records of the instance  5 month
-- ARGV  1 offset (us)  2 instance id  3 admission id  4 key id of KEYS 3  5 month (YYYY-MM)  6 its first us
--       7 first us after it
-- Returns one of
--   reserved, now (us)
--   rate_limited, cause (recovering), wait (us), 0
--   quota_exceeded, cause (requests, tokens), now (us)
--   key_invalid
--   lease_lost                                            also: the admission is gone
--   elsewhere, key id, month ("-")                        the admission is of this key: call again with its keys
--   need_key | need_org | need_month                      seed it and call again
--   month_turned, now (us)                                call again with the month of now
--!include time
--!include record
--!include state
--!include decisions

local now = now_us(ARGV[1])
if redis.call('ZSCORE', KEYS[1], ARGV[2]) then return { 'lease_lost' } end
local text = redis.call('HGET', KEYS[4], ARGV[3])
if not text or text == 'void' then return { 'lease_lost' } end
local record = read_record(text)
if record.reserved > 0 then return { 'reserved', record.reserved } end
if record.key ~= ARGV[4] then return { 'elsewhere', record.key, record.month } end

local org = read_org(KEYS[2])
if not org then return { 'need_org' } end
local key = read_key(KEYS[3])
if not key then return { 'need_key' } end
local refusal = refuse_key(key, now) or refuse_recovering(org, now)
if refusal then return refusal end
if now < ARGV[6] + 0 or now >= ARGV[7] + 0 then return { 'month_turned', now } end
local month = redis.call('HMGET', KEYS[5], 'requests', 'charged', 'reserved')
if not month[2] then return { 'need_month' } end
refusal = refuse_month(org, month, record.context, now)
if refusal then return refusal end

record.reserved = now
record.month = ARGV[5]
redis.call('HSET', KEYS[4], ARGV[3], write_record(record))
redis.call('HSET', KEYS[5], 'requests', exact(month[1] + 1), 'reserved', exact(month[3] + record.context))
return { 'reserved', now }
