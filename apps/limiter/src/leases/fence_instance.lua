-- Ends the lease of an instance whose last heartbeat is too old. From then on the instance cannot
-- join an organization, and its next heartbeat tells it that the lease is lost. If no heartbeat is
-- known, because the instance is new or its lease was lost with its data, it gets one lease length,
-- counted from the first look.
--
-- KEYS  1 lease
-- ARGV  1 offset (us)  2 length of a lease (ms)  3 seconds that a lost lease is kept
-- Returns dead | alive                                    dead: now or earlier
--!include time

local lease_hash = KEYS[1]
local offset_us, lease_ms, keep_s = unpack(ARGV)

local lease = redis.call('HMGET', lease_hash, 'beat_ms', 'dead', 'looked_ms')
if lease[2] then return { 'dead' } end
local now_ms = now_us(offset_us) / 1000
local since_ms = lease[1] or lease[3]
if since_ms and now_ms - since_ms > lease_ms + 0 then
  redis.call('HSET', lease_hash, 'dead', '1')
  redis.call('EXPIRE', lease_hash, keep_s)
  return { 'dead' }
end
if not since_ms then
  redis.call('HSET', lease_hash, 'looked_ms', exact(math.floor(now_ms)))
  redis.call('EXPIRE', lease_hash, keep_s)
end
return { 'alive' }
