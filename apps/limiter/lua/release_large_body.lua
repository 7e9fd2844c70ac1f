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

local held = redis.call('HGET', KEYS[3], ARGV[3])
if held == 'void' then return { 'unknown' } end
if not held then
  if not redis.call('ZSCORE', KEYS[1], ARGV[2]) then
    leave_void(KEYS[2], ARGV[2], KEYS[3], KEYS[4], ARGV[3], now_us(ARGV[1]))
  end
  return { 'unknown' }
end
redis.call('HDEL', KEYS[3], ARGV[3])
release_slot(KEYS[2], 'large')
return { 'released' }
