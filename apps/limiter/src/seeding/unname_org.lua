-- Removes what naming a life has left of an organization that Postgres does not have. What has been
-- written since stays.
--
-- KEYS  1 org
-- Returns removed | kept

if redis.call('HEXISTS', KEYS[1], 'version') == 1 then return { 'kept' } end
redis.call('DEL', KEYS[1])
return { 'removed' }
