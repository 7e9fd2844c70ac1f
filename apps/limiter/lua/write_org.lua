-- Writes an organization's current limits, unless those in Redis are as new. If this life of the
-- state is not the first, the state was lost before. The organization then opens only after
-- everything that was counted has run out or been restored.
--
-- KEYS  1 org
-- ARGV  1 offset (us)  2 life  3 it is the first (1, 0)  4 time to recover (us)  5 version
--       6 images (1, 0)  7 requests a minute  8 requests at once  9 requests a month
--       10 tokens a month
-- Returns written | kept
--   recovering                                            written after a loss
--   another_life                                          lost since its life was read: start over
--!include time

local org = redis.call('HMGET', KEYS[1], 'life', 'version')
if org[1] ~= ARGV[2] then return { 'another_life' } end
if org[2] and org[2] + 0 >= ARGV[5] + 0 then return { 'kept' } end
redis.call('HSET', KEYS[1], 'version', ARGV[5], 'images', ARGV[6], 'rpm', ARGV[7], 'at_once', ARGV[8], 'requests_month', ARGV[9],
  'tokens_month', ARGV[10])
if org[2] or ARGV[3] == '1' then return { 'written' } end
redis.call('HSET', KEYS[1], 'opens_us', exact(now_us(ARGV[1]) + ARGV[4]))
return { 'recovering' }
