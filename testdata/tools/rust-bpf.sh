#!/bin/bash
# rust-bpf.sh OUT PROGRAM.rs SHIM.bpf.c EXPORT...
#
# Makes a BPF object of a Rust program and of C that knows the kernel's types, as bitcode linked before code generation, so that
# CO-RE records of the C end up in the program that calls it. Runs inside of the Rust toolchain (scripts/toolchain.sh --run),
# in the repository's root. Debian has no core library for BPF: it is compiled first, from the package rust-src.
set -euo pipefail

out=$1 rust=$2 shim=$3; shift 3
exports=$(IFS=,; echo "$*")
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
library=$(ls -d /usr/src/rustc-*/library)
export RUSTC_BOOTSTRAP=1 # a stable compiler takes what a core library needs
rs() { rustc --edition 2024 --target bpfel-unknown-none -C panic=abort -L "$dir" "$@"; }

rs --crate-name core --crate-type rlib -C opt-level=3 -Zforce-unstable-if-unmarked --cap-lints allow --cfg no_fp_fmt_parse \
	--remap-path-prefix="$library"=/rust/library -o "$dir/libcore.rlib" "$library/core/src/lib.rs"
echo '#![feature(compiler_builtins)] #![compiler_builtins] #![no_std]' |
	rs --crate-name compiler_builtins --crate-type rlib -Zforce-unstable-if-unmarked --cap-lints allow -o "$dir/libcompiler_builtins.rlib" -
rs --crate-type rlib -C opt-level=3 -C debuginfo=2 -C target-cpu=v3 --remap-path-prefix="$PWD"=. --emit=llvm-bc -o "$dir/rust.bc" "$rust"
clang-22 --target=bpfel -mcpu=v3 -O2 -g -Wall -fdebug-compilation-dir=testdata -ffile-prefix-map=testdata/= -Iexamples/include -emit-llvm -c "$shim" -o "$dir/shim.bc"
llvm-link-22 "$dir/rust.bc" "$dir/shim.bc" -o "$dir/all.bc"
opt-22 -passes='internalize,default<O2>,globaldce' -internalize-public-api-list="$exports" "$dir/all.bc" -o "$dir/opt.bc"
llc-22 -mcpu=v3 -filetype=obj "$dir/opt.bc" -o "$out"
llvm-strip-22 -g "$out"
