-- Records in an organization that an instance is registered there (see join_org.lua). Nothing is
-- admitted for the instance before that. The mark is lost with the organization's state, so after
-- Redis has lost its data the instance is registered again.
--
-- KEYS  1 fenced  2 org  3 open records of the instance  4 its void markers
-- ARGV  1 instance id
-- Returns joined | lease_lost
--!include state

if redis.call('ZSCORE', KEYS[1], ARGV[1]) then return { 'lease_lost' } end
redis.call('HSET', KEYS[2], joined_field(ARGV[1]), '1')
-- From now on the reaper removes them, so they must not expire (voids.lua).
redis.call('PERSIST', KEYS[3])
redis.call('PERSIST', KEYS[4])
return { 'joined' }
