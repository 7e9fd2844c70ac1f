-- Notes that an instance may hold something in an organization, before it does: where the reaper has to look.
--
-- KEYS  1 lease  2 organizations of the instance
-- ARGV  1 offset (us)  2 organization id
-- Returns joined | lease_lost
--!include time

if redis.call('HEXISTS', KEYS[1], 'dead') == 1 then return { 'lease_lost' } end
-- An instance that has not beaten yet gets its first beat here, so that its lease runs out should it never do.
redis.call('HSETNX', KEYS[1], 'beat_ms', exact(math.floor(now_us(ARGV[1]) / 1000)))
redis.call('SADD', KEYS[2], ARGV[2])
return { 'joined' }
