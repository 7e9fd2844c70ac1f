-- Gives a large-body slot back. If the slot is not held yet, a later attempt to take it is refused.
-- Idempotent.
--
-- KEYS  1 fenced  2 org  3 open records of the instance  4 void markers
-- ARGV  1 offset (us)  2 instance id  3 field of the open records (large:<admission id>)
-- Returns released | unknown
--!include time
--!include slots
--!include state
--!include voids

local fenced, org_hash, open, voids = unpack(KEYS)
local offset_us, instance_id, field = unpack(ARGV)

local held = redis.call('HGET', open, field)
if held == 'void' then return { 'unknown' } end
if not held then
  if not redis.call('ZSCORE', fenced, instance_id) then
    leave_void(org_hash, instance_id, open, voids, field, now_us(offset_us))
  end
  return { 'unknown' }
end
redis.call('HDEL', open, field)
release_slots(org_hash, 'large', 1)
return { 'released' }
