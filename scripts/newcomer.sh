#!/bin/bash
# What a newcomer waits for, from a clone on a machine that has nothing of bpfrun: no caches, no packages but git, make and Go.
#
#     sudo debootstrap --variant=minbase --include=ca-certificates,git,make bookworm ROOT
#     sudo cp -a /usr/local/go ROOT/usr/local/
#     sudo scripts/newcomer.sh ROOT
#
# Prints, for each step of README.md and docs/find.md, seconds from start to end and of processor time. The browser is that of this machine
# (chromium, driven by node 20 or later).
set -euo pipefail
root=${1:?directory of a fresh Debian with Go in usr/local/go}
home=/home/newcomer
here=$(cd "$(dirname "$0")/.." && pwd)

inside() { # of the container, as a user who has just logged in
	chroot "$root" env -i HOME=$home TERM=dumb PATH=/usr/local/go/bin:/usr/bin:/bin:/usr/sbin:/sbin bash -ec "$1"
}
step() { # NAME COMMAND...: how long it takes
	local TIMEFORMAT="%R s, %U s of processor time: $1"
	time inside "cd ~/bpfrun && { $2; } >/tmp/log 2>&1 || { tail -20 /tmp/log; exit 1; }"
}

mkdir -p "$root/proc" "$root/dev/pts"
mountpoint -q "$root/proc" || mount -t proc proc "$root/proc"
trap 'umount "$root/proc"' EXIT
[ -e "$root/dev/urandom" ] || mknod -m 666 "$root/dev/urandom" c 1 9
rm -rf "${root:?}$home" "$root/source.git"
mkdir -p "$root$home"
git clone -q --bare "$here" "$root/source.git"

TIMEFORMAT='%R s, %U s of processor time: git clone'
time inside 'git clone -q /source.git ~/bpfrun'
step "README's first command" 'go run ./cmd/bpfrun examples/exec/exec.bpf.o --btf embedded'
step 'the same again' 'go run ./cmd/bpfrun examples/exec/exec.bpf.o --btf embedded'
step 'first finding on the command line (docs/find.md)' 'go run ./cmd/bpfrun fuzz examples/portmap/portmap.bpf.o --btf embedded -j 1 --runs 20000 --keep found || [ -e found/packet-1.yaml ]'
step 'make build' 'make -s build'
(cd "$here/web/test" && npm ci --silent && BPFRUN="$root$home/bpfrun/bpfrun" node newcomer.mjs) | sed 's/$/ in the playground (bpfrun play)/'
