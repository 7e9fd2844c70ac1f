-- Ends reservations of one organization, one instance and one month: frees their slots, corrects
-- the ledger of the month, and moves their records into the outbox. Only the first call for an
-- admission has an effect.
--
-- KEYS  1 org  2 open records of the instance  3 month  4 outbox
--       then of each admission: key
-- ARGV  1 month of KEYS 3
--       then of each admission: id, key id of its key, answered (1, 0), usage valid (1, 0),
--       prompt tokens, completion tokens, duration (ms; "-": unknown), error code ("-" when
--       answered), first chunk (ms; "-": none, or unknown)
-- Returns for each admission one of
--   settled, outbox id, entry                             entry: see outbox/entry.ts
--   unknown                                               ended before, or never admitted
--   not_reserved
--   wrong_scope, key id, month                            the real ones: call again with their keys
--!include time
--!include record
--!include slots
--!include notes

local org_data, open, month_data, outbox = unpack(KEYS, 1, 4)
local month_name = ARGV[1]
local FIRST_KEY, FIRST_ARG, ARGS_EACH = 5, 2, 9
local admissions = (#ARGV - FIRST_ARG + 1) / ARGS_EACH

local ids = {}
for i = 1, admissions do ids[i] = ARGV[FIRST_ARG + (i - 1) * ARGS_EACH] end
local records = redis.call('HMGET', open, unpack(ids))

local ended, ended_ids, slots = {}, {}, {}
-- `freed` and `spent` are in tokens. `notes` are fields and values for seeder.ts, and `noted_us`
-- says when each reservation in them was made.
local freed, spent, notes, noted_us = 0, 0, {}, {}

-- Returns the reply. The outbox id of a settled reservation is filled in later.
local function decide(i)
  local first = FIRST_ARG + (i - 1) * ARGS_EACH
  local id, key_id, answered, usage_valid, prompt_tokens, completion_tokens, duration_ms, error_code, first_chunk_ms =
    unpack(ARGV, first, first + ARGS_EACH - 1)
  local text = records[i]
  if not text or text == WITHDRAWN or ended[id] then return { 'unknown' } end
  local record = read_record(text)
  if record.reserved_us == '0' then return { 'not_reserved' } end
  if record.key_id ~= key_id or record.month ~= month_name then
    return { 'wrong_scope', record.key_id, record.month }
  end

  -- Without a complete answer and valid usage that fits, the full reservation stays charged.
  local context_tokens = record.context_tokens
  local charged, prompt, completion = context_tokens, '-', '-'
  local used = prompt_tokens + completion_tokens
  if answered == '1' and usage_valid == '1' and used <= context_tokens + 0 then
    charged, prompt, completion = exact(used), prompt_tokens, completion_tokens
  end

  ended[id] = true
  ended_ids[#ended_ids + 1] = id
  local key_data = KEYS[FIRST_KEY + i - 1]
  slots[key_data] = (slots[key_data] or 0) + 1
  freed, spent = freed + context_tokens, spent + charged
  notes[#notes + 1] = 'settled:' .. id
  notes[#notes + 1] = charged
  noted_us[#noted_us + 1] = record.reserved_us
  -- Microseconds to milliseconds.
  local reserved_ms = string.sub(record.reserved_us, 1, -4)
  return {
    'settled', '',
    -- In the order of outbox/entry.ts.
    table.concat({
      id, key_id, record.model_id, reserved_ms, answered, error_code, record.streamed, context_tokens,
      prompt, completion, charged, duration_ms, first_chunk_ms,
    }, ' '),
  }
end

local replies = {}
for i = 1, admissions do replies[i] = decide(i) end
if #ended_ids == 0 then return replies end

redis.call('HDEL', open, unpack(ended_ids))
release_slots(org_data, 'in_flight', #ended_ids)
for key_data, count in pairs(slots) do release_slots(key_data, 'in_flight', count) end
local month = redis.call('HMGET', month_data, 'charged', 'reserved')
if month[1] then
  redis.call('HSET', month_data, 'charged', exact(month[1] + spent), 'reserved', exact(month[2] - freed))
elseif month[2] then
  -- The reservations were restored before the month was read back from Postgres. Leave notes for
  -- seeder.ts, because the totals from Postgres may not contain these settlements yet.
  redis.call('HINCRBY', month_data, 'requests', exact(-#ended_ids))
  redis.call('HSET', month_data, 'reserved', exact(month[2] - freed), unpack(notes))
  for _, reserved_us in ipairs(noted_us) do redis.call('HINCRBY', month_data, noted_day(reserved_us), 1) end
end
for _, reply in ipairs(replies) do
  if reply[1] == 'settled' then reply[2] = redis.call('XADD', outbox, '*', 's', reply[3]) end
end
return replies
