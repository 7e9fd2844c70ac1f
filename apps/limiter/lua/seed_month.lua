-- Puts the month totals that Postgres has, only if the month is not there.
--
-- KEYS  1 month
-- ARGV  1 requests  2 charged tokens  3 seconds that the month is kept
-- Returns seeded | present

if redis.call('EXISTS', KEYS[1]) == 1 then return { 'present' } end
redis.call('HSET', KEYS[1], 'requests', ARGV[1], 'charged', ARGV[2], 'reserved', '0')
redis.call('EXPIRE', KEYS[1], ARGV[3])
return { 'seeded' }
