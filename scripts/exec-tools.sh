#!/bin/bash
# exec-tools.sh [KERNEL...]: runs packaged BPF tools under bpfrun exec. First with events, on the embedded kernel, compared with the recorded output in
# testdata; then each program of libbpf-tools without events on each KERNEL (a name or a BTF file): does it reach its loop, and if not, why?
# BPFRUN_MODULES are modules of that kernel, for --module-btf. Tools are searched for in BPFRUN_TOOLS, a list of directories, and in /usr/sbin. BPFRUN is the bpfrun
# to use; if unset, the script builds it.
set -uo pipefail
cd "$(dirname "$0")/.." || exit
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
status=0
echo "| tools with events | same output | other output | not installed |"
echo "|---|---:|---:|---:|"
go test ./internal/exec -count=1 -run '^TestPackagedTools' -v > "$tmp/golden" 2>&1 || status=1
for kind in bpftool bpftrace xdp libbpf-tools; do
	case $kind in
	libbpf-tools) names='WhatHappens/(b[^p]|bp[^f]|[ac-wyz])' ;;
	*) names="WhatHappens/$kind" ;;
	esac
	count() { grep -c -E "^ +--- $1: .*$names" "$tmp/golden"; }
	echo "| $kind | $(count PASS) | $(count FAIL) | $(count SKIP) |"
done
grep -E '^ +--- FAIL:' "$tmp/golden" | sed 's/.*WhatHappens./differs: /'
[ $# -gt 0 ] || exit $status

bpfrun=${BPFRUN:-}
if [ -z "$bpfrun" ]; then
	bpfrun=$tmp/bpfrun
	go build -o "$bpfrun" ./cmd/bpfrun || exit 1
fi
programs="bashreadline bindsnoop biolatency biopattern biosnoop biostacks biotop bitesize btrfsdist btrfsslower cachestat capable cpudist cpufreq
drsnoop execsnoop exitsnoop ext4dist ext4slower filelife filetop fsdist fsslower funclatency gethostlatency hardirqs javagc killsnoop klockstat
ksnoop llcstat mdflush mountsnoop nfsdist nfsslower numamove offcputime oomkill opensnoop readahead runqlat runqlen runqslower sigsnoop slabratetop
softirqs solisten statsnoop syscount tcpconnect tcpconnlat tcplife tcprtt tcpstates tcpsynbl tcptop tcptracer vfsstat wakeuptime xfsdist xfsslower"
printf 'clock\npass 1ms\n---\npass 1ms\n' > "$tmp/events"
PATH="${BPFRUN_TOOLS:-}:/usr/sbin:$PATH"
modules=()
for m in ${BPFRUN_MODULES:-}; do modules+=(--module-btf "$m"); done
for kernel; do
	ended=0 missing=0
	: > "$tmp/why"
	for p in $programs; do
		type -p "$p" > /dev/null || { missing=$((missing + 1)); continue; }
		args=()
		case $p in
		bashreadline) args=(-s /bin/bash) ;;
		biolatency | runqlat | runqlen | bitesize | cpudist | softirqs | hardirqs | cachestat | vfsstat | biopattern | ext4dist | btrfsdist | nfsdist | xfsdist | tcpsynbl) args=(1 1) ;;
		llcstat | wakeuptime | offcputime | biostacks) args=(1) ;;
		funclatency) args=(-d 1 vfs_read) ;;
		fsdist) args=(-t ext4 1 1) ;;
		fsslower) args=(-t ext4) ;;
		javagc) args=(-p 1) ;;
		ksnoop) args=(trace vfs_read) ;;
		slabratetop | tcptop | filetop | biotop) args=(-C 1 1) ;;
		readahead | syscount | klockstat | tcprtt) args=(-d 1) ;;
		esac
		timeout 60 "$bpfrun" exec -q --btf "$kernel" "${modules[@]}" --events "$tmp/events" --fake-root -- "$p" "${args[@]}" > "$tmp/out" 2> "$tmp/err" < /dev/null
		code=$?
		case $code in
		0 | 130) ended=$((ended + 1)) ;;
		*)
			why=$(grep -a -o -m1 -E "failed to find kernel BTF type ID of '[^']*'|BPF program load failed: .*|failed to create kprobe '[^']*' perf event: .*|failed to determine tracepoint '[^']*'.*|failed to (set attach target|attach).*|no such file.*|[Nn]ot? found.*" "$tmp/err" | head -1)
			echo "$p ($code): ${why:-$(grep -a -v '^$' "$tmp/err" | head -1 | cut -c1-120)}" >> "$tmp/why"
			;;
		esac
	done
	echo
	echo "$kernel: $ended programs reach their loop and end, $(wc -l < "$tmp/why") do not, $missing are not installed"
	cat "$tmp/why"
done
exit $status
