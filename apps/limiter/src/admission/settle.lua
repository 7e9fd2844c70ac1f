-- Ends a reservation: frees its slots, corrects the ledger of its month, and moves its record into
-- the outbox. Only the first call for an admission has an effect.
--
-- KEYS  1 org  2 key  3 open records of the instance  4 month  5 outbox
-- ARGV  1 admission id  2 key id of KEYS 2  3 month of KEYS 4  4 answered (1, 0)
--       5 usage valid (1, 0)  6 prompt tokens  7 completion tokens  8 duration (ms; "-": unknown)
--       9 error code ("-" when answered)  10 first chunk (ms; "-": none, or unknown)
-- Returns one of
--   settled, outbox id, entry                             entry: see outbox/entry.ts
--   unknown                                               ended before, or never admitted
--   not_reserved
--   wrong_scope, key id, month                           of these: call again with their keys
--!include time
--!include record
--!include slots

local org_hash, key_hash, open, month_hash, outbox = unpack(KEYS)
local admission_id, key_id, month_name, answered, usage_valid, prompt_tokens, completion_tokens,
  duration_ms, error_code, first_chunk_ms = unpack(ARGV)

local text = redis.call('HGET', open, admission_id)
if not text or text == 'void' then return { 'unknown' } end
local record = read_record(text)
if record.reserved_us == '0' then return { 'not_reserved' } end
if record.key_id ~= key_id or record.month ~= month_name then
  return { 'wrong_scope', record.key_id, record.month }
end

-- Without a complete answer and valid usage that fits, the full reservation stays charged.
local context = record.context
local charged, prompt, completion = context, '-', '-'
local used = prompt_tokens + completion_tokens
if answered == '1' and usage_valid == '1' and used <= context + 0 then
  charged, prompt, completion = exact(used), prompt_tokens, completion_tokens
end

redis.call('HDEL', open, admission_id)
release_slot(org_hash, 'in_flight')
release_slot(key_hash, 'in_flight')
local month = redis.call('HMGET', month_hash, 'charged', 'reserved')
if month[1] then
  redis.call('HSET', month_hash, 'charged', exact(month[1] + charged), 'reserved', exact(month[2] - context))
elseif month[2] then
  -- The reservation was restored before the month was read back from Postgres. Leave a note for
  -- seed_month.lua, because the totals from Postgres may not contain this settlement yet.
  redis.call('HINCRBY', month_hash, 'requests', '-1')
  redis.call('HSET', month_hash, 'reserved', exact(month[2] - context), 'settled:' .. admission_id, charged)
end
-- Microseconds to milliseconds.
local reserved_ms = string.sub(record.reserved_us, 1, -4)
local entry = table.concat({
  admission_id, key_id, record.model_id, reserved_ms, answered, error_code, record.streamed, context,
  prompt, completion, charged, duration_ms, first_chunk_ms,
}, ' ')
return { 'settled', redis.call('XADD', outbox, '*', 's', entry), entry }
