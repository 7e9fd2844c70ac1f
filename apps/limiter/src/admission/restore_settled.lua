-- Restores a settlement that was lost with its organization's live state, as its gateway remembers
-- it. The admission holds nothing any more. Works only while the organization recovers, when the
-- month has not been read back yet. Idempotent.
--
-- KEYS  1 org  2 open records of the instance  3 month  4 outbox
-- ARGV  1 offset (us)  2 admission id  3 charged tokens  4 outbox entry
--       5 seconds that the month is kept  6 reserved (us)
-- Returns one of
--   settled, outbox id
--   present                                               or restored as open, to be settled soon
--   too_late
--   need_org                                              seed it and call again
--!include time
--!include state
--!include notes

local org_data, open, month_data, outbox = unpack(KEYS)
local offset_us, admission_id, charged_tokens, entry, month_keep_s, reserved_us = unpack(ARGV)

local org = read_org(org_data)
if not org then return { 'need_org' } end
if now_us(offset_us) >= org.opens_us then return { 'too_late' } end
if redis.call('HEXISTS', open, admission_id) == 1 then return { 'present' } end
if redis.call('HSETNX', month_data, 'settled:' .. admission_id, charged_tokens) == 0 then return { 'present' } end
redis.call('HINCRBY', month_data, noted_day(reserved_us), 1)
redis.call('EXPIRE', month_data, month_keep_s)
return { 'settled', redis.call('XADD', outbox, '*', 's', entry) }
