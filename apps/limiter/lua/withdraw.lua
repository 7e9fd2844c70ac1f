-- Takes an admission and its reservation back as if they had never been. If the admission is
-- unknown, it is refused should it arrive later. Idempotent.
--
-- KEYS  1 fenced  2 org  3 key  4 key's window  5 org's window  6 open records of the instance
--       7 void markers  8 month
-- ARGV  1 offset (us)  2 instance id  3 admission id  4 key id of KEYS 3 and 4  5 month of KEYS 8
-- Returns one of
--   withdrawn | unknown
--   wrong_scope, key id, month ("-": not reserved)       of these: call again with their keys
--!include time
--!include window
--!include record
--!include slots
--!include state
--!include voids

local now = now_us(ARGV[1])
local text = redis.call('HGET', KEYS[6], ARGV[3])
if not text then
  -- A fenced instance is refused whatever it sends.
  if not redis.call('ZSCORE', KEYS[1], ARGV[2]) then
    leave_void(KEYS[2], ARGV[2], KEYS[6], KEYS[7], ARGV[3], now)
  end
  return { 'unknown' }
end
if text == 'void' then return { 'unknown' } end

local key, _, context, admitted, reserved, month = read_record(text)
if key ~= ARGV[4] or (reserved ~= '0' and month ~= ARGV[5]) then return { 'wrong_scope', key, month } end

redis.call('HDEL', KEYS[6], ARGV[3])
window_withdraw(KEYS[4], admitted, now)
window_withdraw(KEYS[5], admitted, now)
release_slot(KEYS[2], 'in_flight')
release_slot(KEYS[3], 'in_flight')
if reserved ~= '0' and redis.call('EXISTS', KEYS[8]) == 1 then
  redis.call('HINCRBY', KEYS[8], 'requests', '-1')
  redis.call('HINCRBY', KEYS[8], 'reserved', exact(-context))
end
return { 'withdrawn' }
