-- Finds out who a key value belongs to and what it may call.
--
-- KEYS  1 org  2 key
-- ARGV  1 offset (us)  2 SHA-256 of the key value (hex)
-- Returns one of
--   principal, models ("*": all; else ids, space-separated), expires at (ms; 0: never),
--     images (1, 0)
--   key_invalid
--   need_key | need_org                                   seed it and call again
--!include time
--!include decisions

local org_data, key_data = unpack(KEYS)
local offset_us, key_hash = unpack(ARGV)

local key = redis.call('HMGET', key_data, 'state', 'hash', 'models', 'expires_at_ms')
if not key[1] then return { 'need_key' } end
if key[2] ~= key_hash then return { 'key_invalid' } end
local expires_at_ms = (key[4] or 0) + 0
local refusal = refuse_key({ state = key[1], expires_at_ms = expires_at_ms }, now_us(offset_us))
if refusal then return refusal end
local images = redis.call('HGET', org_data, 'images')
if not images then return { 'need_org' } end
return { 'principal', key[3], expires_at_ms, images }
