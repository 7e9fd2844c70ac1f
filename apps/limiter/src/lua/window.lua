-- A window is a list of admission times in microseconds, newest first. A script opens it, asks and
-- counts in memory, and writes what it counted at the end.
local WINDOW_US = 60000000
-- An idle list expires. Only the first admission of each second extends its life, so the life
-- exceeds the window by more than a second.
local WINDOW_TTL_S = '65'
local SECOND_US = 1000000

-- `length` is the list's length, `counted` how many more admissions this script has counted.
local function open_window(name)
  return { name = name, length = redis.call('LLEN', name), counted = 0 }
end

-- Returns the microseconds until one more admission fits, or 0 if it fits now. Only the limit-th
-- newest admission matters.
local function window_wait(window, limit, now)
  local index = limit - 1 - window.counted
  if window.length <= index then return 0 end
  -- That one was counted just now, or the limit is 0 and nothing ever fits.
  if index < 0 then return WINDOW_US end
  return math.max(0, redis.call('LINDEX', window.name, exact(index)) + WINDOW_US - now)
end

-- Drops what has left the window, and notes the oldest that remains, or `now` if none does. Finds
-- the boundary from the oldest end by doubling steps, then by bisection.
local function window_drop_old(window, now)
  local name, length = window.name, window.length
  window.oldest = now
  if length == 0 then return end
  local at = redis.call('LINDEX', name, '-1') + 0
  if at + WINDOW_US > now then
    window.oldest = at
    return
  end
  -- Positions from the oldest end: `old` has left the window, `young` has not.
  local old, young = 1, length + 1
  local step = 2
  while step < young do
    at = redis.call('LINDEX', name, exact(-step)) + 0
    if at + WINDOW_US > now then
      young, window.oldest = step, at
      break
    end
    old = step
    step = step * 2
  end
  while young - old > 1 do
    local middle = math.floor((old + young) / 2)
    at = redis.call('LINDEX', name, exact(-middle)) + 0
    if at + WINDOW_US > now then young, window.oldest = middle, at else old = middle end
  end
  redis.call('LTRIM', name, '0', exact(-young))
  window.length = length - old
end

-- Counts one admission now. Returns how many the window holds, and the microseconds until the
-- oldest of them leaves it.
local function window_count(window, now)
  if window.counted == 0 then window_drop_old(window, now) end
  window.counted = window.counted + 1
  return window.length + window.counted, window.oldest + WINDOW_US - now
end

-- Writes what has been counted; `at` is `now` as text.
local function write_window(window, now, at)
  local name, counted = window.name, window.counted
  if counted == 0 then return end
  local newest = window.length > 0 and redis.call('LINDEX', name, '0')
  local times = {}
  for i = 1, counted do times[i] = at end
  redis.call('LPUSH', name, unpack(times))
  if not newest or math.floor(newest / SECOND_US) ~= math.floor(now / SECOND_US) then
    redis.call('EXPIRE', name, WINDOW_TTL_S)
  end
end

-- Removes one admission made at the instant `at` (text).
local function window_withdraw(name, at, now)
  if at + WINDOW_US > now then redis.call('LREM', name, '1', at) end
end
