-- Writes an organization's current limits, unless those in Redis are at least as new. If this life
-- of the state is not the first, the state was lost before. The organization then opens only after
-- everything that was counted has run out or been restored.
--
-- KEYS  1 org
-- ARGV  1 offset (us)  2 life  3 it is the first (1, 0)  4 time to recover (us)  5 version
--       6 a version in Redis to be overwritten although it is newer, because Postgres is an older
--       copy; empty: none
--       7 and more: the limits, each a field of the organization and its value
-- Returns written | kept
--   recovering                                            written after a loss
--   another_life                                          lost since its life was read: start over
--!include time

local org_data = KEYS[1]
local offset_us, life, first_life, recover_us, version, overwritten = unpack(ARGV, 1, 6)

local org = redis.call('HMGET', org_data, 'life', 'version')
if org[1] ~= life then return { 'another_life' } end
if org[2] and org[2] + 0 >= version + 0 and org[2] ~= overwritten then return { 'kept' } end
redis.call('HSET', org_data, 'version', version, unpack(ARGV, 7))
if org[2] or first_life == '1' then return { 'written' } end
redis.call('HSET', org_data, 'opens_us', exact(now_us(offset_us) + recover_us))
return { 'recovering' }
