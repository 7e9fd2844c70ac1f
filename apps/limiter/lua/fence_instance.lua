-- Ends the lease of an instance whose last heartbeat is too old. From then on the instance cannot
-- join an organization, and its next heartbeat tells it that the lease is lost. If no heartbeat is
-- known, because the instance is new or its lease was lost with its data, it gets one lease length
-- from the first look on.
--
-- KEYS  1 lease
-- ARGV  1 offset (us)  2 length of a lease (ms)  3 seconds that a lost lease is kept
-- Returns dead | alive                                    dead: now or already before
--!include time

local lease = redis.call('HMGET', KEYS[1], 'beat_ms', 'dead', 'looked_ms')
if lease[2] then return { 'dead' } end
local now_ms = now_us(ARGV[1]) / 1000
local since_ms = lease[1] or lease[3]
if since_ms and now_ms - since_ms > ARGV[2] + 0 then
  redis.call('HSET', KEYS[1], 'dead', '1')
  redis.call('EXPIRE', KEYS[1], ARGV[3])
  return { 'dead' }
end
if not since_ms then
  redis.call('HSET', KEYS[1], 'looked_ms', exact(math.floor(now_ms)))
  redis.call('EXPIRE', KEYS[1], ARGV[3])
end
return { 'alive' }
