-- The script for wrk. Its arguments are the method and the body.

function init(args)
  wrk.method = args[1]
  if args[2] and args[2] ~= "" then
    wrk.body = args[2]
  end
end

function done(summary, _, _)
  local errors = summary.errors
  io.write(string.format(
    'RESULT {"requests": %d, "rate": %.1f, "refused": %d}\n',
    summary.requests,
    summary.requests / (summary.duration / 1e6),
    errors.connect + errors.read + errors.write + errors.status + errors.timeout
  ))
end
