-- Keeps the lease of a gateway instance; the first one registers it.
--
-- KEYS  1 lease
-- ARGV  1 offset (us)
-- Returns alive | lease_lost
--!include time

if redis.call('HEXISTS', KEYS[1], 'dead') == 1 then return { 'lease_lost' } end
redis.call('HSET', KEYS[1], 'beat_ms', exact(math.floor(now_us(ARGV[1]) / 1000)))
return { 'alive' }
