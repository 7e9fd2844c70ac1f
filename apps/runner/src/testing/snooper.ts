/**
 * A command that prints what it can get from its runner and from the files in $1: environment,
 * memory, records and logs. It says what it could open.
 */
export const SNOOPER = `
  echo "uid $(id -u), groups $(id -G)"
  env
  open() { (: <"$1") && echo "opened $1" && cat "$1"; }
  for process in "/proc/$PPID" /proc/[0-9]*; do cat "$process/environ"; done
  for file in environ maps mem auxv stack; do open "/proc/$PPID/$file"; done
  ls "/proc/$PPID/fd" && echo "opened its runner"
  ls "$1/state" && echo 'opened the records'
  for file in "$1"/*secret* "$1"/state/*; do open "$file"; done
  for file in "$1"/state/*.log; do (: >>"$file") && echo "opened $file"; done
  kill -0 "$PPID" && echo 'opened a way to end its runner'
  exit 1`;
