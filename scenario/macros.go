package scenario

import (
	"math/big"
	"strings"

	"github.com/bpfrun/bpfrun/uapi"
)

// macros are constants that kernel headers define with #define, so that BTF lacks them. They have the same value on all architectures that
// objects are compiled for; names with architecture-dependent values (O_DIRECT, O_DIRECTORY) are left out.
var macros = map[string]int64{
	"O_RDONLY": 0, "O_WRONLY": 1, "O_RDWR": 2, "O_CREAT": 0o100, "O_EXCL": 0o200, "O_NOCTTY": 0o400, "O_TRUNC": 0o1000, "O_APPEND": 0o2000,
	"O_NONBLOCK": 0o4000, "O_DSYNC": 0o10000, "O_CLOEXEC": 0o2000000, "O_PATH": 0o10000000,
	"AT_FDCWD": -100, "AT_SYMLINK_NOFOLLOW": 0x100, "AT_REMOVEDIR": 0x200, "AT_EMPTY_PATH": 0x1000,
	"S_IFSOCK": 0o140000, "S_IFLNK": 0o120000, "S_IFREG": 0o100000, "S_IFBLK": 0o60000, "S_IFDIR": 0o40000, "S_IFCHR": 0o20000, "S_IFIFO": 0o10000,
	"S_ISUID": 0o4000, "S_ISGID": 0o2000, "S_ISVTX": 0o1000,
	"SIGHUP": 1, "SIGINT": 2, "SIGQUIT": 3, "SIGILL": 4, "SIGTRAP": 5, "SIGABRT": 6, "SIGBUS": 7, "SIGFPE": 8, "SIGKILL": 9, "SIGUSR1": 10, "SIGSEGV": 11,
	"SIGUSR2": 12, "SIGPIPE": 13, "SIGALRM": 14, "SIGTERM": 15, "SIGCHLD": 17, "SIGCONT": 18, "SIGSTOP": 19, "SIGTSTP": 20,
	"CLONE_VM": 0x100, "CLONE_FS": 0x200, "CLONE_FILES": 0x400, "CLONE_SIGHAND": 0x800, "CLONE_VFORK": 0x4000, "CLONE_THREAD": 0x10000, "CLONE_NEWNS": 0x20000,
	"CLONE_NEWCGROUP": 0x2000000, "CLONE_NEWUTS": 0x4000000, "CLONE_NEWIPC": 0x8000000, "CLONE_NEWUSER": 0x10000000, "CLONE_NEWPID": 0x20000000,
	"CLONE_NEWNET": 0x40000000,
	"PROT_READ":    1, "PROT_WRITE": 2, "PROT_EXEC": 4, "MAP_SHARED": 1, "MAP_PRIVATE": 2, "MAP_FIXED": 0x10, "MAP_ANONYMOUS": 0x20,
	"MAY_EXEC": 1, "MAY_WRITE": 2, "MAY_READ": 4, "MAY_APPEND": 8, "PF_EXITING": 4, "PF_KTHREAD": 0x200000,
	"ETH_P_IP": 0x0800, "ETH_P_ARP": 0x0806, "ETH_P_8021Q": 0x8100, "ETH_P_IPV6": 0x86dd, "ETH_P_8021AD": 0x88a8,
	"CAP_CHOWN": 0, "CAP_DAC_OVERRIDE": 1, "CAP_KILL": 5, "CAP_SETGID": 6, "CAP_SETUID": 7, "CAP_NET_BIND_SERVICE": 10, "CAP_NET_ADMIN": 12, "CAP_NET_RAW": 13,
	"CAP_SYS_MODULE": 16, "CAP_SYS_CHROOT": 18, "CAP_SYS_PTRACE": 19, "CAP_SYS_ADMIN": 21, "CAP_SYS_RESOURCE": 24, "CAP_PERFMON": 38, "CAP_BPF": 39,
	"AF_UNSPEC": 0, "AF_UNIX": 1, "AF_INET": 2, "AF_INET6": 10, "AF_NETLINK": 16, "AF_PACKET": 17, "SOCK_STREAM": 1, "SOCK_DGRAM": 2, "SOCK_RAW": 3,
	"SOL_SOCKET": 1, "SOL_IP": 0, "SOL_TCP": 6, "SOL_IPV6": 41,
}

// macro parses a macro name, several names or numbers joined by | (S_IFREG|0o644), or an error (-ENOENT).
func macro(text string) (*big.Int, bool) {
	if name, ok := strings.CutPrefix(text, "-"); ok {
		e, ok := uapi.ParseErrno(name)
		return big.NewInt(-int64(e)), ok
	}
	out := new(big.Int)
	named := false
	for part := range strings.SplitSeq(text, "|") {
		part = strings.TrimSpace(part)
		v, ok := macros[part]
		named = named || ok
		if !ok {
			n, isNumber := number(part)
			if !isNumber || !n.IsInt64() || n.Sign() < 0 {
				return nil, false
			}
			v = n.Int64()
		}
		if v < 0 && part != text {
			return nil, false // AT_FDCWD is not a flag
		}
		out.Or(out, big.NewInt(v))
	}
	return out, named
}

// macro returns the value of a scalar that names macros. A quoted scalar is a string.
func (n *Node) macro() (*big.Int, bool) {
	if n.Kind != Scalar || n.Quoted || n.Tag != "" && conditions[n.Tag] == nil {
		return nil, false
	}
	return macro(n.Text)
}
