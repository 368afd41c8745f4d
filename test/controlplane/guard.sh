# Outlives the process that started the control plane: standard input ends when that process releases the guard or dies
# of whatever cause, a crash, a test's timeout or SIGKILL. Then every program still running is killed, there being no
# data worth a graceful end, and the folder $1 is removed.
cat >/dev/null

for file in "$1"/bin/*.pid; do
	[ -f "$file" ] && kill -KILL "$(cat "$file")" 2>/dev/null
done
tries=0
until rm -rf "$1" 2>/dev/null || [ $((tries += 1)) -gt 60 ]; do sleep 1; done # a dying program may still have added a file
