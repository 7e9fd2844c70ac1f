-- Restores an admission that was lost with its organization's live state: its slots and, if it had
-- one, its reservation. No limit is checked, because it was admitted before. Works only while the
-- organization recovers, when nothing new has been admitted in its place. Idempotent.
--
-- KEYS  1 fenced  2 org  3 key  4 open records of the instance  5 month
-- ARGV  1 offset (us)  2 instance id  3 admission id  4 record
--       5 tokens reserved ("-": not reserved)  6 seconds that the month is kept
-- Returns one of
--   restored | present
--   lease_lost                                            or withdrawn already, or too late
--   need_org | need_join                                  seed or register, and call again
--!include time
--!include state

if redis.call('ZSCORE', KEYS[1], ARGV[2]) then return { 'lease_lost' } end
local org = read_org(KEYS[2], ARGV[2])
if not org then return { 'need_org' } end
if not org.joined then return { 'need_join' } end
local held = redis.call('HGET', KEYS[4], ARGV[3])
if held == 'void' then return { 'lease_lost' } end
if held then return { 'present' } end
if now_us(ARGV[1]) >= org.opens_us then return { 'lease_lost' } end
redis.call('HSET', KEYS[4], ARGV[3], ARGV[4])
redis.call('HINCRBY', KEYS[2], 'in_flight', 1)
redis.call('HINCRBY', KEYS[3], 'in_flight', 1)
if ARGV[5] ~= '-' then
  redis.call('HINCRBY', KEYS[5], 'requests', 1)
  redis.call('HINCRBY', KEYS[5], 'reserved', ARGV[5])
  redis.call('EXPIRE', KEYS[5], ARGV[6])
end
return { 'restored' }
