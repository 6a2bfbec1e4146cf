# Keeps one throw-away PostgreSQL: makes it, says `ready`, and removes it when standard input ends.
# Input ends when the process that started us does, in whatever way. The steps run one after the other, so an end
# in the middle of any of them is noticed after it and nothing is left half made.
# A line `crash` ends the server as a power failure would, a line `recover` starts it again, a line `full` lets it write no
# further into any file, as on a full disk, until it is started again; each is echoed when done.
trap '' PIPE
umask 077
cd "$DIR" || exit 1

printf '%s' "$PASSWORD" >password
settings="-c listen_addresses=127.0.0.1 -c port=$PORT -c unix_socket_directories= -c max_connections=200"
# Tests that crash the server want every acknowledged commit back; the others want to be quick.
[ -n "$DURABLE" ] || settings="$settings -c fsync=off -c synchronous_commit=off -c full_page_writes=off"

start() {
  "$BIN/pg_ctl" start --pgdata=data --wait --timeout=60 --log=log --options="$settings" >>log 2>&1
}

# Of the server and of every process it has started; what it starts later inherits it.
fill() {
  read -r server <data/postmaster.pid
  for process in "$server" $(cat "/proc/$server/task/$server/children"); do
    prlimit --pid "$process" --fsize=0 || [ "$process" != "$server" ] || return 1
  done
}

if "$BIN/initdb" --pgdata=data --username=spexus --pwfile=password --auth=password \
    --encoding=UTF8 --locale=C.UTF-8 --no-sync >log 2>&1 && start; then
  echo ready
else
  cat log
  exec >&-
fi

while read -r wish; do
  case $wish in
    # A server that could not write may have ended by itself.
    crash) { "$BIN/pg_ctl" stop --pgdata=data --mode=immediate --wait || ! "$BIN/pg_ctl" status --pgdata=data; } >>log 2>&1 && echo crash ;;
    full) fill 2>>log && echo full ;;
    recover) start && echo recover ;;
  esac
done
"$BIN/pg_ctl" stop --pgdata=data --mode=immediate --wait >/dev/null 2>&1
cd /
rm -rf "$DIR"
