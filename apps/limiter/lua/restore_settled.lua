-- Restores a settlement that was lost with its organization's live state, as its gateway remembers
-- it. The admission holds nothing any more. Works only while the organization recovers, when the
-- month has not been read back yet. Idempotent.
--
-- KEYS  1 org  2 open records of the instance  3 month  4 outbox
-- ARGV  1 offset (us)  2 admission id  3 charged tokens  4 outbox entry
--       5 seconds that the month is kept
-- Returns one of
--   settled, outbox id
--   present                                               or restored as open, to be settled soon
--   too_late
--   need_org                                              seed it and call again
--!include time
--!include state

local org = read_org(KEYS[1])
if not org then return { 'need_org' } end
if now_us(ARGV[1]) >= org.opens_us then return { 'too_late' } end
if redis.call('HEXISTS', KEYS[2], ARGV[2]) == 1 then return { 'present' } end
if redis.call('HSETNX', KEYS[3], 'settled:' .. ARGV[2], ARGV[3]) == 0 then return { 'present' } end
redis.call('EXPIRE', KEYS[3], ARGV[5])
return { 'settled', redis.call('XADD', KEYS[4], '*', 's', ARGV[4]) }
