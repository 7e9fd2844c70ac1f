-- Puts the limits in force of an organization, unless those here are as new.
--
-- KEYS  1 org
-- ARGV  1 version  2 images (1, 0)  3 requests a minute  4 requests at once  5 requests a month  6 tokens a month
-- Returns written | kept

local version = redis.call('HGET', KEYS[1], 'version')
if version and version + 0 >= ARGV[1] + 0 then return { 'kept' } end
redis.call('HSET', KEYS[1], 'version', ARGV[1], 'images', ARGV[2], 'rpm', ARGV[3], 'at_once', ARGV[4], 'requests_month', ARGV[5],
  'tokens_month', ARGV[6])
return { 'written' }
