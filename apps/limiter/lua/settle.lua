-- Ends a reservation: frees its slots, corrects the ledger of its month, and moves its record into the outbox. Only the first call
-- for an admission does anything.
--
-- KEYS  1 org  2 key  3 open records of the instance  4 month  5 outbox
-- ARGV  1 admission id  2 key id of KEYS 2  3 month of KEYS 4  4 answered (1, 0)  5 usage valid (1, 0)  6 prompt tokens
--       7 completion tokens  8 duration (ms; "-": unknown)  9 error code ("-" when answered)
-- Returns one of
--   settled, outbox id, entry                             entry: see outbox/entry.ts
--   unknown                                               settled or withdrawn before, or never admitted
--   not_reserved
--   elsewhere, key id, month                              the reservation is of this key and month: call again with their keys
--!include time
--!include record
--!include slots

local text = redis.call('HGET', KEYS[3], ARGV[1])
if not text or text == 'void' then return { 'unknown' } end
local record = read_record(text)
if record.reserved == 0 then return { 'not_reserved' } end
if record.key ~= ARGV[2] or record.month ~= ARGV[3] then return { 'elsewhere', record.key, record.month } end

-- Without a complete answer and valid usage that fits, the full reservation stays charged.
local charged, prompt, completion = record.context, '-', '-'
local used = ARGV[6] + ARGV[7]
if ARGV[4] == '1' and ARGV[5] == '1' and used <= record.context then
  charged, prompt, completion = used, ARGV[6], ARGV[7]
end

redis.call('HDEL', KEYS[3], ARGV[1])
release_slot(KEYS[1], 'in_flight')
release_slot(KEYS[2], 'in_flight')
local month = redis.call('HMGET', KEYS[4], 'charged', 'reserved')
if month[1] then
  redis.call('HSET', KEYS[4], 'charged', exact(month[1] + charged), 'reserved', exact(month[2] - record.context))
elseif month[2] then
  -- Restored in a month that is not read back from Postgres yet: whoever does that must know what Postgres may not.
  redis.call('HINCRBY', KEYS[4], 'requests', -1)
  redis.call('HSET', KEYS[4], 'reserved', exact(month[2] - record.context), 'settled:' .. ARGV[1], exact(charged))
end
local entry = table.concat({
  ARGV[1], record.key, record.model, exact(math.floor(record.reserved / 1000)), ARGV[4], ARGV[9], record.streamed,
  exact(record.context), prompt, completion, exact(charged), ARGV[8],
}, ' ')
local id = redis.call('XADD', KEYS[5], '*', 's', entry)
return { 'settled', id, entry }
