#!/bin/bash
# exec-testprogs.sh LINUX [OUT]: builds test_progs of libbpf from the kernel sources in the directory LINUX (6.12 to 7.1), with the tests that use BPF_PROG_TEST_RUN, and
# runs each under bpfrun exec. Prints the results of each test.
#
# OUT (default: a new directory) gets test_progs with its objects, linked statically. BTF is the kernel for --btf and for vmlinux.h, a raw BTF file. With VM, the vmlinuz of
# that kernel, the tests also run natively: in a virtual machine, by qemu without KVM. CLANG and CC are the compilers, JOBS how many run at a time, TESTS a pattern
# of tests. The kernel module bpf_testmod is not built: tests that need it fail or skip themselves in both.
set -euo pipefail

[ $# -ge 1 ] || { sed -n 's/^# \{0,1\}//; 2,10p' "$0" >&2; exit 2; }
here=$(cd "$(dirname "$0")/.." && pwd)
linux=$(cd "$1" && pwd)
out=${2:-$(mktemp -d)}
mkdir -p "$out/libbpf" "$out/bpftool" "$out/bin"
out=$(cd "$out" && pwd)
btf=$(realpath "${BTF:?BTF names the raw BTF of the kernel}")
clang=${CLANG:-clang-19} cc=${CC:-gcc} jobs=${JOBS:-1}
tests=$linux/tools/testing/selftests/bpf
bin=$out/bin include=$out/inst/include

# The tests: those whose source runs programs by BPF_PROG_TEST_RUN. Two more files have functions that these call.
tested() { cd "$tests/prog_tests" && grep -lE 'prog_test_run|test_run_opts' ./*.c | sed 's,^\./,,'; }
sources() { tested; echo uprobe_multi_test.c; echo test_lsm.c; }

# What the tests in $1 include or open, by a pattern.
names() { sources | sed "s,^,$tests/prog_tests/," | xargs grep -ohE "$1" | sort -u; }

export out tests clang cc include bin
export bpftool=$out/bpftool/bootstrap/bpftool

object() { # one BPF object, from its source
	"$clang" -g -w -O2 --target=bpf -mcpu=v3 -std=gnu11 -fno-strict-aliasing -fms-extensions -D__TARGET_ARCH_x86 -DENABLE_ATOMICS_TESTS -mlittle-endian \
		-idirafter /usr/include -idirafter "/usr/include/$(uname -m)-linux-gnu" \
		-I"$include" -I"$tests" -I"$tests/../../../include/uapi" -I"$out" -c "$tests/progs/$1.c" -o "$bin/$1.bpf.o" 2>"$bin/$1.log" || echo "not built: progs/$1.c"
}
skeleton() { # NAME KIND: a skeleton, of the object that bpftool links as the selftests do
	local in=$bin/$1.bpf.o tmp=$bin/$1.linked.o args=()
	[ -s "$in" ] || return 0
	if [ "$2" = lskel ]; then args=(-L "$tmp" name "$1_lskel"); else args=("$tmp" name "$1"); fi
	"$bpftool" gen object "$tmp" "$in" && "$bpftool" gen skeleton "${args[@]}" >"$bin/$1.$2.h"
	rm -f "$tmp"
}
compile() { # one C file of the runner
	(cd "$bin" && "$cc" -g -O0 -w -fno-omit-frame-pointer -D_GNU_SOURCE -I. -I"$tests" -I"$include" -I"$out/bpftool/bootstrap/libbpf/include" \
		-I"$tests/../../../lib" -I"$tests/../../../include" -I"$tests/../../../arch/x86/include" -I"$tests/../../../include/uapi" -I"$out" \
		-c "$tests/$1.c" -o "$out/$(basename "$1").o" 2>"$out/$(basename "$1").log") || echo "not built: $1.c"
}
export -f object skeleton compile

build() {
	make -s -C "$linux/tools/lib/bpf" OUTPUT="$out/libbpf/" DESTDIR="$out/inst" prefix= all install_headers >"$out/libbpf.log" 2>&1
	make -s -C "$linux/tools/bpf/bpftool" OUTPUT="$out/bpftool/" bootstrap >"$out/bpftool.log" 2>&1
	"$bpftool" btf dump file "$btf" format c >"$include/vmlinux.h"
	{ names '[a-z0-9_]+\.l?skel\.h' | sed -E 's/\.l?skel\.h//'; names '[a-zA-Z0-9_]+\.bpf\.o' | sed 's/\.bpf\.o//'; } | sort -u >"$out/objects"
	xargs -P "$jobs" -I{} bash -c 'object {}' <"$out/objects"
	names '[a-z0-9_]+\.skel\.h' | sed 's/\.skel\.h//' | xargs -P "$jobs" -I{} bash -c 'skeleton {} skel'
	names '[a-z0-9_]+\.lskel\.h' | sed 's/\.lskel\.h//' | xargs -P "$jobs" -I{} bash -c 'skeleton {} lskel'
	# No key is registered: nothing is signed.
	printf '%s\n' '#undef __NR_add_key' '#define __NR_add_key __NR_getpid' 'unsigned char test_progs_verification_cert[1]; unsigned test_progs_verification_cert_len;' >"$out/verification_cert.h"
	sources | sed 's,^\(.*\)\.c$,prog_tests/\1,' | xargs -P "$jobs" -I{} bash -c 'compile {}'
	mkdir -p "$bin/prog_tests"
	for f in $(sources); do
		[ ! -s "$out/${f%.c}.o" ] || sed -n -E 's/^void (serial_)?test_([a-zA-Z0-9_]+)\((void)?\).*/DEFINE_TEST(\2)/p' "$tests/prog_tests/$f"
	done | sort >"$bin/prog_tests/tests.h"
	for f in test_progs cgroup_helpers trace_helpers network_helpers testing_helpers btf_helpers cap_helpers unpriv_helpers netlink_helpers jit_disasm_helpers \
		test_loader xsk disasm disasm_helpers json_writer sysctl_helpers io_helpers bpftool_helpers usdt_1 usdt_2 ../../../lib/find_bit; do
		[ ! -f "$tests/$f.c" ] || compile "$f" # each release has its own
	done
	"$cc" -static -o "$bin/test_progs" "$out"/*.o "$out/libbpf/libbpf.a" -lelf -lz -lrt -lpthread 2>"$out/link.log"
}
[ -x "$bin/test_progs" ] || build

list=$(for f in $(tested); do sed -n -E 's/^void (serial_)?test_([a-zA-Z0-9_]+)\((void)?\).*/\2/p' "$tests/prog_tests/$f"; done | sort -u | grep -E "${TESTS:-.}")

# machine boots the kernel $1 with test_progs in its initramfs and writes what the tests print to $2.
machine() {
	local root=$out/root b lib
	rm -rf "$root"
	mkdir -p "$root/bin" "$root/tmp" "$root/proc" "$root/sys" "$root/dev" "$root/run" "$root/etc" "$root/mnt"
	for b in dash ip tc mount umount timeout cat ls mkdir rm sleep true kill ping nc; do
		b=$(type -P "$b") || continue
		cp "$(realpath "$b")" "$root/bin/$(basename "$b")"
		for lib in $(ldd "$b" 2>/dev/null | grep -oE '/[^ ]+'); do mkdir -p "$root$(dirname "$lib")" && cp -n "$(realpath "$lib")" "$root$lib"; done
	done
	ln -s dash "$root/bin/sh"
	cp -r "$bin" "$root/t"
	rm -f "$root"/t/*.h "$root"/t/*.log
	strip -g "$root/t/test_progs"
	printf '%s\n' "$list" >"$root/list"
	cat >"$root/init" <<'INIT'
#!/bin/dash
export PATH=/bin
mount -t proc proc /proc; mount -t sysfs sys /sys; mount -t devtmpfs dev /dev; mount -t tmpfs tmp /tmp; mount -t tmpfs run /run
mount -t bpf bpf /sys/fs/bpf; mount -t cgroup2 cg /sys/fs/cgroup; mount -t tracefs t /sys/kernel/tracing; mount -t debugfs d /sys/kernel/debug
ip link set lo up
cd /t
while read -r t; do
	echo "### $t"
	timeout -k 5 150 ./test_progs -a "$t" 2>&1
	echo "### end $?"
done </list >/dev/ttyS1
echo o >/proc/sysrq-trigger
sleep 60
INIT
	chmod +x "$root/init"
	(cd "$root" && find . -print0 | cpio -0 -o -H newc --quiet) >"$out/initramfs"
	qemu-system-x86_64 -accel tcg -cpu max -m "${MEMORY:-3G}" -nographic -no-reboot -nodefaults -serial "file:$2.console" -serial "file:$2" \
		-kernel "$1" -initrd "$out/initramfs" -append "console=ttyS0 panic=1 oops=panic loglevel=4 mitigations=off" </dev/null
}

# served runs the tests under bpfrun exec and writes what they print to $1.
served() {
	local t code
	[ -n "${BPFRUN:-}" ] || { BPFRUN=$out/bpfrun && (cd "$here" && go build -o "$BPFRUN" ./cmd/bpfrun); }
	for t in $list; do
		code=0
		echo "### $t"
		(cd "$bin" && timeout -k 5 150 "$BPFRUN" exec --btf "$btf" --fake-root -- unshare -UrmC ./test_progs -a "$t" 2>&1 </dev/null) || code=$?
		echo "### end $code"
	done >"$1"
}

# verdicts turns what the tests print into lines "TEST PASS|FAIL|SKIP SUBTESTS".
verdicts() {
	tr -d '\r' <"$1" | awk '/^### end/ { print t, v == "" ? ($3 == 124 || $3 == 137 ? "TIMEOUT" : "FAIL") : v, n; next }
		/^### / { t = $2; v = ""; n = "" }
		/^Summary: / { split($2, p, "/"); n = p[2]; v = $6 + 0 > 0 ? "FAIL" : p[1] + 0 > 0 ? "PASS" : "SKIP" }' | sort
}

if [ -n "${VM:-}" ]; then
	[ -s "$out/native.txt" ] || machine "$VM" "$out/native.txt"
	verdicts "$out/native.txt" >"$out/native"
fi
served "$out/served.txt"
verdicts "$out/served.txt" >"$out/served"
if [ -s "$out/native" ]; then
	echo "test native served (subtests)"
	join -a1 -a2 "$out/native" "$out/served"
	echo "pass natively: $(grep -c ' PASS' "$out/native"); of these, served: $(join "$out/native" "$out/served" | grep -c ' PASS.* PASS')"
else
	cat "$out/served"
fi
