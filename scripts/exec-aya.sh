#!/bin/bash
# exec-aya.sh DIR [KERNEL...]: builds internal/exec/testdata/aya, a tool with aya's loader, and compares what it prints under bpfrun exec, as user nobody, with the
# recorded output on each KERNEL (a name or a BTF file; default: the embedded one). rustc, cargo and aya's crates are those of Debian sid, unpacked into DIR;
# the tool is linked statically. BPFRUN is the bpfrun to use; if unset, the script builds it. Needs root, for chroot and for becoming nobody.
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
chmod 755 "$tmp"
cp -r internal/exec/testdata/aya/. "$tmp"
mkdir "$tmp/.cargo"
cat >"$tmp/.cargo/config.toml" <<'END'
[source.crates-io]
replace-with = "debian"

[source.debian]
directory = "/usr/share/cargo/registry"
END
# A target that is named keeps the flags away from build scripts, which load libraries.
target=$(uname -m)-unknown-linux-gnu
toolchain=$PWD/scripts/toolchain.sh
(cd "$tmp" && "$toolchain" --run "$dir" env HOME=/tmp CARGO_HOME=/tmp/cargo RUSTFLAGS='-C target-feature=+crt-static' \
	cargo build -q --release --offline --target "$target" --target-dir /tmp/target)
cp "$dir/tmp/target/$target/release/execs" "$tmp/execs"

bpfrun=${BPFRUN:-}
if [ -z "$bpfrun" ]; then
	bpfrun=$tmp/bpfrun
	go build -o "$bpfrun" ./cmd/bpfrun
else
	cp "$bpfrun" "$tmp/bpfrun" && bpfrun=$tmp/bpfrun # where nobody can run it
fi
cp examples/exec/exec.bpf.o "$tmp"
status=0
[ $# -gt 0 ] || set -- embedded
for kernel; do
	if [ -f "$kernel" ]; then
		cp "$kernel" "$tmp" && kernel=$tmp/$(basename "$kernel")
	fi
	if (cd "$tmp" && setpriv --reuid=nobody --regid=nogroup --clear-groups env HOME=/nonexistent XDG_CACHE_HOME=/nonexistent \
		"$bpfrun" exec --btf "$kernel" --events execs.events -- ./internal/execs exec.bpf.o 2) >"$tmp/output" && diff -u internal/exec/testdata/aya/execs.golden "$tmp/output"; then
		echo "$(basename "$kernel"): same output"
	else
		echo "$(basename "$kernel"): other output"
		status=1
	fi
done
exit $status
