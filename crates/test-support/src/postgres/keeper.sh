# Keeps one throw-away PostgreSQL: makes it, says `ready`, and removes it when standard input ends.
# Input ends when the process that started us does, in whatever way. The steps run one after the other, so an end
# in the middle of any of them is noticed after it and nothing is left half made.
trap '' PIPE
umask 077
cd "$DIR" || exit 1

printf '%s' "$PASSWORD" >password
settings="-c listen_addresses=127.0.0.1 -c port=$PORT -c unix_socket_directories= -c max_connections=200"
settings="$settings -c fsync=off -c synchronous_commit=off -c full_page_writes=off"

if "$BIN/initdb" --pgdata=data --username=spexus --pwfile=password --auth=password \
    --encoding=UTF8 --locale=C.UTF-8 --no-sync >log 2>&1 &&
  "$BIN/pg_ctl" start --pgdata=data --wait --timeout=60 --log=log --options="$settings" >>log 2>&1; then
  echo ready
else
  cat log
fi
exec >&-

cat >/dev/null
"$BIN/pg_ctl" stop --pgdata=data --mode=immediate --wait >/dev/null 2>&1
cd /
rm -rf "$DIR"
