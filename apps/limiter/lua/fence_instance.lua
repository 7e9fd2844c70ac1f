-- Ends the lease of an instance whose last beat is too old. From then on it joins no organization and learns of its loss.
--
-- KEYS  1 lease
-- ARGV  1 offset (us)  2 length of a lease (ms)  3 seconds that a lost lease is kept
-- Returns dead | alive                                    dead also: it was dead before
--!include time

local lease = redis.call('HMGET', KEYS[1], 'beat_ms', 'dead')
if lease[2] then return { 'dead' } end
if lease[1] and now_us(ARGV[1]) / 1000 - lease[1] <= ARGV[2] + 0 then return { 'alive' } end
redis.call('HSET', KEYS[1], 'dead', '1')
redis.call('EXPIRE', KEYS[1], ARGV[3])
return { 'dead' }
