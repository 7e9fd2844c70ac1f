-- An open record: "keyId modelId contextTokens admittedUs reservedUs month streamed". Before the
-- reservation, reservedUs is 0 and month is "-". All values are text.
local function write_record(key, model, context, admitted, reserved, month, streamed)
  return key .. ' ' .. model .. ' ' .. context .. ' ' .. admitted .. ' ' .. reserved .. ' ' .. month .. ' ' .. streamed
end

-- Returns the values that write_record was given.
local function read_record(text)
  return string.match(text, '^(%S+) (%S+) (%d+) (%d+) (%d+) (%S+) (%d)$')
end
