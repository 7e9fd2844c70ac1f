-- Raises a month to what Postgres has, where Redis has less. Normally Redis has at least as much,
-- because a settlement is counted here before it is written there.
--
-- KEYS  1 month
-- ARGV  1 requests  2 charged tokens
-- Returns kept | raised
--   unseeded                                              it will be read from Postgres

local month_data = KEYS[1]
local requests, charged_tokens = unpack(ARGV)

local month = redis.call('HMGET', month_data, 'requests', 'charged')
if not month[2] then return { 'unseeded' } end
local more_requests, more_tokens = requests - (month[1] or 0), charged_tokens - month[2]
if more_requests <= 0 and more_tokens <= 0 then return { 'kept' } end
if more_requests > 0 then redis.call('HSET', month_data, 'requests', requests) end
if more_tokens > 0 then redis.call('HSET', month_data, 'charged', charged_tokens) end
return { 'raised' }
