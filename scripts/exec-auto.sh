#!/bin/bash
# exec-auto.sh KERNEL HEADERS: runs a sample of 60 of Debian's bcc tools (package bpfcc-tools) and all scripts of bpftrace under bpfrun exec --events auto on KERNEL
# (a name or a BTF file). Which load and reach their loop, which print what the invented events tell, and why not? HEADERS is a directory with the headers of that
# kernel, which bcc and bpftrace compile with. LIMIT are the seconds that each may take. BPFRUN is the bpfrun to use; if unset, the script builds it. OUT keeps the outputs. ONLY is a list of tools.
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
bcc="argdist bindsnoop biolatency biolatpcts biopattern biosnoop biotop bitesize cachestat capable compactsnoop cpudist cpuunclaimed criticalstat dcsnoop dcstat
drsnoop execsnoop exitsnoop ext4dist ext4slower filelife fileslower filetop funccount funclatency funcslower gethostlatency hardirqs killsnoop klockstat
mdflush memleak mountsnoop offcputime offwaketime oomkill opensnoop profile readahead runqlat runqlen runqslower shmsnoop slabratetop softirqs solisten
stackcount statsnoop syncsnoop syscount tcpaccept tcpconnect tcpconnlat tcpdrop tcplife tcpstates trace vfsstat xfsslower"
bt=$(cd /usr/sbin && ls -- *.bt)
run() { # NAME COMMAND...
	local name=$1 code why
	shift
	BCC_KERNEL_SOURCE=$headers BPFTRACE_KERNEL_SOURCE=$headers BPFTRACE_KERNEL_BUILD=$headers timeout "${LIMIT:-120}" "$bpfrun" exec --btf "$kernel" --events auto --fake-root --timeout 5s -- "$@" > "$tmp/$name.out" 2> "$tmp/$name.err" < /dev/null
	code=$?
	why=$(grep -a -m1 -E "^(bpf: |error:|.*[Ee]rror|.*[Ff]ailed|Exception|.*not found|.*cannot)" "$tmp/$name.err" | cut -c1-160)
	echo "$name $code invented=$(grep -a -c 'exec: invented: ' "$tmp/$name.err") lines=$(grep -a -c . "$tmp/$name.out") $why"
}
for t in $bcc; do
	[ -z "${ONLY:-}" ] || [[ " $ONLY " == *" $t "* ]] || continue
	args=()
	case $t in
	argdist) args=(-i 1 -n 1 -C 'p::vfs_read(struct file *file, char *buf, size_t count):size_t:count') ;;
	criticalstat) args=(-p) ;;
	filetop | biotop | slabratetop) args=(-C 1 1) ;;
	funccount) args=(-d 1 'vfs_*') ;;
	funclatency | stackcount) args=(-d 1 vfs_read) ;;
	funcslower) args=(-u 1 vfs_read) ;;
	klockstat | syscount) args=(-d 1) ;;
	memleak) args=(1 1) ;;
	offcputime | offwaketime | profile) args=(1) ;;
	trace) args=(vfs_read) ;;
	esac
	run "bcc-$t" "$t-bpfcc" "${args[@]}"
done
for t in $bt; do
	[ -z "${ONLY:-}" ] || [[ " $ONLY " == *" $t "* ]] || continue
	run "$t" "/usr/sbin/$t"
done
