-- Keeps the lease of a gateway instance. The first heartbeat registers the instance.
--
-- KEYS  1 lease
-- ARGV  1 offset (us)  2 registered before (1, 0)  3 seconds that a silent lease is kept
-- Returns one of
--   alive | lease_lost
--   lease_unknown                                         registered before; Redis lost the lease
--!include time

local lease_hash = KEYS[1]
local offset_us, registered, keep_s = unpack(ARGV)

local lease = redis.call('HMGET', lease_hash, 'beat_ms', 'dead')
if lease[2] then return { 'lease_lost' } end
if not lease[1] and registered == '1' then return { 'lease_unknown' } end
redis.call('HSET', lease_hash, 'beat_ms', exact(math.floor(now_us(offset_us) / 1000)))
redis.call('EXPIRE', lease_hash, keep_s)
return { 'alive' }
