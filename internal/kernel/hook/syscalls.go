package hook

import (
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/bpfrun/bpfrun/btf"
	"github.com/bpfrun/bpfrun/internal/endian"
	"github.com/bpfrun/bpfrun/internal/kernel/object"
	"github.com/bpfrun/bpfrun/internal/nearest"
	"github.com/bpfrun/bpfrun/internal/uapi"
)

// syscall describes a system call: its numbers and arguments.
type syscall struct {
	name              string
	x86, generic, arm int // -1: not available on the architecture
	args              []syscallArg
}

type syscallArg struct {
	name string
	kind byte // i, u, s, v, a, p: see syscallTable
	typ  string
}

var syscallIndex = sync.OnceValue(func() map[string]*syscall {
	out := make(map[string]*syscall, 400)
	for line := range strings.Lines(strings.TrimSpace(syscallTable)) {
		s := parseSyscall(line)
		out[s.name] = s
	}
	return out
})

// parseSyscall parses a line of syscallTable.
func parseSyscall(line string) *syscall {
	f := strings.Fields(line)
	num := func(s string) int {
		if n, err := strconv.Atoi(s); err == nil {
			return n
		}
		return -1
	}
	s := &syscall{name: f[0], x86: num(f[1]), generic: num(f[2]), arm: num(f[3])}
	for _, a := range f[4:] {
		name, kind, _ := strings.Cut(a, ":")
		s.args = append(s.args, syscallArg{name, kind[0], strings.ReplaceAll(strings.TrimPrefix(kind[1:], ":"), ".", " ")})
	}
	return s
}

// syscallsParsed holds the system calls that were looked up by name: a run needs few, and the whole
// table takes as long as loading a small object.
var syscallsParsed sync.Map // of string: *syscall

// syscallNamed returns the system call with that name in the table, or nil.
func syscallNamed(name string) *syscall {
	if s, ok := syscallsParsed.Load(name); ok {
		return s.(*syscall)
	}
	_, rest, ok := strings.Cut(syscallTable, "\n"+name+" ")
	if !ok || strings.ContainsAny(name, " \n") {
		return nil
	}
	line, _, _ := strings.Cut(rest, "\n")
	s := parseSyscall(name + " " + line)
	parsed, _ := syscallsParsed.LoadOrStore(s.name, s)
	return parsed.(*syscall)
}

// syscallAliases maps names used by the kernel's functions and events to those of the table.
var syscallAliases = map[string]string{
	"newstat": "stat", "newlstat": "lstat", "newfstat": "fstat", "newuname": "uname", "sendfile64": "sendfile", "umount": "umount2",
	"llseek": "_llseek", "sysctl": "_sysctl", "fadvise64_64": "fadvise64", "mmap_pgoff": "mmap", "fstatat64": "newfstatat", "fstat64": "fstat", "stat64": "stat", "lstat64": "lstat",
}

func findSyscall(name string) *syscall {
	if s := syscallNamed(name); s != nil {
		return s
	}
	if alias, ok := syscallAliases[name]; ok {
		return syscallNamed(alias)
	}
	return nil
}

// HasSyscallEvent reports whether the function of a name makes an event. Not those of older forms
// of a call, which only 32-bit programs make: sys_stat beside sys_newstat.
func (h *Hooks) HasSyscallEvent(name string) bool {
	if _, ok := h.SyscallNumber(name); !ok {
		return false
	}
	x86 := h.Arch() == "x86"
	switch name {
	case "mmap_pgoff":
		return h.Mem().PointerSize() == 4
	case "fadvise64", "fadvise64_64": // the generic table has the second
		return x86 == (name == "fadvise64")
	case "mmap":
		return true
	case "get_thread_area", "set_thread_area", "uselib":
		return !x86
	}
	for alias, of := range syscallAliases {
		if of == name && h.BTF() != nil && len(h.BTF().IDs(btf.KindFunc, h.SyscallSymbol(alias))) > 0 {
			return false
		}
	}
	return true
}

