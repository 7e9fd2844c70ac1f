-- The readers below return nil if the state has not been seeded.
--
-- An organization whose state was lost admits again only from `opens_us` on. Until then the lost
-- windows run out, and gateways restore what they hold.

-- The field in which an organization records that an instance is registered there.
local function joined_field(instance)
  return 'in:' .. instance
end
-- The value of that field once the instance's lease is lost.
local FENCED = '0'

-- `joined` is that field's value for the given instance, if one is given.
local function read_org(hash, instance)
  local org = redis.call('HMGET', hash, 'version', 'images', 'rpm', 'at_once', 'requests_month', 'tokens_month', 'in_flight',
    joined_field(instance or ''), 'opens_us')
  if not org[1] then return nil end
  return {
    images = org[2], rpm = org[3] + 0, at_once = org[4] + 0, requests_month = org[5] + 0, tokens_month = org[6] + 0,
    in_flight = (org[7] or 0) + 0, joined = org[8], opens_us = (org[9] or 0) + 0,
  }
end

local function read_key(hash)
  local key = redis.call('HMGET', hash, 'state', 'rpm', 'at_once', 'expires_at_ms', 'in_flight')
  if not key[1] then return nil end
  -- A tombstone has only a state.
  return {
    state = key[1], rpm = (key[2] or 0) + 0, at_once = (key[3] or 0) + 0, expires_at_ms = (key[4] or 0) + 0,
    in_flight = (key[5] or 0) + 0,
  }
end

local function read_month(hash)
  local month = redis.call('HMGET', hash, 'requests', 'charged', 'reserved')
  if not month[2] then return nil end
  return { requests = month[1] + 0, charged = month[2] + 0, reserved = month[3] + 0 }
end
