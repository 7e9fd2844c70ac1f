-- Posts one request again and again. BENCH_BODY is its body, BENCH_HEADERS its headers, one per
-- line. Prints one JSON document at the end.
function init()
  wrk.method = 'POST'
  wrk.body = os.getenv('BENCH_BODY')
  for name, value in string.gmatch(os.getenv('BENCH_HEADERS'), '([^\n]-): ([^\n]*)\n') do wrk.headers[name] = value end
  request_text = wrk.format()
end

function request()
  return request_text
end

function done(summary, latency)
  local errors = summary.errors
  io.write(string.format(
    '{"requests":%d,"perS":%f,"chunksPerS":0,"p50Ms":%f,"p99Ms":%f,"failures":%d}\n',
    summary.requests, summary.requests / summary.duration * 1e6,
    latency:percentile(50) / 1e3, latency:percentile(99) / 1e3,
    errors.connect + errors.read + errors.write + errors.status + errors.timeout
  ))
end