// SyscallNumber returns the number of a system call on the target's architecture. ok is false if it
// has none.
func (h *Hooks) SyscallNumber(name string) (nr int, ok bool) {
	return SyscallNumberOn(h.Arch(), name)
}

// number returns the number on an architecture. ok is false if it has none.
func (s *syscall) number(arch string) (nr int, ok bool) {
	switch arch {
	case "x86":
		nr = s.x86
	case "arm64", "riscv":
		nr = s.generic
	case "arm":
		nr = s.arm
	default:
		return 0, false
	}
	return nr, nr >= 0
}

// SyscallArg is an argument of a system call.
type SyscallArg struct {
	Name string
	Text bool // a string
	// Type is the argument's C type as the format of the call's event has it, "" if not known.
	Type string
}

// SyscallArgs returns the arguments of a system call in order, or nil if it is not known.
func (h *Hooks) SyscallArgs(name string) []SyscallArg {
	s := findSyscall(name)
	if s == nil {
		return nil
	}
	var out []SyscallArg
	for _, a := range s.args {
		out = append(out, SyscallArg{a.name, a.kind == 's', a.typ})
	}
	return out
}

// SyscallName returns the name of a system call by its number on the target's architecture.
func (h *Hooks) SyscallName(nr int) (string, bool) {
	best := ""
	for name, s := range syscallIndex() {
		if n, ok := s.number(h.Arch()); ok && n == nr && (best == "" || name < best) {
			best = name
		}
	}
	return best, best != ""
}

// syscallArguments returns the arguments of a system call as user space passes them.
func (h *Hooks) syscallArguments(c *Context, call string) error {
	s := findSyscall(call)
	if s == nil {
		c.Untyped = true
		h.untypedArguments(c, 6)
		return nil
	}
	for _, d := range s.args {
		a := Arg{Name: d.name, slots: 1, Value: h.syscallArgument(s, d)}
		if err := h.overrideUser(c, &a); err != nil {
			return err
		}
		c.Args = append(c.Args, a)
	}
	return nil
}

// chosenCall returns the system call for an event that all of them fire: the one given by Args
// "call", else def.
func (h *Hooks) chosenCall(c *Context, def string) (string, error) {
	c.calls = true
	v, ok := c.spec.Args["call"]
	if !ok {
		return def, nil
	}
	call, ok := v.(string)
	if !ok || findSyscall(call) == nil {
		e := &object.ValueError{Role: "call", Path: "call", Type: "system call", Value: v, Why: "no such system call"}
		if near := nearest.Like(call, slices.Sorted(maps.Keys(syscallIndex()))); len(near) > 0 {
			e.Why += " (nearest: " + strings.Join(near, ", ") + ")"
		}
		return "", e
	}
	return call, nil
}

// overrideUser is override, but places strings in user memory.
func (h *Hooks) overrideUser(c *Context, a *Arg) error {
	switch v := c.spec.Args[a.Name].(type) {
	case string:
		a.Value = h.UserString(v)
		return nil
	case []byte:
		a.Value = h.UserAlloc(v)
		return nil
	case []string:
		a.Value = h.UserAlloc(h.vector(v))
		return nil
	}
	return h.override(c, a)
}

// vectorLen is the number of strings in default argument and environment vectors.
const vectorLen = 5

// vector returns the pointers of a vector of strings, which NULL ends.
func (h *Hooks) vector(texts []string) []byte {
	n := h.Mem().PointerSize()
	b := make([]byte, (len(texts)+1)*n)
	for i, text := range texts {
		endian.PutUint(h.Order(), b[i*n:(i+1)*n], h.UserString(text))
	}
	return b
}

