#!/bin/bash
# exec-aya.sh DIR [KERNEL...]: builds examples/exec/aya, a tool with aya's loader, and compares what it prints under bpfrun exec, as user nobody, with the
# recorded output on each KERNEL (a name or a BTF file; default: the embedded one); then its tests run there, by cargo test. rustc, cargo and aya's crates are
# those of Debian sid, unpacked into DIR, where all of it runs. BPFRUN is the bpfrun to use; if unset, the script builds it. Needs root, for chroot.
set -euo pipefail
[ $# -ge 1 ] || { echo "usage: exec-aya.sh DIR [KERNEL...]" >&2; exit 2; }
mkdir -p "$1"
dir=$(cd "$1" && pwd)
shift
cd "$(dirname "$0")/.."
if [ ! -e "$dir/READY" ]; then
	scripts/toolchain.sh "$dir" sid rustc cargo libstd-rust-dev librust-aya-dev gcc libc6-dev coreutils dash bash findutils grep sed
	ln -sf gcc "$dir/usr/bin/cc" # made by a maintainer script otherwise
fi
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
mkdir -p "$tmp/exec" "$tmp/xdp" "$tmp/cargo" "$tmp/kernels" "$tmp/home"
cp -r examples/exec/aya examples/exec/exec.bpf.o "$tmp/exec"
cp examples/xdp/xdp.bpf.o "$tmp/xdp"
cat >"$tmp/cargo/config.toml" <<'END'
[source.crates-io]
replace-with = "debian"

[source.debian]
directory = "/usr/share/cargo/registry"
END
if [ -n "${BPFRUN:-}" ]; then
	cp "$BPFRUN" "$dir/usr/bin/bpfrun"
else
	go build -o "$dir/usr/bin/bpfrun" ./cmd/bpfrun
fi
[ $# -gt 0 ] || set -- embedded
names=()
for kernel; do
	if [ -f "$kernel" ]; then
		cp "$kernel" "$tmp/kernels" && kernel=/src/kernels/$(basename "$kernel")
	fi
	names+=("$kernel")
done
chmod -R a+rwX "$tmp"
chmod 1777 "$dir/tmp"

# inside COMMAND...: runs in the toolchain, as nobody, in the directory of the tool.
toolchain=$PWD/scripts/toolchain.sh
inside() {
	(cd "$tmp" && "$toolchain" --run "$dir" /usr/sbin/chroot --userspec=65534:65534 / /usr/bin/env -C /src/exec/aya HOME=/src/home CARGO_HOME=/src/cargo \
		CARGO_TARGET_DIR=/tmp/target "$@")
}
inside cargo build -q --offline
status=0
for kernel in "${names[@]}"; do
	name=$(basename "$kernel")
	if inside bpfrun exec --btf "$kernel" --events execs.events -- /tmp/target/debug/execs ../exec.bpf.o 2 | diff -u internal/exec/testdata/aya-execs.golden -; then
		echo "$name: same output"
	else
		echo "$name: other output"
		status=1
	fi
	runner=CARGO_TARGET_$(uname -m | tr a-z A-Z)_UNKNOWN_LINUX_GNU_RUNNER
	inside env "$runner=bpfrun exec --btf $kernel --fake-root --quiet --" cargo test -q --offline --test programs || status=1
done
exit $status
