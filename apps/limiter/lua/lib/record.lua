-- An open record: "keyId modelId contextTokens admittedUs reservedUs month streamed". reservedUs is 0 and month "-" until the
-- reservation.
local function write_record(record)
  return table.concat({
    record.key, record.model, record.context, exact(record.admitted), exact(record.reserved), record.month, record.streamed,
  }, ' ')
end

local function read_record(text)
  local key, model, context, admitted, reserved, month, streamed =
    string.match(text, '^(%S+) (%S+) (%d+) (%d+) (%d+) (%S+) (%d)$')
  return {
    key = key, model = model, context = context + 0, admitted = admitted + 0, reserved = reserved + 0, month = month,
    streamed = streamed,
  }
end
