# Waits until the test that started it has ended, then ends the process group $1 and removes the folder $2, if any.
cat >/dev/null
kill -TERM "-$1" 2>/dev/null
for _ in 1 2 3 4 5 6 7 8 9 10; do
	kill -0 "-$1" 2>/dev/null || break
	sleep 0.5
done
kill -KILL "-$1" 2>/dev/null
[ -d "$2" ] || exit 0
chmod -R u+rwx "$2"
rm -rf "$2"
