#!/bin/bash
# exec-auto.sh KERNEL HEADERS: runs Debian's bcc tools (package bpfcc-tools) and the scripts of bpftrace under bpfrun exec --events auto on KERNEL (a name or a BTF
# file), one at a time. The commands, and what each prints of the invented events or why it does not, are in internal/exec/testdata/auto-bcc.txt and auto-bpftrace.txt.
# A line for each: NAME prints|silent|refused SECONDS CAUSE, and "unexpected" if the table says something else; then how many there are of each kind.
# HEADERS is a directory with the headers of that kernel, which bcc and bpftrace compile with. MODULES are those that are loaded (--module-btf), LIMIT the seconds that
# each may take. BPFRUN is the bpfrun to use; if unset, the script builds it. OUT keeps the outputs, and what is there already is not run again. ONLY is a list of tools.
# TABLES are the tables to run ("bcc bpftrace"): sid-libbpf, sid-bcc and sid-bpftrace are of the tools of Debian sid, which are in ROOT, made by scripts/toolchain.sh
# and with ldconfig run in it; they start there as nobody. KERNEL is then a name, and HEADERS is - if the headers are installed in ROOT, too:
#
#     scripts/toolchain.sh /opt/sid sid libbpf-tools bpfcc-tools bpftrace bash dash coreutils util-linux libc-bin python3 kmod make linux-headers-7.2.13+deb14-amd64
#     chroot /opt/sid ldconfig
#     MODULES="ext4 xfs btrfs nfs nfsv4 md-mod f2fs" ROOT=/opt/sid TABLES="sid-libbpf sid-bcc sid-bpftrace" scripts/exec-auto.sh 7.2.13 -
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
export PYTHONUNBUFFERED=1
[ "$headers" = - ] || export BCC_KERNEL_SOURCE=$headers BPFTRACE_KERNEL_SOURCE=$headers BPFTRACE_KERNEL_BUILD=$headers
# inside runs a command in ROOT, in a mount namespace of its own, as nobody; bpfrun and the types that kernels add kept are in /bpfrun there.
inside() {
	if [ -z "${ROOT:-}" ]; then
		"$@"
		return
	fi
	unshare --mount bash -euc '
		root=$0
		mkdir -p "$root/bpfrun"
		for d in proc sys dev; do mount --rbind "/$d" "$root/$d"; done
		mount -t tmpfs -o mode=755 bpfrun "$root/bpfrun"
		cp "$1" "$root/bpfrun/bpfrun"
		[ ! -d "$2" ] || cp -r "$2" "$root/bpfrun/kernels"
		chmod -R a+rX "$root/bpfrun"
		shift 2
		exec chroot "$root" /usr/bin/env -i PATH=/usr/sbin:/usr/bin HOME=/tmp LANG=C.UTF-8 PYTHONUNBUFFERED=1 BPFRUN_KERNELS=/bpfrun/kernels \
			/usr/bin/setpriv --reuid=65534 --regid=65534 --clear-groups --inh-caps=-all "$@"' "$ROOT" "$bpfrun" "${XDG_CACHE_HOME:-$HOME/.cache}/bpfrun/kernels" "$@"
}
run_bpfrun=$bpfrun
[ -z "${ROOT:-}" ] || run_bpfrun=/bpfrun/bpfrun
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
	name=${name%-bpfcc} name=${name%-libbpf}
	[ -z "${ONLY:-}" ] || [[ " $ONLY " == *" $name "* ]] || return
	PATH=${ROOT:+$ROOT/usr/sbin:}$PATH type -p "$1" > /dev/null || { echo "$name is not installed"; kinds[missing]=$((${kinds[missing]:-0} + 1)); return; }
	if [ ! -e "$tmp/$prefix$name.code" ]; then
		start=$SECONDS
		inside timeout "${LIMIT:-120}" "$run_bpfrun" exec --btf "$kernel" "${modules[@]}" --events auto --fake-root --timeout 5s -- "$@" > "$tmp/$prefix$name.out" 2> "$tmp/$prefix$name.err" < /dev/null
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
for table in ${TABLES:-bcc bpftrace}; do
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
