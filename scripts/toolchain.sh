#!/bin/bash
# toolchain.sh DIR [SUITE] [PACKAGE...]
#
# Unpacks a BPF toolchain of another Debian suite (default: sid) into DIR without
# touching the system: apt uses its own sources list, state and cache, packages
# are only unpacked, and no maintainer scripts run. Run its tools in a chroot:
#
#     sudo chroot DIR clang --version
#     sudo scripts/toolchain.sh --run DIR clang -target bpf -c /src/prog.c   # binds the current directory to /src
#
# DIR/READY exists when the toolchain is usable; DIR/VERSIONS lists what is in it.
#
# To pin the versions, set MIRROR to a snapshot: http://snapshot.debian.org/archive/debian/YYYYMMDDTHHMMSSZ
set -euo pipefail

MIRROR=${MIRROR:-http://deb.debian.org/debian}
KEYRING=${KEYRING:-/usr/share/keyrings/debian-archive-keyring.gpg}

die() { echo "toolchain.sh: $*" >&2; exit 1; }

if [ "${1:-}" = --run ]; then
	[ $# -ge 3 ] || die "usage: toolchain.sh --run DIR COMMAND [ARG...]"
	dir=$2; shift 2
	[ -e "$dir/READY" ] || die "$dir is no finished toolchain"
	mkdir -p "$dir/src" "$dir/sys" "$dir/proc"
	# In its own mount namespace, so that the bind mounts end with the command.
	exec unshare --mount -- bash -euc '
		mount --bind "$PWD" "$0/src"
		mount --rbind /sys "$0/sys"
		mount --rbind /proc "$0/proc"
		exec chroot "$0" /usr/bin/env -C /src "$@"' "$dir" "$@"
fi

[ $# -ge 1 ] || die "usage: toolchain.sh DIR [SUITE] [PACKAGE...]"
mkdir -p "$1"
dir=$(cd "$1" && pwd); shift
suite=${1:-sid}; [ $# -eq 0 ] || shift
packages=("$@")
if [ ${#packages[@]} -eq 0 ]; then
	packages=(clang-22 llvm-22 lld-22 libbpf-dev bpftool dwarves gcc-bpf make linux-libc-dev
		coreutils dash bash findutils grep sed diffutils)
fi

state=$dir/.apt
mkdir -p "$state/lists/partial" "$state/archives/partial" "$state/etc/preferences.d" "$state/etc/apt.conf.d"
: >"$state/status"
keyopt=
[ -e "$KEYRING" ] && keyopt="[signed-by=$KEYRING] "
echo "deb ${keyopt}$MIRROR $suite main" >"$state/sources.list"

apt_() {
	apt-get -q \
		-o Dir::Etc="$state/etc" \
		-o Dir::Etc::SourceList="$state/sources.list" \
		-o Dir::Etc::SourceParts=- \
		-o Dir::State="$state" \
		-o Dir::State::Lists="$state/lists" \
		-o Dir::State::status="$state/status" \
		-o Dir::Cache="$state" \
		-o Dir::Cache::Archives="$state/archives" \
		-o APT::Sandbox::User=root \
		-o APT::Get::AllowUnauthenticated=false \
		-o Acquire::Check-Valid-Until=false \
		"$@"
}

apt_ update
apt_ install --yes --no-install-recommends --download-only "${packages[@]}"

# Debian is merged-/usr: the links must exist before the first package is unpacked.
mkdir -p "$dir/usr/bin" "$dir/usr/sbin" "$dir/usr/lib" "$dir/usr/lib64" "$dir/tmp" "$dir/dev" "$dir/proc" "$dir/etc"
for d in bin sbin lib lib64; do
	[ -e "$dir/$d" ] || ln -s "usr/$d" "$dir/$d"
done
for deb in "$state"/archives/*.deb; do
	dpkg-deb --fsys-tarfile "$deb" | tar -C "$dir" -x --keep-directory-symlink -f -
done
[ -e "$dir/dev/null" ] || mknod -m 666 "$dir/dev/null" c 1 3 2>/dev/null || : >"$dir/dev/null"
for t in clang ld.lld llvm-objcopy llvm-objdump llvm-readelf llvm-strip llvm-mc; do
	[ -e "$dir/usr/bin/$t" ] && continue
	newest=$(cd "$dir/usr/bin" && ls -d "$t"-[0-9]* 2>/dev/null | sort -V | tail -1) || true
	[ -z "$newest" ] || ln -s "$newest" "$dir/usr/bin/$t"
done
[ -e "$dir/bin/sh" ] || ln -s dash "$dir/bin/sh"

ls "$state/archives" | sed -n 's/%3a/:/; s/_[^_]*\.deb$//p' | sort >"$dir/VERSIONS"
rm -rf "$state/archives"
touch "$dir/READY"
echo "toolchain of $suite in $dir:"
grep -E '^(clang|llvm|libbpf|bpftool|dwarves|gcc-.*bpf|linux-libc)' "$dir/VERSIONS" || true
