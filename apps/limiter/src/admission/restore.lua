-- Restores an admission that was lost with its organization's live state: its slots and, if it had
-- one, its reservation. No limit is checked, because it was admitted before. Works only while the
-- organization recovers, when nothing new has been admitted in its place. Idempotent.
--
-- KEYS  1 fenced  2 org  3 key  4 open records of the instance  5 month
-- ARGV  1 offset (us)  2 instance id  3 admission id  4 seconds that the month is kept
--       5 key id  6 model id  7 context tokens  8 admitted (us)  9 reserved (us), 0: not reserved
--       10 month ("-": not reserved)  11 streamed (1, 0)
-- Returns one of
--   restored
--   present                                               or settled since it was restored
--   lease_lost                                            or withdrawn already, or too late
--   need_org | need_join                                  seed or register, and call again
--!include time
--!include record
--!include state

local fenced, org_data, key_data, open, month_data = unpack(KEYS)
local offset_us, instance_id, admission_id, month_keep_s, key_id, model_id, context_tokens,
  admitted_us, reserved_us, month, streamed = unpack(ARGV)

if redis.call('ZSCORE', fenced, instance_id) then return { 'lease_lost' } end
local org = read_org(org_data, instance_id)
if not org then return { 'need_org' } end
if not org.joined then return { 'need_join' } end
local held = redis.call('HGET', open, admission_id)
if held == WITHDRAWN then return { 'lease_lost' } end
if held then return { 'present' } end
if now_us(offset_us) >= org.opens_us then return { 'lease_lost' } end
-- A repeat may arrive after the settlement. Restored again, the admission would hold its slots for
-- ever and be charged twice. settle.lua and restore_settled.lua leave this note.
if month ~= '-' and redis.call('HEXISTS', month_data, 'settled:' .. admission_id) == 1 then return { 'present' } end
redis.call('HSET', open, admission_id, write_record({
  key_id = key_id, model_id = model_id, context_tokens = context_tokens,
  admitted_us = admitted_us, reserved_us = reserved_us, month = month, streamed = streamed,
}))
redis.call('HINCRBY', org_data, 'in_flight', 1)
redis.call('HINCRBY', key_data, 'in_flight', 1)
if month ~= '-' then
  redis.call('HINCRBY', month_data, 'requests', 1)
  redis.call('HINCRBY', month_data, 'reserved', context_tokens)
  redis.call('EXPIRE', month_data, month_keep_s)
end
return { 'restored' }
