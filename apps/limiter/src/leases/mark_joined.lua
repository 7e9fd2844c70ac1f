-- Records in an organization that an instance is registered there (see join_org.lua). Nothing is
-- admitted for the instance before that. The mark is lost with the organization's state, so after
-- Redis has lost its data the instance is registered again.
--
-- KEYS  1 fenced  2 org  3 open records of the instance  4 its withdrawn markers
-- ARGV  1 instance id
-- Returns joined | lease_lost
--!include state

local fenced, org_data, open, withdrawn = unpack(KEYS)
local instance_id = ARGV[1]

if redis.call('ZSCORE', fenced, instance_id) then return { 'lease_lost' } end
redis.call('HSET', org_data, joined_field(instance_id), '1')
-- From now on the reaper removes them, so they must not expire (withdrawn.lua).
redis.call('PERSIST', open)
redis.call('PERSIST', withdrawn)
return { 'joined' }
