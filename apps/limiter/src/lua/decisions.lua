-- Refusals shared by several scripts. Each returns nil, or the reply that refuses.

local function refuse_key(key, now)
  if key.state ~= 'active' then return { 'key_invalid' } end
  if key.expires_at_ms > 0 and now >= key.expires_at_ms * 1000 then return { 'key_invalid' } end
end

local function refuse_recovering(org, now)
  if now < org.opens_us then return { 'rate_limited', 'recovering', org.opens_us - now, 0 } end
end

local function refuse_window(cause, window, limit, now)
  local wait = window_wait(window, limit, now)
  if wait > 0 then return { 'rate_limited', cause, wait, limit } end
end

local function refuse_slots(cause, in_flight, limit)
  if in_flight >= limit then return { 'rate_limited', cause, 1000000, limit } end
end

local function refuse_month(org, month, context_tokens, now)
  if month.requests + 1 > org.requests_month then return { 'quota_exceeded', 'requests', now } end
  if month.charged + month.reserved + context_tokens > org.tokens_month then
    return { 'quota_exceeded', 'tokens', now }
  end
end

-- Counts one admission in both windows. Returns the admitting reply, with the numbers of the
-- tighter window.
local function count_admission(key, key_window, org, org_window, now)
  local key_count, key_reset = window_count(key_window, now)
  local org_count, org_reset = window_count(org_window, now)
  if key.rpm - key_count <= org.rpm - org_count then
    return { 'admitted', now, key.rpm, key.rpm - key_count, key_reset }
  end
  return { 'admitted', now, org.rpm, org.rpm - org_count, org_reset }
end
