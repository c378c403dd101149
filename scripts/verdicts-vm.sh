#!/bin/bash
# verdicts-vm.sh KERNEL OUT.jsonl.gz OBJECTS [GENERATED.jsonl.gz]
# MUTANTS=N verdicts-vm.sh KERNEL OUT.jsonl.gz
#
# Boots KERNEL (a vmlinuz, as in Debian's linux-image packages) in qemu without KVM, loads every program of the objects in the directory
# OBJECTS, and optionally the generated programs of a recording, and writes the verdicts of its verifier:
#
#     apt-get download linux-image-6.1.0-56-cloud-amd64 && dpkg-deb -x linux-image-*.deb kernel
#     scripts/verdicts-vm.sh kernel/boot/vmlinuz-6.1.0-56-cloud-amd64 verdicts-6.1.jsonl.gz objects
#     bpfrun conformance verdicts verdicts-6.1.jsonl.gz --objects objects --btf 'kernels/*.btf'
#
# With MUTANTS the kernel is asked about N mutants of each built-in BTF instead (bpfrun conformance btf OUT.jsonl.gz judges them).
#
# The machine has an initramfs of static Go programs and the objects, no disk and no network. Needs qemu-system-x86_64 and cpio.
# MEMORY (3G), CPU (max), LIMIT (120s per program) and OPTIONS (of record verdicts, such as --log) can be set. The console output
# is kept in OUT.jsonl.gz.console.
set -euo pipefail

[ $# -ge 3 ] || { [ -n "${MUTANTS:-}" ] && [ $# = 2 ]; } || { sed -n 's/^# \{0,1\}//; 2,18p' "$0" >&2; exit 2; }
here=$(cd "$(dirname "$0")/.." && pwd)
kernel=$1 out=$2 objects=${3:-} generated=${4:-}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
root=$work/root
mkdir -p "$root/objects"
(cd "$here" && CGO_ENABLED=0 go build -o "$root/init" ./scripts/vminit && CGO_ENABLED=0 go build -o "$root/bpfrun" ./cmd/bpfrun)
if [ -n "$objects" ]; then
	(cd "$objects" && find . -name '*.o' -print0 | cpio -0 -o -H newc --quiet) | (cd "$root/objects" && cpio -i -d --quiet)
	read -ra options <<<"${OPTIONS:-}"
	words=(/bpfrun conformance record verdicts --objects /objects /objects --limit "${LIMIT:-120s}" "${options[@]}" -o /verdicts.gz)
else
	words=(/bpfrun conformance record btf --mutations "$MUTANTS" -o /verdicts.gz)
fi
if [ -n "$generated" ]; then
	cp "$generated" "$root/generated.jsonl.gz"
	words+=(--generated /generated.jsonl.gz)
fi
ln -s /dev/ttyS1 "$root/verdicts.gz" # compressed there: the line is slow
printf '%s\n' "${words[@]}" >"$root/command"
(cd "$root" && find . -print0 | cpio -0 -o -H newc --quiet) >"$work/initramfs"
qemu-system-x86_64 -accel tcg -cpu "${CPU:-max}" -m "${MEMORY:-3G}" -nographic -no-reboot -nodefaults -serial "file:$out.console" -serial "file:$out" \
	-kernel "$kernel" -initrd "$work/initramfs" -append "console=ttyS0 panic=1 oops=panic loglevel=4 mitigations=off no_timer_check" </dev/null
tail -n 2 "$out.console"
