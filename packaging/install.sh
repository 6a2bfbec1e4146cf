#!/bin/sh
# Installs Spexus from an unpacked release archive, or from the archive itself:
#
#   sh install.sh [--prefix DIR] [--service] [ARCHIVE]
#
# With an archive, SHA256SUMS must lie beside it: what does not match is not unpacked. --service also installs the unit of systemd
# (as root). Nothing is fetched from anywhere, and nothing that is there is removed but the programs that are replaced.
set -eu

prefix=/usr/local
service=no
archive=
while [ $# -gt 0 ]; do
  case "$1" in
    --prefix) [ $# -ge 2 ] || { echo "install.sh: --prefix needs a folder" >&2; exit 2; }; prefix=$2; shift ;;
    --service) service=yes ;;
    -h | --help) sed -n '2,7s/^# \{0,1\}//p' "$0"; exit 0 ;;
    -*) echo "install.sh: there is no option $1; see --help" >&2; exit 2 ;;
    *) archive=$1 ;;
  esac
  shift
done

fail() { echo "install.sh: $1" >&2; exit 1; }

from=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd)
if [ -n "$archive" ]; then
  [ -f "$archive" ] || fail "there is no archive $archive"
  beside=$(CDPATH='' cd -- "$(dirname -- "$archive")" && pwd)
  name=$(basename -- "$archive")
  [ -f "$beside/SHA256SUMS" ] || fail "SHA256SUMS must lie beside $name"
  line=$(grep -F "  $name" "$beside/SHA256SUMS") || fail "SHA256SUMS does not name $name"
  (cd "$beside" && echo "$line" | sha256sum --check --quiet --strict -) || fail "$name is not what SHA256SUMS says; get it again"
  unpacked=$(mktemp -d)
  trap 'rm -rf "$unpacked"' EXIT
  tar -xzf "$beside/$name" -C "$unpacked" --strip-components=1
  from=$unpacked
fi
[ -x "$from/spexus" ] || fail "$from holds no program; name an archive, or run the install.sh of an unpacked one"
[ "$service" = no ] || [ "$(id -u)" -eq 0 ] || fail "--service needs root"

# A running program is replaced, not written into.
for program in spexus duvet; do
  install -D -m 0755 "$from/$program" "$prefix/bin/.$program.new"
  mv -f "$prefix/bin/.$program.new" "$prefix/bin/$program"
done
for text in LICENSE-MIT LICENSE-APACHE THIRD-PARTY.txt sbom.cdx.json operate.md; do
  install -D -m 0644 "$from/$text" "$prefix/share/doc/spexus/$text"
done
echo "installed $prefix/bin/spexus and $prefix/bin/duvet"

if [ "$service" = yes ]; then
  sed "s|/usr/local|$prefix|g" "$from/spexus.service" >/etc/systemd/system/spexus.service
  chmod 0644 /etc/systemd/system/spexus.service
  if [ -d /run/systemd/system ]; then systemctl daemon-reload; fi
  echo "start it with: systemctl enable --now spexus; the first password is in: journalctl -u spexus"
else
  echo "start it with: $prefix/bin/spexus serve"
fi
