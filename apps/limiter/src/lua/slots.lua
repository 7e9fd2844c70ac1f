-- Gives one slot back. The count never goes below zero, and a hash that was lost is not recreated
-- with only a count.
local function release_slot(hash, field)
  if redis.call('HINCRBY', hash, field, '-1') < 0 then redis.call('HDEL', hash, field) end
end
