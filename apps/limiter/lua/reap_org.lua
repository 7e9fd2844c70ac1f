-- Fences a dead instance in one organization and returns a bounded part of what it left. The caller
-- ends each returned record and calls again until nothing is left. By then the instance's keys here
-- are gone.
--
-- KEYS  1 fenced  2 open records of the instance  3 its void markers  4 org
-- ARGV  1 offset (us)  2 instance id  3 most records returned  4 seconds that a fence is kept
-- Returns done | left, field, record, field, record, ...
--   field                                                 admission id, or large:<admission id>
--!include time
--!include state

local now = now_us(ARGV[1])
local past = now - ARGV[4] * 1000000
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', exact(past))
redis.call('ZADD', KEYS[1], 'NX', exact(now), ARGV[2])
redis.call('EXPIRE', KEYS[1], ARGV[4])
-- Fence it in the organization too, where admit.lua looks. The field stays until nothing is left,
-- so that the instance can be found again.
local joined = joined_field(ARGV[2])
if redis.call('HEXISTS', KEYS[4], joined) == 1 then redis.call('HSET', KEYS[4], joined, FENCED) end

-- Void markers can go: the fence refuses whatever they would refuse.
local most = ARGV[3] + 0
local voids = redis.call('ZRANGE', KEYS[3], 0, most - 1)
if #voids > 0 then
  redis.call('HDEL', KEYS[2], unpack(voids))
  redis.call('ZREM', KEYS[3], unpack(voids))
end
local reply = { 'left' }
local cursor = '0'
repeat
  local page = redis.call('HSCAN', KEYS[2], cursor, 'COUNT', most)
  cursor = page[1]
  for i = 1, #page[2] do reply[#reply + 1] = page[2][i] end
until cursor == '0' or #reply > most
if #reply == 1 and redis.call('EXISTS', KEYS[3]) == 0 then
  redis.call('HDEL', KEYS[4], joined)
  return { 'done' }
end
return reply
