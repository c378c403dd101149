//go:build linux && (amd64 || arm64)

package exec

import (
	"fmt"
	"os"
	osexec "os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/bpfrun/bpfrun/internal/kernel/hook"
)

func init() { tools["refusals"] = refusalTool }

// noPaths are the system calls of Linux 7.2 that take no path. bpf(2) and fsconfig(2) have paths in
// memory and are served by handlers of their own; names of POSIX message queues, keys and memfds
// are no paths; fchdir(2) and getcwd(2) are about the working directory.
const noPaths = `
read write close fstat poll lseek mmap mprotect munmap brk rt_sigaction rt_sigprocmask rt_sigreturn ioctl pread64 pwrite64 readv writev pipe select sched_yield mremap msync mincore madvise
shmget shmat shmctl dup dup2 pause nanosleep getitimer alarm setitimer getpid sendfile socket accept sendto recvfrom sendmsg recvmsg shutdown listen getsockname getpeername socketpair
setsockopt getsockopt clone fork vfork exit wait4 kill uname semget semop semctl shmdt msgget msgsnd msgrcv msgctl fcntl flock fsync fdatasync ftruncate getdents getcwd fchdir fchmod fchown
umask gettimeofday getrlimit getrusage sysinfo times ptrace getuid syslog getgid setuid setgid geteuid getegid setpgid getppid getpgrp setsid setreuid setregid getgroups setgroups setresuid
getresuid setresgid getresgid getpgid setfsuid setfsgid getsid capget capset rt_sigpending rt_sigtimedwait rt_sigqueueinfo rt_sigsuspend sigaltstack personality ustat fstatfs sysfs
getpriority setpriority sched_setparam sched_getparam sched_setscheduler sched_getscheduler sched_get_priority_max sched_get_priority_min sched_rr_get_interval mlock munlock mlockall munlockall
vhangup modify_ldt _sysctl prctl arch_prctl adjtimex setrlimit sync settimeofday reboot sethostname setdomainname iopl ioperm create_module init_module delete_module get_kernel_syms query_module
nfsservctl getpmsg putpmsg afs_syscall tuxcall security gettid readahead fsetxattr fgetxattr flistxattr fremovexattr tkill time futex sched_setaffinity sched_getaffinity set_thread_area io_setup
io_destroy io_getevents io_submit io_cancel get_thread_area lookup_dcookie epoll_create epoll_ctl_old epoll_wait_old remap_file_pages getdents64 set_tid_address restart_syscall semtimedop
fadvise64 timer_create timer_settime timer_gettime timer_getoverrun timer_delete clock_settime clock_gettime clock_getres clock_nanosleep exit_group epoll_wait epoll_ctl tgkill vserver mbind
set_mempolicy get_mempolicy mq_open mq_unlink mq_timedsend mq_timedreceive mq_notify mq_getsetattr kexec_load waitid add_key request_key keyctl ioprio_set ioprio_get inotify_init
inotify_rm_watch migrate_pages pselect6 ppoll unshare set_robust_list get_robust_list splice tee sync_file_range vmsplice move_pages epoll_pwait signalfd timerfd_create eventfd fallocate
timerfd_settime timerfd_gettime accept4 signalfd4 eventfd2 epoll_create1 dup3 pipe2 inotify_init1 preadv pwritev rt_tgsigqueueinfo perf_event_open recvmmsg fanotify_init prlimit64
clock_adjtime syncfs sendmmsg setns getcpu process_vm_readv process_vm_writev kcmp finit_module sched_setattr sched_getattr seccomp getrandom memfd_create kexec_file_load bpf userfaultfd
membarrier mlock2 copy_file_range preadv2 pwritev2 pkey_mprotect pkey_alloc pkey_free io_pgetevents rseq uretprobe uprobe pidfd_send_signal io_uring_enter io_uring_register fsopen fsconfig fsmount
pidfd_open clone3 close_range pidfd_getfd process_madvise epoll_pwait2 quotactl_fd landlock_create_ruleset landlock_add_rule landlock_restrict_self memfd_secret process_mrelease futex_waitv
set_mempolicy_home_node cachestat map_shadow_stack futex_wake futex_wait futex_requeue statmount listmount lsm_get_self_attr lsm_set_self_attr lsm_list_modules mseal listns rseq_slice_yield
`

