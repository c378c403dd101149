#!/bin/sh
# btf-pahole.sh FILE...: generates BTF from each ELF file with `bpfrun btf gen` and with pahole, and compares them as sets of types, functions and variables
# (scripts/btfset). Prints processor time and peak memory of both; exit code 1 when a set differs. Needs pahole and GNU time; no root.
# FEATURES, a list for --features and --btf_features, replaces the features of every pahole since 1.24. BPFRUN and PAHOLE are the commands to use, JOBS is the number of pahole's threads (with more than one it writes some functions more than once).
set -eu
bpfrun=${BPFRUN:-bpfrun}
pahole=${PAHOLE:-pahole}
jobs=${JOBS:-1}
features=${FEATURES:-}
here=$(cd "$(dirname "$0")/.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
(cd "$here" && go build -o "$work/btfset" ./scripts/btfset)
status=0
for file; do
	/usr/bin/time -f '%U %S %M' -o "$work/theirs.time" "$pahole" -j"$jobs" "${features:+--btf_features=}${features:---btf_gen_floats}" --btf_encode_detached="$work/theirs.btf" "$file"
	/usr/bin/time -f '%U %S %M' -o "$work/ours.time" "$bpfrun" btf gen "$file" ${features:+--features "$features"} -q -o "$work/ours.btf"
	printf '%s: pahole %s, bpfrun %s (user s, system s, kB): ' "$(basename "$file")" "$(tail -1 "$work/theirs.time")" "$(tail -1 "$work/ours.time")"
	"$work/btfset" "$work/theirs.btf" "$work/ours.btf" || status=1
done
exit $status
