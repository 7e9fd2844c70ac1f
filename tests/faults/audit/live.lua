-- Returns the live state of one organization at one instant, as JSON.
-- KEYS  1 org hash   ARGV  1 prefix with the organization's hash tag   2 month
local open, reserved, large, keys, instances = 0, 0, 0, {}, {}
for _, name in ipairs(redis.call('KEYS', ARGV[1] .. 'open:*')) do
  local all = redis.call('HGETALL', name)
  local before = open + large
  for i = 1, #all, 2 do
    if string.sub(all[i], 1, 6) == 'large:' then
      if all[i + 1] ~= 'void' then large = large + 1 end
    elseif all[i + 1] ~= 'void' then
      local key, _, context, _, at, month = string.match(all[i + 1], '^(%S+) (%S+) (%d+) (%d+) (%d+) (%S+)')
      open = open + 1
      keys[key] = (keys[key] or 0) + 1
      if at ~= '0' and month == ARGV[2] then reserved = reserved + context end
    end
  end
  if open + large > before then instances[string.match(name, 'open:(.+)$')] = open + large - before end
end
local counted = {}
for _, name in ipairs(redis.call('KEYS', ARGV[1] .. 'key:*')) do
  local n = (redis.call('HGET', name, 'in_flight') or 0) + 0
  local id = string.match(name, 'key:(.+)$')
  counted[#counted + 1] = { id, n, keys[id] or 0 }
end
local month = redis.call('HMGET', ARGV[1] .. 'month:' .. ARGV[2], 'requests', 'charged', 'reserved')
return cjson.encode({
  open = open, openReserved = reserved, openLarge = large, keys = counted,
  inFlight = (redis.call('HGET', KEYS[1], 'in_flight') or 0) + 0,
  large = (redis.call('HGET', KEYS[1], 'large') or 0) + 0,
  requests = (month[1] or 0) + 0, charged = (month[2] or 0) + 0, reserved = (month[3] or 0) + 0,
  opensMs = math.floor((redis.call('HGET', KEYS[1], 'opens_us') or 0) / 1000),
  outbox = redis.call('XLEN', ARGV[1] .. 'outbox'), instances = instances,
})
