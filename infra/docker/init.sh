# Process 1 of the runner's container. It starts the runner, passes SIGTERM on to it, and ends with
# its exit status. As process 1, Bash also reaps the orphans that models leave behind. Docker's init
# would expose the runner's secrets to models, because they may read its program: see the
# Dockerfile.
node main.js &
runner=$!
trap 'kill -TERM "$runner"' TERM INT
wait "$runner"
status=$?
# A signal ends a wait early.
while kill -0 "$runner" 2>/dev/null; do
  wait "$runner"
  status=$?
done
exit "$status"
