-- Ends a reservation: frees its slots, corrects the ledger of its month, and moves its record into
-- the outbox. Only the first call for an admission has an effect.
--
-- KEYS  1 org  2 key  3 open records of the instance  4 month  5 outbox
-- ARGV  1 admission id  2 key id of KEYS 2  3 month of KEYS 4  4 answered (1, 0)
--       5 usage valid (1, 0)  6 prompt tokens  7 completion tokens  8 duration (ms; "-": unknown)
--       9 error code ("-" when answered)
-- Returns one of
--   settled, outbox id, entry                             entry: see outbox/entry.ts
--   unknown                                               ended before, or never admitted
--   not_reserved
--   wrong_scope, key id, month                           of these: call again with their keys
--!include time
--!include record
--!include slots

local text = redis.call('HGET', KEYS[3], ARGV[1])
if not text or text == 'void' then return { 'unknown' } end
local key, model, context, _, reserved, month_name, streamed = read_record(text)
if reserved == '0' then return { 'not_reserved' } end
if key ~= ARGV[2] or month_name ~= ARGV[3] then return { 'wrong_scope', key, month_name } end

-- Without a complete answer and valid usage that fits, the full reservation stays charged.
local charged, prompt, completion = context, '-', '-'
local used = ARGV[6] + ARGV[7]
if ARGV[4] == '1' and ARGV[5] == '1' and used <= context + 0 then
  charged, prompt, completion = exact(used), ARGV[6], ARGV[7]
end

redis.call('HDEL', KEYS[3], ARGV[1])
release_slot(KEYS[1], 'in_flight')
release_slot(KEYS[2], 'in_flight')
local month = redis.call('HMGET', KEYS[4], 'charged', 'reserved')
if month[1] then
  redis.call('HSET', KEYS[4], 'charged', exact(month[1] + charged), 'reserved', exact(month[2] - context))
elseif month[2] then
  -- The reservation was restored before the month was read back from Postgres. Leave a note for
  -- seed_month.lua, because the totals from Postgres may not contain this settlement yet.
  redis.call('HINCRBY', KEYS[4], 'requests', '-1')
  redis.call('HSET', KEYS[4], 'reserved', exact(month[2] - context), 'settled:' .. ARGV[1], charged)
end
-- Microseconds to milliseconds.
local reserved_ms = string.sub(reserved, 1, -4)
local entry = ARGV[1] .. ' ' .. key .. ' ' .. model .. ' ' .. reserved_ms .. ' ' .. ARGV[4] .. ' ' .. ARGV[9] .. ' ' .. streamed .. ' '
  .. context .. ' ' .. prompt .. ' ' .. completion .. ' ' .. charged .. ' ' .. ARGV[8]
return { 'settled', redis.call('XADD', KEYS[5], '*', 's', entry), entry }
