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

local times_list, blocked = unpack(KEYS)
local offset_us, address, blocks_at, block_ms = unpack(ARGV)

local now = now_us(offset_us)
local until_us = redis.call('ZSCORE', blocked, address)
if until_us and until_us + 0 > now then return { 'blocked', until_us - now } end

local others = blocks_at - 1
local times = open_window(times_list)
if window_wait(times, others, now) == 0 then
  window_count(times, now)
  write_window(times, now, exact(now))
  return { 'counted' }
end
redis.call('DEL', times_list)
redis.call('ZREMRANGEBYSCORE', blocked, '-inf', exact(now))
redis.call('ZADD', blocked, exact(now + block_ms * 1000), address)
-- This block is the newest, so it ends last. No address outlives its block by long.
redis.call('PEXPIRE', blocked, block_ms)
return { 'counted_and_blocked' }
