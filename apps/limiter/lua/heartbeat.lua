-- Keeps the lease of a gateway instance. The first heartbeat registers the instance.
--
-- KEYS  1 lease
-- ARGV  1 offset (us)  2 registered before (1, 0)  3 seconds that a silent lease is kept
-- Returns one of
--   alive | lease_lost
--   lease_unknown                                         registered before; Redis lost the lease
--!include time

local lease = redis.call('HMGET', KEYS[1], 'beat_ms', 'dead')
if lease[2] then return { 'lease_lost' } end
if not lease[1] and ARGV[2] == '1' then return { 'lease_unknown' } end
redis.call('HSET', KEYS[1], 'beat_ms', exact(math.floor(now_us(ARGV[1]) / 1000)))
redis.call('EXPIRE', KEYS[1], ARGV[3])
return { 'alive' }
