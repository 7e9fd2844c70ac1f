-- Takes a lock, or extends it if the same holder has it.
--
-- KEYS  1 lock
-- ARGV  1 holder  2 ms until the lock expires
-- Returns acquired | taken_by_another

local holder = redis.call('GET', KEYS[1])
if holder and holder ~= ARGV[1] then return { 'taken_by_another' } end
redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
return { 'acquired' }
