-- Records that an instance may hold something in an organization, so that the reaper knows where to
-- look. Runs before the instance holds anything there.
--
-- KEYS  1 lease  2 organizations of the instance
-- ARGV  1 organization id
-- Returns joined | lease_lost | unregistered

local lease_hash, orgs = unpack(KEYS)
local org_id = ARGV[1]

local lease = redis.call('HMGET', lease_hash, 'beat_ms', 'dead')
if lease[2] then return { 'lease_lost' } end
if not lease[1] then return { 'unregistered' } end
redis.call('SADD', orgs, org_id)
return { 'joined' }
