#!/bin/bash
# corpus.sh DIR
#
# Fetches real kernels' BTF and real BPF objects from Debian packages into DIR, for the tests that BPFRUN_CORPUS=DIR enables:
#
#     DIR/btf/linux-VERSION-ARCH[-FLAVOUR].btf.xz        one per kernel package below
#     DIR/objects/debian-SUITE/PACKAGE/NAME.o             as shipped, or extracted from executables and libraries (BPF skeletons)
#
# SUITES lists the suites whose objects are fetched: bookworm, whose objects the tests know, unless it is set (bookworm, trixie and sid are known).
#
# Fetches only what is missing. Nothing is installed: apt keeps its state under DIR/.apt. The objects are
# under the licences of their packages; they are test input and are never committed.
#
# Packages that cannot be fetched are reported and left out; the exit status is 1 only if nothing at all was fetched.
set -euo pipefail

MIRROR=${MIRROR:-http://deb.debian.org/debian}
SECURITY=${SECURITY:-http://deb.debian.org/debian-security}
KEYRING=${KEYRING:-/usr/share/keyrings/debian-archive-keyring.gpg}

# suite, architecture, metapackage that depends on the newest kernel of that suite. Cloud kernels: smaller, same structures.
KERNELS=(
	"bullseye amd64 linux-image-cloud-amd64"
	"bookworm amd64 linux-image-cloud-amd64"
	"bookworm arm64 linux-image-cloud-arm64"
	"trixie amd64 linux-image-cloud-amd64"
	"sid amd64 linux-image-cloud-amd64"
)
SUITES=${SUITES:-bookworm}
# suite, package with objects. The packages of later suites are those that bookworm has not, or not with objects.
OBJECT_PACKAGES=(
	"bookworm libbpf-tools" "bookworm libxdp1" "bookworm xdp-tools" "bookworm ir-keytable" "bookworm suricata"
	"trixie libbpf-tools" "trixie xdp-tools" "trixie bpftool" "trixie bpftop" "trixie libbpftune0" "trixie mimic" "trixie opensnitch-ebpf-modules"
	"trixie libknot15" "trixie qemu-system-x86" "trixie linux-perf" "trixie librte-net-tap25" "trixie fastnetmon" "trixie pcp" "trixie bpftrace"
	"trixie pwru" "trixie rtla" "trixie golang-github-cilium-ebpf-dev" "trixie systemd" "trixie systemd-container" "trixie libsystemd-shared"
	"sid bpftool" "sid systemd" "sid systemd-container" "sid udev-hid-bpf" "sid network-manager" "sid rsched" "sid rtc-testbench" "sid sysdig" "sid nsd"
	"sid bpfilter" "sid libbpftune0" "sid linux-perf" "sid rtla" "sid libknot16" "sid librte-net-tap26" "sid pwru" "sid suricata" "sid xdp-tools"
)

[ $# -eq 1 ] || { echo "usage: corpus.sh DIR" >&2; exit 2; }
here=$(cd "$(dirname "$0")/.." && pwd)
mkdir -p "$1"
dir=$(cd "$1" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p "$dir/btf" "$dir/objects"
(cd "$here" && go build -o "$work/extract" ./scripts/extract)

say() { echo "corpus: $*"; }

# apt_ SUITE COMMAND...: apt-get or apt-cache with the lists of one suite only.
apt_() {
	local suite=$1 tool=$2 s=$dir/.apt/$1
	shift 2
	"$tool" -q -o Dir::Etc="$s" -o Dir::Etc::SourceList="$s/sources.list" -o Dir::Etc::SourceParts=- \
		-o Dir::State="$s" -o Dir::State::Lists="$s/lists" -o Dir::State::status="$s/status" -o Dir::Cache="$s" \
		-o APT::Architecture=amd64 -o APT::Architectures::=amd64 -o APT::Architectures::=arm64 \
		-o APT::Sandbox::User=root -o Acquire::Check-Valid-Until=false -o Acquire::Languages=none \
		-o Acquire::Retries=2 -o Acquire::http::Timeout=30 "$@"
}

# use SUITE: fetches its lists once; fails when it cannot be reached.
use() {
	local suite=$1 s=$dir/.apt/$1 key=
	[ ! -e "$s/unreachable" ] || return 1
	[ ! -e "$s/ready" ] || return 0
	mkdir -p "$s/lists/partial" "$s/archives/partial" "$s/preferences.d" "$s/apt.conf.d"
	: >"$s/status"
	[ -e "$KEYRING" ] && key="signed-by=$KEYRING "
	{
		echo "deb [${key}arch=amd64,arm64] $MIRROR $suite main"
		case $suite in
		bullseye | bookworm | trixie) echo "deb [${key}arch=amd64,arm64] $SECURITY $suite-security main" ;;
		esac
		[ "$suite" != bookworm ] || echo "deb [${key}arch=amd64] $MIRROR bookworm-backports main"
	} >"$s/sources.list"
	if apt_ "$suite" apt-get update >"$s/log" 2>&1; then
		touch "$s/ready"
	else
		say "suite $suite cannot be reached: $(grep -m1 -E '^(E|W|Err)' "$s/log" || true)"
		touch "$s/unreachable"
		return 1
	fi
}

# unpack SUITE PACKAGE[:ARCH] DEST
unpack() {
	local tmp
	tmp=$(mktemp -d "$work/deb.XXXX")
	(cd "$tmp" && apt_ "$1" apt-get download "$2" >"$work/log" 2>&1) || { say "$2 ($1) cannot be downloaded: $(tail -1 "$work/log")"; return 1; }
	mkdir -p "$3"
	dpkg-deb -x "$tmp"/*.deb "$3"
	rm -rf "$tmp"
}

# newest SUITE ARCH META: the package with the kernel image META stands for. Since 7.x that package is linux-binary-*.
newest() {
	local image binary
	image=$(apt_ "$1" apt-cache depends "$3:$2" 2>/dev/null | sed -n 's/^ *Depends: \(linux-image-[0-9][^:]*\).*/\1/p' | head -1)
	[ -n "$image" ] || return 1
	binary=linux-binary-${image#linux-image-}
	if apt_ "$1" apt-cache show "$binary:$2" >/dev/null 2>&1; then
		echo "$binary"
	else
		echo "$image"
	fi
}

fetch_btf() {
	local suite=$1 arch=$2 meta=$3 pkg version flavour name image
	use "$suite" || return 0
	pkg=$(newest "$suite" "$arch" "$meta") || { say "$meta:$arch ($suite) does not exist"; return 0; }
	version=$(apt_ "$suite" apt-cache show "$pkg:$arch" | sed -n 's/^Version: //p' | head -1)
	version=${version%%-*}
	flavour=${meta#linux-image-}
	flavour=${flavour%"$arch"}
	name=linux-$version-$arch${flavour:+-${flavour%-}}
	[ ! -e "$dir/btf/$name.btf.xz" ] || return 0
	unpack "$suite" "$pkg:$arch" "$work/kernel" || return 0
	image=$(find "$work/kernel" -type f \( -name 'vmlinuz*' -o -name 'vmlinux*' \) | head -1)
	if [ -n "$image" ] && "$work/extract" btf "$image" "$work/$name.btf"; then
		xz -T0 -6 "$work/$name.btf"
		mv "$work/$name.btf.xz" "$dir/btf/"
		say "$name.btf.xz ($suite: $pkg)"
	else
		say "no BTF in $pkg ($suite)"
	fi
	rm -rf "$work/kernel"
}

# drop_copies DIR: executables of one package embed the same images: of equal files the one is kept that stands among the
# fewest of its executable, or else comes first by name. Names stay, so numbers have gaps.
drop_copies() {
	local f b sum seen=
	while read -r _ f; do
		sum=$(sha256sum <"$f")
		sum=${sum%% *}
		case $seen in
		*"$sum"*) rm "$f" ;;
		*) seen+=" $sum" ;;
		esac
	done < <(for f in "$1"/*.o; do
		[ -e "$f" ] || continue
		b=${f%.o}
		b=${b%.[0-9]*}
		printf '%s %s\n' "$(find "$1" -name "$(basename "$b")*.o" | wc -l)" "$f"
	done | LC_ALL=C sort -k1,1n -k2,2)
}

fetch_objects() {
	local suite=$1 pkg=$2 out=$dir/objects/debian-$1/$2 f
	[ ! -d "$out" ] || return 0
	use "$suite" || return 0
	unpack "$suite" "$pkg" "$work/$pkg" || return 0
	mkdir -p "$work/out" "$(dirname "$out")"
	while IFS= read -r -d '' f; do
		case $(od -An -tx2 --endian=little -j18 -N2 "$f" 2>/dev/null | tr -d ' ') in
		00f7) cp "$f" "$work/out/$(basename "${f%.o}").o" ;;
		*) "$work/extract" skel "$f" "$work/out/$(basename "$f")" 2>/dev/null || true ;;
		esac
	done < <(find "$work/$pkg" -type f -size +512c -print0 | xargs -0 grep -lZa -m1 -U $'^\x7fELF' || true)
	drop_copies "$work/out"
	say "$pkg: $(find "$work/out" -type f | wc -l) objects"
	mv "$work/out" "$out"
	rm -rf "${work:?}/$pkg"
}

for k in "${KERNELS[@]}"; do
	# shellcheck disable=SC2086
	fetch_btf $k
done
for p in "${OBJECT_PACKAGES[@]}"; do
	[[ " $SUITES " == *" ${p%% *} "* ]] || continue
	# shellcheck disable=SC2086
	fetch_objects $p
done
rm -f "$dir"/.apt/*/unreachable

btfs=$(find "$dir/btf" -name '*.btf.xz' | wc -l)
objects=$(find "$dir/objects" -name '*.o' | wc -l)
say "$btfs BTFs and $objects objects in $1"
[ "$btfs" -gt 0 ] || [ "$objects" -gt 0 ]
