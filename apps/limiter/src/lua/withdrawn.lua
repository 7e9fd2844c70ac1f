local MARKER_KEEP_US = 600000000
-- Longer than any single marker is kept, because the whole key expires at once.
local UNJOINED_TTL_S = 1200

-- Leaves a marker in the open records that refuses a call which was overtaken and has yet to
-- arrive. Each call also drops a few markers older than 10 minutes. An instance that has not joined
-- may never join, and then no reaper cleans up after it. So until it joins (mark_joined.lua), its
-- keys expire by themselves.
local function mark_withdrawn(org, instance, open, withdrawn, field, now)
  redis.call('HSET', open, field, WITHDRAWN)
  redis.call('ZADD', withdrawn, exact(now), field)
  local past = redis.call('ZRANGEBYSCORE', withdrawn, '-inf', exact(now - MARKER_KEEP_US), 'LIMIT', 0, 8)
  for _, old in ipairs(past) do
    redis.call('ZREM', withdrawn, old)
    if redis.call('HGET', open, old) == WITHDRAWN then redis.call('HDEL', open, old) end
  end
  if redis.call('HEXISTS', org, joined_field(instance)) == 0 then
    redis.call('EXPIRE', open, UNJOINED_TTL_S)
    redis.call('EXPIRE', withdrawn, UNJOINED_TTL_S)
  end
end

-- While an organization recovers, leaves a marker even for something that was held: a repeat of its
-- restore may still be on the way. Once the organization is open, such a repeat comes too late.
local function mark_against_restore(org, instance, open, withdrawn, field, now)
  local opens_us = redis.call('HGET', org, 'opens_us')
  if opens_us and now < opens_us + 0 then mark_withdrawn(org, instance, open, withdrawn, field, now) end
end
