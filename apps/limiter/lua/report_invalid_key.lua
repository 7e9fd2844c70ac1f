-- Counts a request with an invalid key. The 20th from one address within 60 s blocks the address,
-- but is itself still answered as an invalid key.
--
-- KEYS  1 bad-key times of the address  2 blocked addresses
-- ARGV  1 offset (us)  2 address  3 number of requests that blocks  4 length of a block (ms)
-- Returns one of
--   counted
--   counted_and_blocked
--   blocked, remaining (us)                               the address was blocked already
--!include time
--!include window

local now = now_us(ARGV[1])
local until_us = redis.call('ZSCORE', KEYS[2], ARGV[2])
if until_us and until_us + 0 > now then return { 'blocked', until_us - now } end

local others = ARGV[3] - 1
if window_wait(KEYS[1], others, now) == 0 then
  window_count(KEYS[1], now, exact(now))
  return { 'counted' }
end
redis.call('DEL', KEYS[1])
redis.call('ZREMRANGEBYSCORE', KEYS[2], '-inf', exact(now))
redis.call('ZADD', KEYS[2], exact(now + ARGV[4] * 1000), ARGV[2])
return { 'counted_and_blocked' }
