-- An open record has key_id, model_id, context_tokens, admitted_us, reserved_us, month and
-- streamed, all as text. Before the reservation, reserved_us is 0 and month is "-". Redis keeps the
-- values in this order, with spaces between them.

-- Stands in place of a record, or of a large-body slot (withdrawn.lua).
local WITHDRAWN = 'void'

local function write_record(record)
  return record.key_id .. ' ' .. record.model_id .. ' ' .. record.context_tokens .. ' '
    .. record.admitted_us .. ' ' .. record.reserved_us .. ' ' .. record.month .. ' ' .. record.streamed
end

local function read_record(text)
  local record = {}
  record.key_id, record.model_id, record.context_tokens, record.admitted_us, record.reserved_us, record.month,
    record.streamed =
    string.match(text, '^(%S+) (%S+) (%d+) (%d+) (%d+) (%S+) (%d)$')
  return record
end
