#!/bin/sh
# Compiles bench.c and writes one file of hex bytecode per program (linked with its
# subprograms). Needs clang and llvm-objcopy; the results are committed.
set -e
cd "$(dirname "$0")"
o=$(mktemp)
for p in fib hash hash64 sieve matmul pkt; do
	${CLANG:-clang-14} -O2 -target bpf -mcpu=v3 -c bench.c -o "$o"
	${OBJCOPY:-llvm-objcopy} -O binary --only-section=bench/$p "$o" "$o.bin"
	xxd -p -c 32 "$o.bin" > $p.hex
done
# Calls need linking: all functions in one section, the first one first.
${CLANG:-clang-14} -O2 -target bpf -mcpu=v3 -DONE_SECTION -c bench.c -o "$o"
${OBJCOPY:-llvm-objcopy} -O binary --only-section=bench/calls "$o" "$o.bin"
xxd -p -c 32 "$o.bin" > calls.hex
rm -f "$o" "$o.bin"
