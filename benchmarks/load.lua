-- The script for wrk. Its arguments are the method, the paths to request in turn, and the body.
-- Each path is formatted once, before the load.

function init(args)
  wrk.method = args[1]
  if args[3] and args[3] ~= "" then
    wrk.body = args[3]
  end
  local requests = {}
  for path in string.gmatch(args[2], "%S+") do
    requests[#requests + 1] = wrk.format(nil, path)
  end
  if #requests > 1 then
    local turn = 0
    request = function()
      turn = turn % #requests + 1
      return requests[turn]
    end
  end
end

function done(summary, latency, _)
  local errors = summary.errors
  io.write(string.format(
    'RESULT {"requests": %d, "rate": %.1f, "median": %.1f, "p99": %.1f, "refused": %d}\n',
    summary.requests,
    summary.requests / (summary.duration / 1e6),
    latency:percentile(50),
    latency:percentile(99),
    errors.connect + errors.read + errors.write + errors.status + errors.timeout
  ))
end
