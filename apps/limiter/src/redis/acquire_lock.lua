-- Takes a lock, or extends it if the same holder has it.
--
-- KEYS  1 lock
-- ARGV  1 holder  2 ms until the lock expires
-- Returns acquired | taken_by_another

local lock = KEYS[1]
local holder, ttl_ms = unpack(ARGV)

local taken_by = redis.call('GET', lock)
if taken_by and taken_by ~= holder then return { 'taken_by_another' } end
redis.call('SET', lock, holder, 'PX', ttl_ms)
return { 'acquired' }
