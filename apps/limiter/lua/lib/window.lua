-- A window is a list of admission times in microseconds, newest first.
local WINDOW_US = 60000000
-- An idle list goes by itself. Its life is prolonged by the first admission of each second, hence it is longer than the window by more
-- than that.
local WINDOW_TTL_S = 65
local SECOND_US = 1000000

-- Microseconds until one more fits; 0 when it fits now. The limit-th newest admission alone decides.
local function window_wait(window, limit, now)
  if limit < 1 then return WINDOW_US end
  local nth = redis.call('LINDEX', window, limit - 1)
  if not nth then return 0 end
  return math.max(0, nth + WINDOW_US - now)
end

-- Drops what has left the window: finds its boundary from the oldest end by doubling steps, then by halving.
local function window_drop_old(window, length, now)
  local old, young = 1, length
  local step = 2
  while step < length do
    if redis.call('LINDEX', window, -step) + WINDOW_US > now then
      young = step
      break
    end
    old = step
    step = step * 2
  end
  while young - old > 1 do
    local middle = math.floor((old + young) / 2)
    if redis.call('LINDEX', window, -middle) + WINDOW_US > now then young = middle else old = middle end
  end
  redis.call('LTRIM', window, 0, -(old + 1))
  return length - old
end

-- Counts one admission now. Returns how many the window holds, and microseconds until the oldest of them leaves it.
local function window_count(window, now)
  local newest = redis.call('LINDEX', window, 0)
  local length = redis.call('LPUSH', window, exact(now))
  if not newest or math.floor(newest / SECOND_US) ~= math.floor(now / SECOND_US) then
    redis.call('EXPIRE', window, WINDOW_TTL_S)
  end
  local oldest = redis.call('LINDEX', window, -1) + 0
  if oldest + WINDOW_US <= now then
    length = window_drop_old(window, length, now)
    oldest = redis.call('LINDEX', window, -1) + 0
  end
  return length, oldest + WINDOW_US - now
end

-- Takes one admission of this instant back.
local function window_withdraw(window, admitted_us, now)
  if admitted_us + WINDOW_US > now then redis.call('LREM', window, 1, exact(admitted_us)) end
end
