-- Takes an admission and its reservation back as if they had never happened. If the admission is
-- unknown here, its admit call may still be on the way: a marker refuses it when it arrives.
-- Idempotent.
--
-- KEYS  1 fenced  2 org  3 key  4 key's window  5 org's window  6 open records of the instance
--       7 withdrawn markers  8 month
-- ARGV  1 offset (us)  2 instance id  3 admission id  4 key id of KEYS 3 and 4  5 month of KEYS 8
-- Returns one of
--   withdrawn | unknown
--   wrong_scope, key id, month ("-": not reserved)        the real ones: call again with their keys
--!include time
--!include window
--!include record
--!include slots
--!include state
--!include withdrawn

local fenced, org_data, key_data, key_window, org_window, open, withdrawn, month_data = unpack(KEYS)
local offset_us, instance_id, admission_id, key_id, month_name = unpack(ARGV)

local now = now_us(offset_us)
local text = redis.call('HGET', open, admission_id)
if not text then
  -- A fenced instance is refused whatever it sends.
  if not redis.call('ZSCORE', fenced, instance_id) then
    mark_withdrawn(org_data, instance_id, open, withdrawn, admission_id, now)
  end
  return { 'unknown' }
end
if text == WITHDRAWN then return { 'unknown' } end

local record = read_record(text)
local reserved = record.reserved_us ~= '0'
if record.key_id ~= key_id or (reserved and record.month ~= month_name) then
  return { 'wrong_scope', record.key_id, record.month }
end

redis.call('HDEL', open, admission_id)
window_withdraw(key_window, record.admitted_us, now)
window_withdraw(org_window, record.admitted_us, now)
release_slots(org_data, 'in_flight', 1)
release_slots(key_data, 'in_flight', 1)
if reserved and redis.call('EXISTS', month_data) == 1 then
  redis.call('HINCRBY', month_data, 'requests', '-1')
  redis.call('HINCRBY', month_data, 'reserved', exact(-record.context_tokens))
end
mark_against_restore(org_data, instance_id, open, withdrawn, admission_id, now)
return { 'withdrawn' }
