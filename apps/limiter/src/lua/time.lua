-- Redis' clock plus the tests' offset, in microseconds.
local function now_us(offset_us)
  local time = redis.call('TIME')
  return time[1] * 1000000 + time[2] + offset_us
end

-- Below this, %d is exact on every machine and costs less than half of %.0f.
local INTEGER = 2147483648

-- A whole number as text. Lua's own conversion keeps only 14 digits, but a time in microseconds has
-- 16. Text is also a cheaper argument of redis.call, since Redis prints numbers with 17 digits.
local function exact(number)
  if number < INTEGER and number > -INTEGER then return string.format('%d', number) end
  return string.format('%.0f', number)
end
