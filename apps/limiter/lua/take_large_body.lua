-- Takes one of the organization's large-body slots for a request. Idempotent.
--
-- KEYS  1 fenced  2 org  3 open records of the instance
-- ARGV  1 offset (us)  2 instance id  3 field of the open records (large:<admission id>)  4 slots
--       5 restore (1, 0): the slot was taken before the live state was lost
-- Returns one of
--   taken | full
--   lease_lost                                            or the slot was released already
--   need_org | need_join                                  seed or register, and call again
--!include time
--!include state

if redis.call('ZSCORE', KEYS[1], ARGV[2]) then return { 'lease_lost' } end
local held = redis.call('HGET', KEYS[3], ARGV[3])
if held == 'void' then return { 'lease_lost' } end
if held then return { 'taken' } end
local org = read_org(KEYS[2], ARGV[2])
if not org then return { 'need_org' } end
if not org.joined then return { 'need_join' } end
local recovering = now_us(ARGV[1]) < org.opens_us
if ARGV[5] == '1' then
  if not recovering then return { 'lease_lost' } end
elseif recovering or (redis.call('HGET', KEYS[2], 'large') or 0) + 0 >= ARGV[4] + 0 then
  return { 'full' }
end
redis.call('HSET', KEYS[3], ARGV[3], '1')
redis.call('HINCRBY', KEYS[2], 'large', 1)
return { 'taken' }
