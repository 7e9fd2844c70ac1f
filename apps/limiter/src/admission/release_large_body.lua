-- Gives a large-body slot back. A later attempt to take or restore it is refused. Idempotent.
--
-- KEYS  1 fenced  2 org  3 open records of the instance  4 withdrawn markers
-- ARGV  1 offset (us)  2 instance id  3 field of the open records (large:<admission id>)
-- Returns released | unknown
--!include time
--!include record
--!include slots
--!include state
--!include withdrawn

local fenced, org_data, open, withdrawn = unpack(KEYS)
local offset_us, instance_id, field = unpack(ARGV)

local held = redis.call('HGET', open, field)
if held == WITHDRAWN then return { 'unknown' } end
if not held then
  if not redis.call('ZSCORE', fenced, instance_id) then
    mark_withdrawn(org_data, instance_id, open, withdrawn, field, now_us(offset_us))
  end
  return { 'unknown' }
end
redis.call('HDEL', open, field)
release_slots(org_data, 'large', 1)
mark_against_restore(org_data, instance_id, open, withdrawn, field, now_us(offset_us))
return { 'released' }
