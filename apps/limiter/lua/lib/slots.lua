-- Gives one slot back. A count never goes below zero, and a hash that had gone is not left with a count alone.
local function release_slot(hash, field)
  if redis.call('HINCRBY', hash, field, -1) < 0 then redis.call('HDEL', hash, field) end
end
