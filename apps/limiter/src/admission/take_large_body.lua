-- Takes one of the organization's large-body slots for a request. Idempotent.
--
-- KEYS  1 fenced  2 org  3 open records of the instance
-- ARGV  1 offset (us)  2 instance id  3 field of the open records (large:<admission id>)  4 slots
--       5 restore (1, 0): the slot was taken before the live state was lost
-- Returns one of
--   taken | full
--   recovering, wait (us)                                 of an organization whose state was lost
--   lease_lost                                            or released already, or restored too late
--   need_org | need_join                                  seed or register, and call again
--!include time
--!include record
--!include state

local fenced, org_data, open = unpack(KEYS)
local offset_us, instance_id, field, slots, restore = unpack(ARGV)

if redis.call('ZSCORE', fenced, instance_id) then return { 'lease_lost' } end
local held = redis.call('HGET', open, field)
if held == WITHDRAWN then return { 'lease_lost' } end
if held then return { 'taken' } end
local org = read_org(org_data, instance_id)
if not org then return { 'need_org' } end
if not org.joined then return { 'need_join' } end
local recovering_us = org.opens_us - now_us(offset_us)
if restore == '1' then
  if recovering_us <= 0 then return { 'lease_lost' } end
elseif recovering_us > 0 then
  return { 'recovering', recovering_us }
elseif (redis.call('HGET', org_data, 'large') or 0) + 0 >= slots + 0 then
  return { 'full' }
end
redis.call('HSET', open, field, '1')
redis.call('HINCRBY', org_data, 'large', 1)
return { 'taken' }
