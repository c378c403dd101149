//go:build linux && (amd64 || arm64)

package exec

import "golang.org/x/sys/unix"

// rule decides what happens to a system call.
type rule struct {
	nr   int
	when condition
	arg  int
	val  uint32
}

// condition decides whether a rule applies; calls that match no rule go to the host.
type condition uint8

const (
	always    condition = iota
	equal               // the low word of the argument is val
	byte1               // bits 8 to 15 of the low word of the argument are val
	bits                // the low word of the argument has a bit of val
	words               // the argument is a multiple of 8 from 8 to maxWords
	sharedMap           // mmap of a file, MAP_SHARED
	refused             // not notified: fails with errno val
)

// maxWords is the most bytes of a read(2) that may be one of a perf event's counts: larger reads
// are common, and each costs a notification.
const maxWords = 512

// rules returns the calls that are notified to the supervisor or refused.
func rules(asRoot bool) []rule {
	list := []rule{
		{nr: unix.SYS_BPF}, {nr: unix.SYS_PERF_EVENT_OPEN}, {nr: sysUprobe},
		{nr: unix.SYS_FSTAT}, {nr: unix.SYS_FSTATFS}, {nr: unix.SYS_FCHDIR}, {nr: unix.SYS_GETCWD}, {nr: unix.SYS_GETDENTS64},
		{nr: unix.SYS_FSOPEN}, {nr: unix.SYS_FSCONFIG}, {nr: unix.SYS_FSMOUNT},
		{nr: unix.SYS_UNAME},
		{nr: unix.SYS_PRLIMIT64, when: equal, arg: 1, val: unix.RLIMIT_MEMLOCK},
		{nr: unix.SYS_PRLIMIT64, when: equal, arg: 1, val: limitLocks},
		{nr: sysSetrlimit, when: equal, arg: 0, val: unix.RLIMIT_MEMLOCK}, {nr: sysSetrlimit, when: equal, arg: 0, val: limitLocks},
		{nr: sysGetrlimit, when: equal, arg: 0, val: limitLocks},
		{nr: unix.SYS_READ, when: words, arg: 2}, {nr: unix.SYS_PREAD64, when: words, arg: 2}, {nr: unix.SYS_READV}, {nr: unix.SYS_PREADV}, {nr: unix.SYS_PREADV2},
		{nr: unix.SYS_IOCTL, when: byte1, arg: 1, val: '$'}, {nr: unix.SYS_IOCTL, when: byte1, arg: 1, val: 0x89},
		{nr: unix.SYS_MMAP, when: sharedMap},
		{nr: unix.SYS_EPOLL_CTL}, {nr: unix.SYS_EPOLL_PWAIT}, {nr: unix.SYS_EPOLL_PWAIT2},
		{nr: sysPoll}, {nr: unix.SYS_PPOLL},
		{nr: unix.SYS_CLOCK_NANOSLEEP},
		{nr: unix.SYS_SOCKET, when: equal, arg: 0, val: unix.AF_XDP}, {nr: unix.SYS_SOCKET, when: equal, arg: 0, val: unix.AF_NETLINK},
		{nr: unix.SYS_SENDTO}, {nr: unix.SYS_SENDMSG}, {nr: unix.SYS_SENDMMSG}, {nr: unix.SYS_RECVMSG}, {nr: unix.SYS_RECVFROM},
		{nr: unix.SYS_SETSOCKOPT, when: equal, arg: 2, val: soAttachBPF}, {nr: unix.SYS_SETSOCKOPT, when: equal, arg: 2, val: soAttachReuseportBPF},
		{nr: unix.SYS_SETSOCKOPT, when: equal, arg: 1, val: unix.SOL_NETLINK},
		{nr: unix.SYS_SETSOCKOPT, when: equal, arg: 2, val: soDetachFilter}, {nr: unix.SYS_SETSOCKOPT, when: equal, arg: 2, val: soDetachReuseportBPF},
		// A real network namespace of the tool's own could be changed by calls that are let
		// through, so namespaces are simulated. The flags of clone3 are in memory, where they can
		// change after a check: libraries use clone when there is no clone3.
		{nr: unix.SYS_UNSHARE, when: bits, arg: 0, val: unix.CLONE_NEWNET | unix.CLONE_NEWNS}, {nr: unix.SYS_CLONE, when: bits, arg: 0, val: unix.CLONE_NEWNET}, {nr: unix.SYS_SETNS},
		{nr: unix.SYS_CLONE3, when: refused, val: uint32(unix.ENOSYS)},
		// A supervisor of the tool's own could let calls through once this one has ended.
		{nr: unix.SYS_SECCOMP, when: bits, arg: 1, val: filterNewListener},
	}
	list = append(append(list, pathRules()...), archRules...)
	if asRoot {
		for _, nr := range []int{unix.SYS_GETUID, unix.SYS_GETEUID, unix.SYS_GETGID, unix.SYS_GETEGID} {
			list = append(list, rule{nr: nr, when: refused, val: 0}) // errno 0: the result is 0
		}
		list = append(list, rule{nr: unix.SYS_CAPGET}, rule{nr: unix.SYS_CAPSET})
	}
	return list
}

