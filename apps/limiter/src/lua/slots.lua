-- Gives slots back. The count never goes below zero, and a hash that was lost is not recreated with
-- only a count.
local function release_slots(hash, field, count)
  if redis.call('HINCRBY', hash, field, exact(-count)) < 0 then redis.call('HDEL', hash, field) end
end