// otherNames are names of package unix that differ from those of the kernel's table.
var otherNames = map[string]string{"fstatat": "newfstatat", "fadvise64": "fadvise64", "sync_file_range2": "sync_file_range", "arch_specific_syscall": ""}

// kernelCalls returns the system calls of package unix for an architecture, which come from the
// kernel's headers.
func kernelCalls(t *testing.T, goarch string) map[string]int {
	t.Helper()
	dir, err := osexec.Command("go", "list", "-f", "{{.Dir}}", "golang.org/x/sys/unix").Output()
	require.NoError(t, err)
	text, err := os.ReadFile(filepath.Join(strings.TrimSpace(string(dir)), "zsysnum_linux_"+goarch+".go"))
	require.NoError(t, err)
	out := map[string]int{}
	for _, m := range regexp.MustCompile(`(?m)^\s+SYS_(\w+)\s+= (\d+)$`).FindAllStringSubmatch(string(text), -1) {
		name := strings.ToLower(m[1])
		if other, ok := otherNames[name]; ok {
			if name = other; name == "" {
				continue
			}
		}
		nr := 0
		_, err := fmt.Sscan(m[2], &nr)
		require.NoError(t, err)
		out[name] = nr
	}
	require.Greater(t, len(out), 250)
	return out
}

// TestEveryCallWithAPathIsInTheTable compares the table with the kernel's list of system calls, on
// both architectures.
func TestEveryCallWithAPathIsInTheTable(t *testing.T) {
	rows, without := map[string]bool{}, map[string]bool{}
	for _, row := range pathCalls {
		assert.False(t, rows[row.name], "%s has two rows", row.name)
		rows[row.name] = true
		assert.True(t, row.serve != nil || row.errno != 0, "%s is neither served nor refused", row.name)
	}
	for _, name := range strings.Fields(noPaths) {
		assert.False(t, rows[name] || without[name], "%s is listed twice", name)
		without[name] = true
	}
	for _, goarch := range []string{"amd64", "arm64"} {
		for name, nr := range kernelCalls(t, goarch) {
			assert.True(t, rows[name] != without[name], "%s of %s is in neither list", name, goarch)
			if own, ok := hook.SyscallNumberOn(hookArch(goarch), name); rows[name] {
				assert.True(t, ok, "%s has no number on %s", name, goarch)
				assert.Equal(t, nr, own, "%s on %s", name, goarch)
			}
			last, ok := hook.SyscallNumberOn(hookArch(goarch), lastCall)
			assert.True(t, ok)
			assert.LessOrEqual(t, nr, last, "%s of %s is later than the last call of the table", name, goarch)
		}
	}
	for name := range rows {
		_, x86 := hook.SyscallNumberOn("x86", name)
		_, arm := hook.SyscallNumberOn("arm64", name)
		assert.True(t, x86 || arm, "%s is no system call", name)
	}
}

// TestStringsOfTheKernelsPrototypesAreArgumentsOfTheTable: a string of a call is a path of its row,
// or known to be something else.
func TestStringsOfTheKernelsPrototypesAreArgumentsOfTheTable(t *testing.T) {
	noPath := map[string][]int{ // arguments that are text but no path
		"mount": {0, 2, 3, 4}, "quotactl": {1}, "symlink": {0}, "symlinkat": {0},
		"setxattr": {1}, "lsetxattr": {1}, "getxattr": {1}, "lgetxattr": {1}, "removexattr": {1}, "lremovexattr": {1}, "listxattr": {1}, "llistxattr": {1}, "readlink": {1}, "readlinkat": {2},
	}
	seen := 0
	for _, row := range pathCalls {
		for i, kind := range hook.SyscallKinds(row.name) {
			if kind != 's' || slices.Contains(noPath[row.name], i) {
				continue
			}
			seen++
			assert.True(t, slices.ContainsFunc(row.paths, func(a pathArg) bool { return a.path == i }), "argument %d of %s", i, row.name)
		}
	}
	assert.Greater(t, seen, 50)
}

