#!/bin/bash
# build.sh KERNEL_SOURCE VMLINUX_BTF TOOLCHAIN OUT
#
# Builds from a kernel source tree those of its BPF selftests that are about CO-RE, for the tests of this package:
#
#     conformance/selftests/build.sh linux-source-6.12 vmlinux.btf toolchain out
#     BPFRUN_SELFTESTS=out go test ./conformance/selftests
#
# KERNEL_SOURCE is an unpacked source tree (Debian: package linux-source-6.12), VMLINUX_BTF the raw BTF of a kernel
# of about that version, TOOLCHAIN what scripts/toolchain.sh made. OUT gets the compiled programs and targets, and the
# tables of inputs and expected outputs, printed by the selftests' own sources (tables/ has the harness around them).
# Everything in OUT is built from GPL-2.0 sources: use it, do not commit it.
set -euo pipefail

[ $# -eq 4 ] || { sed -n 's/^# \{0,1\}//; 2,12p' "$0" >&2; exit 2; }
here=$(cd "$(dirname "$0")" && pwd)
run=$here/../../scripts/toolchain.sh
tests=$1/tools/testing/selftests/bpf btf=$2 toolchain=$3
mkdir -p "$4"
out=$(cd "$4" && pwd)
case $toolchain in /*) ;; *) toolchain=$PWD/$toolchain ;; esac

mkdir -p "$out/src"
cp -r "$tests"/progs "$tests"/prog_tests "$tests"/*.h "$tests"/bpf_testmod "$here"/tables/* "$out/src/"
cp "$btf" "$out/vmlinux.btf"
cd "$out"
tool() { "$run" --run "$toolchain" "$@"; }
mkdir -p src/empty/gnu && : >src/empty/gnu/stubs-32.h # the C library's headers want it for targets they do not know
tool bpftool btf dump file vmlinux.btf format c >src/vmlinux.h

objects=()
for f in src/progs/test_core_*.c src/progs/btf__core_reloc_*.c src/progs/core_kern*.c src/progs/test_log_fixup.c; do
	objects+=("$(basename "$f" .c)")
done
# One shell in the toolchain compiles all of them.
tool bash -euc '
	for n in "$@"; do
		clang-22 --target=bpfel -mcpu=v3 -O2 -g -std=gnu11 -fno-strict-aliasing -D__TARGET_ARCH_x86 -Isrc -Isrc/empty -idirafter /usr/include/x86_64-linux-gnu -Wall \
			-Wno-compare-distinct-pointer-types -Wno-unused-function -Wno-deprecated-declarations -Wno-missing-declarations \
			-c src/progs/$n.c -o $n.bpf.o 2>$n.log || echo "$n: does not compile, see $n.log"
		[ -s $n.log ] || rm -f $n.log
	done
	bpftool gen skeleton test_core_extern.bpf.o name test_core_extern >src/test_core_extern.skel.h
	for t in reloc extern distill; do
		clang-22 -fuse-ld=lld -O1 -g -w -Isrc/stub -Isrc -o $t.tables src/$t.c -lbpf -lelf -lz
		./$t.tables >$t.jsonl
		rm $t.tables
	done
' build "${objects[@]}"
rm -rf src
ls ./*.bpf.o | wc -l
