#!/bin/bash
# selftests-objects.sh LINUX BTF OUT
#
# Compiles the programs of the kernel's BPF selftests (LINUX/tools/testing/selftests/bpf/progs) for the types in BTF (raw) into OUT, as
# their own Makefile does, for `bpfrun conformance corpus --optional --brief --objects 'OUT/*.o'`. Sources and objects are GPL-2.0:
# nothing of them belongs in this repository. Programs that do not compile are listed and left out. OUT/kconfig is the configuration that
# the selftests ask of a kernel (--kconfig).
#
# Tools: clang (CLANG, 18 or newer), bpftool (BPFTOOL, 7.5 or newer: it writes the kfuncs' prototypes).
set -euo pipefail
[ $# -eq 3 ] || { echo "usage: $0 LINUX BTF OUT" >&2; exit 2; }
linux=$(cd "$1" && pwd) btf=$2 out=$3
tests=$linux/tools/testing/selftests/bpf
clang=${CLANG:-clang} bpftool=${BPFTOOL:-bpftool}
mkdir -p "$out/include/bpf"
"$bpftool" btf dump file "$btf" format c >"$out/include/vmlinux.h"
cp "$linux"/tools/lib/bpf/*.h "$out/include/bpf/"
"$linux/scripts/bpf_doc.py" --header --file "$linux/tools/include/uapi/linux/bpf.h" >"$out/include/bpf/bpf_helper_defs.h"
cat "$tests/config" "$tests/config.x86_64" >"$out/kconfig"
echo CONFIG_HZ=1000 >>"$out/kconfig" # that of CONFIG_HZ_1000
for f in "$tests"/progs/*.c; do
	name=$(basename "$f" .c)
	extra=()
	case $name in test_l4lb_noinline | test_xdp_noinline) extra=(-fno-inline) ;; esac
	"$clang" -g -O2 --target=bpf -mcpu=v3 -D__TARGET_ARCH_x86 -mlittle-endian -DENABLE_ATOMICS_TESTS -Wno-everything "${extra[@]}" \
		-I"$out/include" -I"$tests" -I"$tests/progs" -I"$tests/libarena/include" -I"$linux/tools/include/uapi" -I"$linux/tools/include" \
		-idirafter /usr/include/x86_64-linux-gnu -idirafter /usr/include -c "$f" -o "$out/$name.o" 2>"$out/$name.err" ||
		{ echo "$name.c does not compile: $(grep -m1 error: "$out/$name.err")"; rm -f "$out/$name.o"; }
	rm -f "$out/$name.err"
done
# The parts of these objects are only ever loaded linked to each other (LINKED_SKELS in the selftests' Makefile).
while read -r name parts; do
	list=()
	for p in $parts; do list+=("$out/$p.o"); done
	"$bpftool" gen object "$out/linking.o" "${list[@]}" || { echo "$name does not link"; continue; }
	mv "$out/linking.o" "$out/$name.linked.o"
done <<-END
	test_static_linked test_static_linked1 test_static_linked2
	linked_funcs linked_funcs1 linked_funcs2
	linked_vars linked_vars1 linked_vars2
	linked_maps linked_maps1 linked_maps2
	test_subskeleton test_subskeleton_lib2 test_subskeleton_lib test_subskeleton
	test_subskeleton_lib test_subskeleton_lib2 test_subskeleton_lib
	test_usdt test_usdt test_usdt_multispec
	tracing_multi tracing_multi_attach tracing_multi_check
	tracing_multi_module tracing_multi_attach_module tracing_multi_check
	tracing_multi_intersect tracing_multi_intersect_attach tracing_multi_check
	tracing_multi_session tracing_multi_session_attach tracing_multi_check
END
for p in test_static_linked{1,2} linked_{funcs,vars,maps}{1,2} test_subskeleton{,_lib,_lib2} test_usdt{,_multispec} tracing_multi_{attach,attach_module,intersect_attach,session_attach,check}; do rm -f "$out/$p.o"; done
ls "$out"/*.o | wc -l
