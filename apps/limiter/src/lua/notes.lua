local DAY_US = 86400000000

-- The field of a month that counts its `settled:` notes by the day of their reservations. Its name
-- has the number of the day since 1970, because a row in Postgres is found by its day. The notes
-- themselves have no room for the day: a limiter of the previous release reads them as numbers.
local function noted_day(reserved_us)
  return 'day:' .. exact(math.floor(reserved_us / DAY_US))
end