func (h *Hooks) syscallArgument(s *syscall, d syscallArg) uint64 {
	role := "sys." + d.name
	once := func(content func() []byte) uint64 {
		return h.UserDataOnce(role+":"+string(d.kind), content)
	}
	switch d.kind {
	case 's':
		return h.UserStringOnce(role)
	case 'a':
		return once(func() []byte { return h.SockaddrBytes(role) })
	case 'v':
		return once(func() []byte {
			texts := make([]string, vectorLen)
			for i := range texts {
				texts[i] = h.Word(role, strings.TrimSuffix(d.name, "v")+strconv.Itoa(i))
			}
			return h.vector(texts)
		})
	case 'p':
		return once(func() []byte {
			b := make([]byte, 128)
			for i := 0; i < len(b); i += 8 {
				endian.PutUint(h.Order(), b[i:i+8], 1+h.Hash(role, "word", strconv.Itoa(i))%99991)
			}
			return b
		})
	}
	if v, ok := object.NamedDefault(d.name, h.Hash(role)); ok {
		if d.kind == 'i' {
			v = uint64(int64(int32(v)))
		}
		return v
	}
	return 1 + h.Hash(role)%1000
}

// syscallReturn returns the return value of a successful system call.
func (h *Hooks) syscallReturn(c *Context, call string) error {
	c.Returns = true
	c.Ret = Arg{Name: "ret", slots: 1}
	switch name := call; {
	case strings.HasPrefix(name, "open"), strings.HasPrefix(name, "socket"), strings.HasPrefix(name, "accept"), strings.HasPrefix(name, "dup"),
		strings.HasPrefix(name, "epoll_create"), strings.HasPrefix(name, "eventfd"), strings.HasPrefix(name, "memfd"), strings.HasPrefix(name, "pidfd_open"), name == "creat":
		c.Ret.Value = 3 + h.Hash("sys.ret", name)%60
	case strings.Contains(name, "read"), strings.Contains(name, "write"), strings.HasPrefix(name, "send"), strings.HasPrefix(name, "recv"):
		c.Ret.Value = 16 + h.Hash("sys.ret", name)%1000
	case name == "clone", name == "clone3", name == "fork", name == "vfork":
		c.Ret.Value = 2000 + h.Hash("sys.ret", name)%28000
	case name == "getpid":
		_, tgid := h.PidTgid()
		c.Ret.Value = uint64(tgid)
	case name == "gettid":
		pid, _ := h.PidTgid()
		c.Ret.Value = uint64(pid)
	case strings.HasPrefix(name, "mmap"), name == "brk":
		c.Ret.Value = h.UserHeap() + 0x100000
	}
	return h.override(c, &c.Ret)
}

// syscallContext creates the context of a syscall program: its argument buffer.
func (h *Hooks) syscallContext(c *Context) error {
	data := c.spec.Bytes
	if len(data) == 0 {
		data = make([]byte, 64)
	}
	if len(data) > 1<<16 {
		return &object.ValueError{Role: "ctx", Type: "syscall context", Value: len(data), Why: "at most 65536 bytes: " + uapi.E2BIG.Error()}
	}
	c.Type = "ctx"
	return c.allocate(data, false)
}

// SyscallNumberOn returns the number of a system call on an architecture, "x86", "arm64", "riscv"
// or "arm". ok is false if it has none.
func SyscallNumberOn(arch, name string) (nr int, ok bool) {
	s := findSyscall(name)
	if s == nil {
		return 0, false
	}
	return s.number(arch)
}

// SyscallKinds returns the kinds of a system call's arguments, as syscallTable has them: 's' is a
// string, 'v' a vector of strings, 'a' a socket's address.
func SyscallKinds(name string) []byte {
	s := findSyscall(name)
	if s == nil {
		return nil
	}
	var out []byte
	for _, a := range s.args {
		out = append(out, a.kind)
	}
	return out
}

// SyscallArgNames returns the names of a system call's arguments, those that [SyscallKinds] has the
// kinds of.
func SyscallArgNames(name string) []string {
	s := findSyscall(name)
	if s == nil {
		return nil
	}
	var out []string
	for _, a := range s.args {
		out = append(out, a.name)
	}
	return out
}