// filter compiles the rules to classic BPF: each rule is one comparison that skips the rule's
// instructions when it does not match. The rules of one call are adjacent, so that a condition that
// does not hold falls through to the next. rest is the action for calls that no rule is about.
func filter(list []rule, rest uint32) []unix.SockFilter {
	const (
		ld   = unix.BPF_LD | unix.BPF_W | unix.BPF_ABS
		jeq  = unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K
		jset = unix.BPF_JMP | unix.BPF_JSET | unix.BPF_K
		jgt  = unix.BPF_JMP | unix.BPF_JGT | unix.BPF_K
		jge  = unix.BPF_JMP | unix.BPF_JGE | unix.BPF_K
		and  = unix.BPF_ALU | unix.BPF_AND | unix.BPF_K
		ret  = unix.BPF_RET | unix.BPF_K
	)
	arg := func(i int) uint32 { return uint32(16 + 8*i) } // low word: both architectures are little-endian
	f := []unix.SockFilter{
		{Code: ld, K: 4}, // arch
		{Code: jeq, Jt: 1, K: auditArch},
		{Code: ret, K: unix.SECCOMP_RET_ERRNO | uint32(unix.ENOSYS)}, // 32-bit calls would bypass the filter
		{Code: ld, K: 0},
	}
	if foreignBit != 0 {
		f = append(f, unix.SockFilter{Code: jge, Jf: 1, K: foreignBit}, unix.SockFilter{Code: ret, K: unix.SECCOMP_RET_ERRNO | uint32(unix.ENOSYS)})
	}
	notify := unix.SockFilter{Code: ret, K: unix.SECCOMP_RET_USER_NOTIF}
	pass := unix.SockFilter{Code: ret, K: unix.SECCOMP_RET_ALLOW}
	reload := unix.SockFilter{Code: ld, K: 0}
	for _, r := range list {
		if r.nr < 0 {
			continue
		}
		var body []unix.SockFilter
		switch r.when {
		case always:
			body = []unix.SockFilter{notify}
		case allow:
			body = []unix.SockFilter{pass}
		case refused:
			body = []unix.SockFilter{{Code: ret, K: unix.SECCOMP_RET_ERRNO | r.val}}
		case equal:
			body = []unix.SockFilter{{Code: ld, K: arg(r.arg)}, {Code: jeq, Jf: 1, K: r.val}, notify, reload}
		case bits:
			body = []unix.SockFilter{{Code: ld, K: arg(r.arg)}, {Code: jset, Jf: 1, K: r.val}, notify, reload}
		case words:
			body = []unix.SockFilter{{Code: ld, K: arg(r.arg)}, {Code: jgt, Jt: 3, K: maxWords}, {Code: jset, Jt: 2, K: 7}, {Code: jeq, Jt: 1, K: 0}, notify, reload}
		case byte1:
			body = []unix.SockFilter{{Code: ld, K: arg(r.arg)}, {Code: and, K: 0xff00}, {Code: jeq, Jf: 1, K: r.val << 8}, notify, reload}
		case sharedMap:
			body = []unix.SockFilter{{Code: ld, K: arg(3)}, {Code: jset, Jt: 2, K: unix.MAP_ANONYMOUS}, {Code: jset, Jf: 1, K: unix.MAP_SHARED}, notify, pass}
		}
		f = append(f, unix.SockFilter{Code: jeq, Jf: uint8(len(body)), K: uint32(r.nr)})
		f = append(f, body...)
	}
	last, _ := sysNumber(lastCall)
	return append(f, unix.SockFilter{Code: jgt, Jf: 1, K: uint32(last)}, unix.SockFilter{Code: ret, K: unix.SECCOMP_RET_ERRNO | uint32(unix.ENOSYS)},
		unix.SockFilter{Code: ret, K: rest})
}
