local VOID_KEEP_US = 600000000

-- Refuses what an overtaken call is yet to bring: marks it in the open records. Markers older than 10 minutes go, a few a call.
local function leave_void(open, voids, field, now)
  redis.call('HSET', open, field, 'void')
  redis.call('ZADD', voids, exact(now), field)
  local past = redis.call('ZRANGEBYSCORE', voids, '-inf', exact(now - VOID_KEEP_US), 'LIMIT', 0, 8)
  for _, old in ipairs(past) do
    redis.call('ZREM', voids, old)
    if redis.call('HGET', open, old) == 'void' then redis.call('HDEL', open, old) end
  end
end
