-- A window is a list of admission times in microseconds, newest first.
local WINDOW_US = 60000000
-- An idle list expires. Only the first admission of each second extends its life, so the life
-- exceeds the window by more than a second.
local WINDOW_TTL_S = '65'
local SECOND_US = 1000000

-- Returns the microseconds until one more admission fits, or 0 if it fits now. Only the limit-th
-- newest admission matters.
local function window_wait(window, limit, now)
  if limit < 1 then return WINDOW_US end
  local nth = redis.call('LINDEX', window, limit - 1)
  if not nth then return 0 end
  return math.max(0, nth + WINDOW_US - now)
end

-- Drops what has left the window, which includes at least the oldest entry. Finds the boundary from
-- the oldest end by doubling steps, then by bisection. Returns how many entries are left, and the
-- oldest of them.
local function window_drop_old(window, length, now)
  local old, young, oldest = 1, length, now
  local step = 2
  while step < length do
    local at = redis.call('LINDEX', window, exact(-step)) + 0
    if at + WINDOW_US > now then
      young, oldest = step, at
      break
    end
    old = step
    step = step * 2
  end
  while young - old > 1 do
    local middle = math.floor((old + young) / 2)
    local at = redis.call('LINDEX', window, exact(-middle)) + 0
    if at + WINDOW_US > now then young, oldest = middle, at else old = middle end
  end
  redis.call('LTRIM', window, '0', exact(-(old + 1)))
  return length - old, oldest
end

-- Counts one admission now; `at` is `now` as text. Returns how many the window holds, and the
-- microseconds until the oldest of them leaves it.
local function window_count(window, now, at)
  local newest = redis.call('LINDEX', window, '0')
  local length = redis.call('LPUSH', window, at)
  if not newest or math.floor(newest / SECOND_US) ~= math.floor(now / SECOND_US) then
    redis.call('EXPIRE', window, WINDOW_TTL_S)
  end
  local oldest = redis.call('LINDEX', window, '-1') + 0
  if oldest + WINDOW_US <= now then length, oldest = window_drop_old(window, length, now) end
  return length, oldest + WINDOW_US - now
end

-- Removes one admission made at the instant `at` (text).
local function window_withdraw(window, at, now)
  if at + WINDOW_US > now then redis.call('LREM', window, '1', at) end
end
