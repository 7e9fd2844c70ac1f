-- Redis' clock plus the offset of the tests, in microseconds.
local function now_us(offset_us)
  local time = redis.call('TIME')
  return time[1] * 1000000 + time[2] + offset_us
end

-- Lua writes large numbers with 14 digits; a microsecond has 16.
local function exact(number)
  return string.format('%.0f', number)
end
