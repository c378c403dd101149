#!/bin/bash
# cases-vm.sh KERNEL DIR OBJECT...
# cases-vm.sh KERNEL DIR PACKAGE.test TEST
#
# Boots KERNEL (a vmlinuz, as in Debian's linux-image packages) in qemu without KVM, runs the recorded cases of the objects there, and writes NAME.json.gz of
# each object to DIR, as `bpfrun conformance record cases -z` does on this machine's kernel:
#
#     apt-get download linux-image-6.12.107+deb12-cloud-amd64-unsigned && dpkg-deb -x linux-image-*.deb kernel
#     scripts/cases-vm.sh kernel/boot/vmlinuz-6.12.107+deb12-cloud-amd64 recorded defaults.o
#     bpfrun conformance kernel recorded/defaults.json.gz --objects conformance/testdata/cases --btf linux-6.12.107-amd64.btf
#
# With a test binary (CGO_ENABLED=0 go test -c) it runs a test with -record instead, and writes what that puts into testdata/recorded:
#
#     CGO_ENABLED=0 go test -c -o helpers.test ./helpers
#     scripts/cases-vm.sh vmlinuz-7.2.13 helpers/testdata/recorded helpers.test LaterErrorPaths
#
# The machine has an initramfs, no disk and no network. Needs qemu-system-x86_64 and cpio. MEMORY (2G), CPU (max without la57, whose address spaces are larger) and LIMIT (1800 seconds for the
# machine) can be set. The console output is kept in DIR/console.
set -euo pipefail

[ $# -ge 3 ] || { sed -n 's/^# \{0,1\}//; 2,19p' "$0" >&2; exit 2; }
here=$(cd "$(dirname "$0")/.." && pwd)
kernel=$1 out=$2
shift 2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
root=$work/root
mkdir -p "$root/objects" "$root/bin" "$out"
(cd "$here" && CGO_ENABLED=0 go build -o "$root/init" ./scripts/vminit && CGO_ENABLED=0 go build -o "$root/bpfrun" ./cmd/bpfrun)
for f in /bin/bash /bin/base64; do
	for n in "$f" $(ldd "$f" | grep -o '/[^ ]*'); do
		mkdir -p "$root$(dirname "$n")"
		cp -L "$n" "$root$n"
	done
done
run=
case $1 in
*.test)
	cp "$1" "$root/objects/test"
	mkdir -p "$root/testdata/btf"
	cp "$here"/testdata/btf/linux-7.2*.btf.xz "$root/testdata/btf/"
	run=$2
	shift 2
	;;
esac
for o in "$@"; do
	case $o in
	*.gz) gzip -dc "$o" >"$root/objects/$(basename "$o" .gz)" ;;
	*) cp "$o" "$root/objects/" ;;
	esac
done
cat >"$root/cases.sh" <<'END'
[ -z "$1" ] || {
	cd /objects && ./test -test.run "$1" -record -test.timeout 1000s
	for o in testdata/recorded/*.json.gz; do
		n=${o##*/} n=${n%.json.gz}
		{ echo "@file $n"; base64 "$o"; } >/dev/ttyS1
	done
	exit
}
for o in /objects/*.o; do
	n=${o##*/} n=${n%.o}
	/bpfrun conformance record cases "$o" -o /tmp -z && { echo "@file $n"; base64 "/tmp/$n.json.gz"; } >/dev/ttyS1
done
END
printf '%s\n' /bin/bash /cases.sh "$run" >"$root/command"
(cd "$root" && find . -print0 | cpio -0 -o -H newc --quiet) >"$work/initramfs"
timeout "${LIMIT:-1800}" qemu-system-x86_64 -accel tcg -cpu "${CPU:-max,la57=off}" -smp 2 -m "${MEMORY:-2G}" -nographic -no-reboot -nodefaults -serial "file:$out/console" \
	-serial "file:$work/files" -kernel "$kernel" -initrd "$work/initramfs" -append "console=ttyS0 panic=1 loglevel=4 mitigations=off" </dev/null
tr -d '\r' <"$work/files" | awk -v dir="$work" '/^@file /{out = dir "/" $2 ".base64"; next} out {print >out}'
for f in "$work"/*.base64; do
	[ -e "$f" ] || continue
	base64 -d "$f" >"$out/$(basename "$f" .base64).json.gz"
done
tail -n 20 "$out/console"
