-- Gives a lock back if it is still held by this holder.
--
-- KEYS  1 lock
-- ARGV  1 holder
-- Returns released | lost

if redis.call('GET', KEYS[1]) ~= ARGV[1] then return { 'lost' } end
redis.call('DEL', KEYS[1])
return { 'released' }
