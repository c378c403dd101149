#!/bin/bash
# exec-suite.sh [KERNEL [VMLINUZ [MODULE.ko[.xz]...]]]
#
# Runs the test suite of cilium/ebpf, at VERSION (v0.17.3; that of go.mod if unset), on a simulated kernel. When started as root, the tests run as nobody.
# Prints the counts of each package and the tests that fail. Sources, test binaries and outputs are kept in DIR.
#
# With VMLINUZ, a kernel of the same release, the suite first runs natively as root, in qemu without KVM, after the modules are loaded. The simulated kernel gets
# the symbols of the machine's kernel and the types of its modules. Every test that passes natively but not on the simulated kernel is listed. KERNEL and
# VMLINUZ should have the same types:
#
#     apt-get download linux-binary-7.2.13+deb14-amd64 linux-modules-7.2.13+deb14-amd64 && for d in linux-*.deb; do dpkg-deb -x $d k; done
#     scripts/exec-suite.sh linux-7.2.13-amd64.btf k/usr/lib/modules/*/vmlinuz k/usr/lib/modules/*/kernel/net/ipv4/netfilter/nf_defrag_ipv4.ko.xz ...
#
# PACKAGES and LIMIT (3600 seconds for the machine) can be set. Needs qemu-system-x86_64 and cpio.
set -euo pipefail
kernel=${1:-embedded}
vmlinuz=${2:-}
[ $# -lt 2 ] || shift
[ $# -lt 1 ] || shift
packages=${PACKAGES:-features ringbuf perf btf link .}
DIR=${DIR:-$(mktemp -d)}
root=$(cd "$(dirname "$0")/.." && pwd)
goroot=$(go env GOROOT)
cd "$root"

name() { [ "$1" = . ] && echo root || echo "$1"; }

# build copies the suite and compiles its tests. Files of Go modules are never symbolic links: the suite's own links are made again.
build() {
	local module p
	GOFLAGS=-buildvcs=false go build -o "$DIR/bpfrun" ./cmd/bpfrun
	if [ -n "${VERSION:-}" ]; then
		module=$(go mod download -json "github.com/cilium/ebpf@$VERSION" | sed -n 's/^\t"Dir": "\(.*\)",$/\1/p')
	else
		module=$(go list -m -f '{{.Dir}}' github.com/cilium/ebpf)
	fi
	if [ ! -d "$DIR/ebpf" ]; then
		cp -r "$module" "$DIR/ebpf"
		chmod -R u+w "$DIR/ebpf"
		for e in el eb; do
			newest=$(cd "$DIR/ebpf/testdata" && printf "%s\n" loader-clang-*-"$e".elf | sort -V | tail -1)
			cp "$DIR/ebpf/testdata/$newest" "$DIR/ebpf/testdata/loader-$e.elf"
		done
	fi
	for p in $packages; do
		(cd "$DIR/ebpf" && GOFLAGS=-buildvcs=false go test -c -o "$DIR/$(name "$p").test" "./$p")
		chmod a+rx "$DIR/$(name "$p").test"
	done
}

served() {
	local as=() given=() m p n
	if [ "$(id -u)" = 0 ]; then
		chmod -R a+rX "$DIR"
		as=(setpriv --reuid=65534 --regid=65534 --clear-groups --inh-caps=-all env HOME=/tmp)
	fi
	if [ -n "$vmlinuz" ]; then
		given+=(--kallsyms "$DIR/kernel/kallsyms")
		for m in "$DIR"/kernel/btf/*; do given+=(--module-btf "$m"); done
	fi
	for p in $packages; do
		n=$(name "$p")
		(cd "$DIR/ebpf/$p" && GOROOT=$goroot timeout 600 "${as[@]}" "$DIR/bpfrun" exec --fake-root --live --btf "$kernel" "${given[@]}" -- "$DIR/$n.test" -test.v -test.timeout 500s) \
			>"$DIR/$n.served" 2>"$DIR/$n.served.err" </dev/null || true
	done
}

# copy puts a program and its shared libraries into the machine's file system.
copy() {
	local f
	for f in "$1" $(ldd "$1" | grep -o '/[^ ]*'); do
		mkdir -p "$2$(dirname "$f")"
		[ -e "$2$f" ] || cp -L "$f" "$2$f"
	done
}

native() {
	local m p n i=0 fs=$DIR/machine
	rm -rf "$fs"
	mkdir -p "$fs/modules" "$fs/suite" "$fs$goroot/bin"
	CGO_ENABLED=0 go build -o "$fs/init" ./scripts/vminit
	for m in bash gzip base64; do copy "/bin/$m" "$fs"; done
	cp "$goroot/bin/go" "$fs$goroot/bin/"
	cp "$goroot"/go.env "$goroot"/VERSION "$fs$goroot/"
	for m in "$@"; do
		i=$((i + 1))
		case $m in
		*.xz) xz -dc "$m" >"$fs/modules/$(printf %02d $i)-$(basename "$m" .xz)" ;;
		*) cp "$m" "$fs/modules/$(printf %02d $i)-$(basename "$m")" ;;
		esac
	done
	(cd "$DIR" && find ebpf -type f -print0 | cpio -0 -o -H newc --quiet) | (cd "$fs/suite" && cpio -i -d --quiet)
	{
		echo "export GOROOT=$goroot GOCACHE=/tmp/cache HOME=/tmp PATH=/bin:$goroot/bin TMPDIR=/tmp"
		for p in $packages; do
			n=$(name "$p")
			cp "$DIR/$n.test" "$fs/suite/"
			echo "cd /suite/ebpf/$p; echo '@package $n' >/dev/ttyS1; /suite/$n.test -test.v -test.timeout 1800s >/dev/ttyS1 2>&1 </dev/null"
		done
		echo "exec >/dev/ttyS2; echo '@file kallsyms'; gzip -c </proc/kallsyms | base64"
		echo "for m in /sys/kernel/btf/*; do [ \${m##*/} = vmlinux ] || { echo @file btf/\${m##*/}; gzip -c <\$m | base64; }; done"
	} >"$fs/suite.sh"
	printf '%s\n' /bin/bash /suite.sh >"$fs/command"
	(cd "$fs" && find . -print0 | cpio -0 -o -H newc --quiet) >"$DIR/initramfs"
	timeout "${LIMIT:-3600}" qemu-system-x86_64 -accel tcg -cpu max -smp 2 -m 3G -nographic -no-reboot -nodefaults -serial "file:$DIR/console" \
		-serial "file:$DIR/native" -serial "file:$DIR/files" -kernel "$vmlinuz" -initrd "$DIR/initramfs" \
		-append "console=ttyS0 panic=1 loglevel=4 mitigations=off lsm=capability,bpf" </dev/null
	tail -n 1 "$DIR/console"
	rm -rf "$DIR/kernel"
	mkdir -p "$DIR/kernel/btf"
	tr -d '\r' <"$DIR/files" | awk -v dir="$DIR/kernel" '/^@file /{out = dir "/" $2 ".gz64"; next} out {print >out}'
	find "$DIR/kernel" -name '*.gz64' | while read -r m; do base64 -d <"$m" | gzip -dc >"${m%.gz64}"; rm "$m"; done
	tr -d '\r' <"$DIR/native" | awk -v dir="$DIR" '/^@package /{out = dir "/" $2 ".native"; printf "" >out; next} out {print >out}'
}

# tests lists the test functions with an outcome.
tests() { grep -o -- "^--- $2: [^ ]*" "$1" | sed 's/.*: //' | sort -u; }

report() {
	local p n k=$1
	for p in $packages; do
		n=$(name "$p")
		echo "$n, $k: $(tests "$DIR/$n.$k" PASS | wc -l) passed, $(tests "$DIR/$n.$k" FAIL | wc -l) failed, $(tests "$DIR/$n.$k" SKIP | wc -l) skipped"
		tests "$DIR/$n.$k" FAIL | sed 's/^/    /' || true
	done
}

compare() {
	local p n all=0 same=0 a b
	for p in $packages; do
		n=$(name "$p")
		a=$(tests "$DIR/$n.native" PASS | wc -l)
		b=$(comm -12 <(tests "$DIR/$n.native" PASS) <(tests "$DIR/$n.served" PASS) | wc -l)
		all=$((all + a)) same=$((same + b))
		echo "$n: $a pass natively, $b of them served ($(awk "BEGIN {printf \"%.1f\", 100 * $b / ($a ? $a : 1)}") %)"
		comm -23 <(tests "$DIR/$n.native" PASS) <(tests "$DIR/$n.served" PASS) | sed 's/^/    /'
	done
	echo "all: $all pass natively, $same of them served"
}

build
[ -z "$vmlinuz" ] || native "$@"
served
report served
if [ -n "$vmlinuz" ]; then
	report native
	compare
fi