func TestTheFilterFits(t *testing.T) {
	for _, list := range [][]rule{rules(true), liveRules(true)} {
		assert.LessOrEqual(t, len(filter(list, unix.SECCOMP_RET_ALLOW)), unix.BPF_MAXINSNS)
	}
}

// simulatedFile is a file that is simulated and whose tree has it on hosts too.
const simulatedFile, simulatedDir = "/sys/kernel/tracing/trace", "/sys/kernel/tracing"

// rawCall makes a call of the table: its paths are p, then a file that is nowhere, its descriptors
// the working directory.
func rawCall(row *pathCall, p string) error {
	nr, ok := sysNumber(row.name)
	if !ok {
		return nil
	}
	var args [6]uintptr
	keep := []unsafe.Pointer{}
	for i, a := range row.paths {
		if i > 0 {
			p = "/tmp/no-such-directory/file"
		}
		if a.dir >= 0 {
			args[a.dir] = uintptr(0xffffffffffffff9c)
		}
		b := append([]byte(p), 0)
		if a.length >= 0 {
			b = append(le.AppendUint16(nil, unix.AF_UNIX), b...)
			args[a.length] = uintptr(len(b))
		}
		keep = append(keep, unsafe.Pointer(&b[0]))
		args[a.path] = uintptr(unsafe.Pointer(&b[0]))
	}
	_, _, e := unix.Syscall6(uintptr(nr), args[0], args[1], args[2], args[3], args[4], args[5])
	runtime.KeepAlive(keep)
	if e != 0 {
		return e
	}
	return nil
}

// refusedCalls are the rows of calls that are refused in simulated places.
func refusedCalls() (out []*pathCall) {
	for i := range pathCalls {
		if _, ok := sysNumber(pathCalls[i].name); ok && pathCalls[i].serve == nil {
			out = append(out, &pathCalls[i])
		}
	}
	return out
}

// refusalTool makes every call that is refused in a simulated place, by an absolute path, by one
// relative to the directory, and by one relative to a directory of the host.
func refusalTool() error {
	runtime.LockOSThread()
	for _, row := range refusedCalls() {
		fmt.Println(row.name, outcomeOf(rawCall(row, simulatedFile)))
	}
	for _, dir := range []string{simulatedDir, "/sys"} {
		if err := os.Chdir(dir); err != nil {
			return err
		}
		rel, err := filepath.Rel(dir, simulatedFile)
		if err != nil {
			return err
		}
		for _, row := range refusedCalls() {
			fmt.Println(row.name, outcomeOf(rawCall(row, rel)))
		}
	}
	return nil
}

func TestCallsOfTheTableAreRefusedByName(t *testing.T) {
	var want strings.Builder
	for _, row := range refusedCalls() {
		fmt.Fprintln(&want, row.name, unix.ErrnoName(row.errno))
	}
	r := start(t, "refusals", "")
	assert.Equal(t, strings.Repeat(want.String(), 3), r.out)
	for _, row := range refusedCalls() {
		if note := fmt.Sprintf("%s(2) of %q is refused", row.name, simulatedFile); !row.quiet && len(row.paths) > 0 {
			assert.Contains(t, r.notes, note)
		}
	}
	if os.Getuid() == 0 {
		out := asNobody(t, "supervise", "refusals")
		for line := range strings.Lines(strings.Repeat(want.String(), 3)) {
			assert.Contains(t, out, line)
		}
	}
}
