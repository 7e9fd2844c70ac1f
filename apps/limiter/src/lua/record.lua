-- An open record has key_id, model_id, context, admitted_us, reserved_us, month and streamed, all
-- as text. Before the reservation, reserved_us is 0 and month is "-". Redis keeps the values in
-- this order, with blanks between them.

local function write_record(record)
  return record.key_id .. ' ' .. record.model_id .. ' ' .. record.context .. ' ' .. record.admitted_us .. ' '
    .. record.reserved_us .. ' ' .. record.month .. ' ' .. record.streamed
end

local function read_record(text)
  local record = {}
  record.key_id, record.model_id, record.context, record.admitted_us, record.reserved_us, record.month, record.streamed =
    string.match(text, '^(%S+) (%S+) (%d+) (%d+) (%d+) (%S+) (%d)$')
  return record
end
