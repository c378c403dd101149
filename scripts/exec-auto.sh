#!/bin/bash
# exec-auto.sh KERNEL HEADERS: runs Debian's bcc tools (package bpfcc-tools) and the scripts of bpftrace under bpfrun exec --events auto on KERNEL (a name or a BTF
# file), one at a time. The commands, and what each prints of the invented events or why it does not, are in internal/exec/testdata/auto-bcc.txt and auto-bpftrace.txt.
# A line for each: NAME prints|silent|refused SECONDS CAUSE, and "unexpected" if the table says something else; then how many there are of each kind.
# HEADERS is a directory with the headers of that kernel, which bcc and bpftrace compile with. MODULES are those that are loaded (--module-btf), LIMIT the seconds that
# each may take. BPFRUN is the bpfrun to use; if unset, the script builds it. OUT keeps the outputs, and what is there already is not run again. ONLY is a list of tools.
set -uo pipefail
cd "$(dirname "$0")/.." || exit
kernel=${1:?a kernel} headers=${2:?a directory with the headers of that kernel}
tmp=${OUT:-$(mktemp -d)}
mkdir -p "$tmp"
[ -n "${OUT:-}" ] || trap 'rm -rf "$tmp"' EXIT
bpfrun=${BPFRUN:-}
if [ -z "$bpfrun" ]; then
	bpfrun=$tmp/bpfrun
	go build -o "$bpfrun" ./cmd/bpfrun || exit 1
fi
modules=()
for m in ${MODULES:-}; do modules+=(--module-btf "$m"); done
export PYTHONUNBUFFERED=1 BCC_KERNEL_SOURCE=$headers BPFTRACE_KERNEL_SOURCE=$headers BPFTRACE_KERNEL_BUILD=$headers
# Lines that say why a tool failed, the most telling first.
causes=("Failed to attach BPF program .* to .*" "Failed to load program: .*" ".* is not found in vmlinux BTF" "is older than|: error: .*" "ERROR: .*" "(Error|Exception|error)[^ ]*: .*" ".*not found.*" ".*[Cc]annot .*|Can't .*")
why() { # NAME
	local c line
	for c in "${causes[@]}"; do
		line=$(cat "$tmp/$1.err" "$tmp/$1.out" | grep -a -o -m1 -E "$c" | head -1 | cut -c1-160)
		[ -z "$line" ] || { echo "$line"; return; }
	done
	grep -a -v '^$' "$tmp/$1.err" | tail -1 | cut -c1-160
}
declare -A kinds
run() { # PREFIX EXPECTED COMMAND...
	local prefix=$1 want=$2 name code start kind cause='' note=''
	shift 2
	name=$(basename "$1")
	name=${name%-bpfcc}
	[ -z "${ONLY:-}" ] || [[ " $ONLY " == *" $name "* ]] || return
	type -p "$1" > /dev/null || { echo "$name is not installed"; kinds[missing]=$((${kinds[missing]:-0} + 1)); return; }
	if [ ! -e "$tmp/$prefix$name.code" ]; then
		start=$SECONDS
		timeout "${LIMIT:-120}" "$bpfrun" exec --btf "$kernel" "${modules[@]}" --events auto --fake-root --timeout 5s -- "$@" > "$tmp/$prefix$name.out" 2> "$tmp/$prefix$name.err" < /dev/null
		echo "$? $((SECONDS - start))" > "$tmp/$prefix$name.code"
	fi
	read -r code start < "$tmp/$prefix$name.code"
	# A tool is refused if it ended before anything could happen; it prints if what it says matches.
	if ! grep -a -q 'exec: invented: ' "$tmp/$prefix$name.err"; then
		kind=refused cause=$(why "$prefix$name")
	elif [[ $want == :* ]] && grep -a -z -q -P -- "${want#: }" "$tmp/$prefix$name.out"; then
		kind=prints
	else
		kind=silent
	fi
	[ "$code" != 124 ] || cause="did not end; $cause"
	if [[ $want == :* && $kind != prints || $want == !* && $kind == prints ]]; then note=" unexpected"; fi
	kinds[$kind]=$((${kinds[$kind]:-0} + 1))
	echo "$name $kind ${start}s$note $cause"
}
for table in bcc bpftrace; do
	while IFS= read -r line; do
		case $line in '' | '#'*) continue ;; esac
		if [[ $line == *" : "* ]]; then
			command=${line%% : *} want=": ${line#* : }"
		else
			command=${line%% ! *} want="! ${line#* ! }"
		fi
		declare -a words=()
		eval "words=($command)"
		run "$table-" "$want" "${words[@]}"
	done < "internal/exec/testdata/auto-$table.txt"
done
for k in "${!kinds[@]}"; do echo "$k: ${kinds[$k]}"; done
