-- Takes one of the organization's large-body slots for a request. Idempotent.
--
-- KEYS  1 fenced  2 org  3 open records of the instance
-- ARGV  1 instance id  2 field of the open records (large:<admission id>)  3 slots
-- Returns one of
--   taken | full | lease_lost                             lease_lost also: released before
--   need_join                                             register the instance here and call again
--!include state

if redis.call('ZSCORE', KEYS[1], ARGV[1]) then return { 'lease_lost' } end
local held = redis.call('HGET', KEYS[3], ARGV[2])
if held == 'void' then return { 'lease_lost' } end
if held then return { 'taken' } end
if redis.call('HEXISTS', KEYS[2], joined_field(ARGV[1])) == 0 then return { 'need_join' } end
if (redis.call('HGET', KEYS[2], 'large') or 0) + 0 >= ARGV[3] + 0 then return { 'full' } end
redis.call('HSET', KEYS[3], ARGV[2], '1')
redis.call('HINCRBY', KEYS[2], 'large', 1)
return { 'taken' }
