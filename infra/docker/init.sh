# Process 1 of the runner's container. It starts the runner, passes SIGTERM on to it, and ends as it
# ended. As process 1, Bash also reaps the orphans that models leave behind. The init of Docker
# would show the runner's secrets to models, which may read its program: see the Dockerfile.
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
