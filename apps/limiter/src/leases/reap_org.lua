-- Fences a dead instance in one organization and returns a bounded part of what it left. The caller
-- ends each returned record and calls again until nothing is left. By then the instance's keys here
-- are gone.
--
-- KEYS  1 fenced  2 open records of the instance  3 its withdrawn markers  4 org
-- ARGV  1 offset (us)  2 instance id  3 most records returned  4 seconds that a fence is kept
-- Returns done | left, field, record, field, record, ...
--   field                                                 admission id, or large:<admission id>
--!include time
--!include state

local fenced, open, withdrawn, org_data = unpack(KEYS)
local offset_us, instance_id, at_most, fence_keep_s = unpack(ARGV)

local now = now_us(offset_us)
local past = now - fence_keep_s * 1000000
redis.call('ZREMRANGEBYSCORE', fenced, '-inf', exact(past))
redis.call('ZADD', fenced, 'NX', exact(now), instance_id)
redis.call('EXPIRE', fenced, fence_keep_s)
-- Fence it in the organization too, where admit.lua looks. The field stays until nothing is left,
-- so that the instance can be found again.
local joined = joined_field(instance_id)
if redis.call('HEXISTS', org_data, joined) == 1 then redis.call('HSET', org_data, joined, FENCED) end

-- Withdrawn markers can go: the fence refuses whatever they would refuse.
local most = at_most + 0
local markers = redis.call('ZRANGE', withdrawn, 0, most - 1)
if #markers > 0 then
  redis.call('HDEL', open, unpack(markers))
  redis.call('ZREM', withdrawn, unpack(markers))
end
local reply = { 'left' }
local cursor = '0'
repeat
  local page = redis.call('HSCAN', open, cursor, 'COUNT', most)
  cursor = page[1]
  for i = 1, #page[2] do reply[#reply + 1] = page[2][i] end
until cursor == '0' or #reply > most
if #reply == 1 and redis.call('EXISTS', withdrawn) == 0 then
  redis.call('HDEL', org_data, joined)
  return { 'done' }
end
return reply
