-- Ends the lease of an instance whose last heartbeat is too old. From then on the instance cannot
-- join an organization, and its next heartbeat tells it that the lease is lost. If no heartbeat is
-- known, because the instance is new or its lease was lost with its data, it gets one lease length,
-- counted from the first look.
--
-- The caller asks twice. The second call ends the lease only if no heartbeat has come since the
-- first. So a first call that Redis runs long after it was sent, because Redis stood still, ends
-- nothing: nobody could be heard meanwhile.
--
-- KEYS  1 lease
-- ARGV  1 offset (us)  2 length of a lease (ms)  3 seconds that a lost lease is kept
--       4 what the first call returned ("": this is the first)
-- Returns one of
--   dead                                                  now or earlier
--   alive
--   silent, since (ms)                                    call again with that time
--!include time

local lease_hash = KEYS[1]
local offset_us, lease_ms, keep_s, seen_since_ms = unpack(ARGV)

local lease = redis.call('HMGET', lease_hash, 'beat_ms', 'dead', 'looked_ms')
if lease[2] then return { 'dead' } end
local now_ms = now_us(offset_us) / 1000
local since_ms = lease[1] or lease[3]
if since_ms and now_ms - since_ms > lease_ms + 0 then
  if since_ms ~= seen_since_ms then return { 'silent', since_ms } end
  redis.call('HSET', lease_hash, 'dead', '1')
  redis.call('EXPIRE', lease_hash, keep_s)
  return { 'dead' }
end
if not since_ms then
  redis.call('HSET', lease_hash, 'looked_ms', exact(math.floor(now_ms)))
  redis.call('EXPIRE', lease_hash, keep_s)
end
return { 'alive' }
