-- Removes what naming a life left behind for an organization that Postgres does not have. What has
-- been written since stays.
--
-- KEYS  1 org
-- Returns removed | kept

local org_data = KEYS[1]

if redis.call('HEXISTS', org_data, 'version') == 1 then return { 'kept' } end
redis.call('DEL', org_data)
return { 'removed' }
