package hook

import (
	"fmt"
	"strconv"

	"github.com/bpfrun/bpfrun/btf"
	"github.com/bpfrun/bpfrun/internal/endian"
	"github.com/bpfrun/bpfrun/internal/kernel/object"
)

// abi describes an architecture's use of registers in function calls. Registers are named by paths
// in struct pt_regs, with alternatives separated by |.
type abi struct {
	args    []string // of a function call
	syscall []string // of a system call; nil = args
	ret     string
	sp, ip  string
	// user and kernel are registers that distinguish user from kernel mode, with their values.
	user, kernel map[string]uint64
	entry        uint64 // in ret when a system call begins
	number       string // of the system call
	wrapper      string // prefix of system call wrappers: __x64_sys_
	bare         bool   // wrappers take struct pt_regs *
	// regs is the order of the registers in the user space ABI, for BTF without pt_regs; a number
	// after * repeats an entry.
	regs []string
	word int
	// trap is the distance in bytes of a kprobe's instruction pointer past the probed instruction:
	// the breakpoint has been executed, and ftrace-based probes imitate that
	// (arch/x86/kernel/kprobes/ftrace.c kprobe_ftrace_handler).
	trap uint64
}

// enosys is -ENOSYS, which x86 stores in ax when a system call begins (arch/x86/entry/entry_64.S).
const enosys = ^uint64(38) + 1

// abis are the calling conventions (bpf_tracing.h of libbpf; arch/*/include/uapi/asm/ptrace.h).
var abis = map[string]*abi{
	"x86": {
		args: []string{"di", "si", "dx", "cx", "r8", "r9"}, syscall: []string{"di", "si", "dx", "r10", "r8", "r9"},
		ret: "ax", sp: "sp", ip: "ip", number: "orig_ax", wrapper: "__x64_sys_", bare: true, word: 8,
		user: map[string]uint64{"cs": 0x33, "ss": 0x2b, "flags": 0x246}, kernel: map[string]uint64{"cs": 0x10, "ss": 0x18, "flags": 0x246}, entry: enosys, trap: 1,
		regs: []string{"r15", "r14", "r13", "r12", "bp", "bx", "r11", "r10", "r9", "r8", "ax", "cx", "dx", "si", "di", "orig_ax", "ip", "cs", "flags", "sp", "ss"},
	},
	"arm64": {
		args: numbered("regs", 8), syscall: append([]string{"orig_x0|regs[0]"}, numbered("regs", 6)[1:]...),
		ret: "regs[0]", sp: "sp", ip: "pc", number: "regs[8]", wrapper: "__arm64_sys_", bare: true, word: 8,
		user: map[string]uint64{"pstate": 0x1000}, kernel: map[string]uint64{"pstate": 0x60400005},
		regs: append(numbered("regs", 31), "sp", "pc", "pstate", "orig_x0"),
	},
	"riscv": {
		args: []string{"a0", "a1", "a2", "a3", "a4", "a5", "a6", "a7"}, syscall: []string{"orig_a0|a0", "a1", "a2", "a3", "a4", "a5"},
		ret: "a0", sp: "sp", ip: "epc", number: "a7", wrapper: "__riscv_sys_", bare: true, word: 8,
		regs: []string{"epc", "ra", "sp", "gp", "tp", "t0", "t1", "t2", "s0", "s1", "a0", "a1", "a2", "a3", "a4", "a5", "a6", "a7", "s2", "s3", "s4", "s5", "s6", "s7", "s8", "s9", "s10", "s11", "t3", "t4", "t5", "t6", "status", "badaddr", "cause", "orig_a0"},
	},
	"arm": {
		args: numbered("uregs", 4), syscall: append([]string{"uregs[17]"}, numbered("uregs", 6)[1:]...),
		ret: "uregs[0]", sp: "uregs[13]", ip: "uregs[15]", number: "uregs[7]", wrapper: "sys_", word: 4,
		regs: numbered("uregs", 18),
	},
	"s390": {
		args: []string{"gprs[2]", "gprs[3]", "gprs[4]", "gprs[5]", "gprs[6]"}, syscall: []string{"orig_gpr2", "gprs[3]", "gprs[4]", "gprs[5]", "gprs[6]", "gprs[7]"},
		ret: "gprs[2]", sp: "gprs[15]", ip: "psw.addr", number: "int_code", wrapper: "__s390x_sys_", bare: true, word: 8,
		regs: append([]string{"args[0]", "psw.mask", "psw.addr"}, append(numbered("gprs", 16), "orig_gpr2")...),
	},
}

func numbered(name string, n int) []string {
	out := make([]string, n)
	for i := range out {
		out[i] = name + "[" + strconv.Itoa(i) + "]"
	}
	return out
}

// ArgumentRegisters returns the paths in struct pt_regs of an architecture's registers for a
// function's arguments, and for its result; none for an unknown architecture.
func ArgumentRegisters(arch string) (args []string, result string) {
	if a := abis[arch]; a != nil {
		return a.args, a.ret
	}
	return nil, ""
}

// InferArch derives the architecture from the members of struct pt_regs: "x86", "arm64", "riscv",
// "arm", "s390", or "".
func InferArch(spec *btf.Spec) string {
	if spec == nil {
		return ""
	}
	t, ok := spec.Find(btf.KindStruct, "pt_regs")
	if !ok {
		return ""
	}
	has := func(name string) bool { _, ok := spec.FindMember(t.ID, name); return ok }
	switch {
	case has("r15") && has("orig_ax"):
		return "x86"
	case has("uregs"):
		return "arm"
	case has("pstate"):
		return "arm64"
	case has("epc") && has("a0") && has("gp"):
		return "riscv"
	case has("gprs"):
		return "s390"
	}
	return ""
}

// registers is the content of a pt_regs.
type registers struct {
	k    *Hooks
	l    *object.Layout // nil = ABI layout
	abi  *abi
	data []byte
}

// newRegisters creates registers with default contents: small numbers, a stack and an instruction
// pointer.
func (h *Hooks) newRegisters(role string, ip, sp uint64) *registers {
	a := abis[h.Arch()]
	if a == nil {
		a = abis["x86"]
		if h.Mem().PointerSize() == 4 {
			a = abis["arm"]
		}
	}
	r := &registers{k: h, abi: a, l: h.LayoutNamed("pt_regs")}
	if r.l != nil {
		if _, _, err := r.l.Place(firstAlternative(a.ret)); err != nil {
			r.l = nil // another architecture's
		}
	}
	if r.l != nil {
		r.data = make([]byte, r.l.Size)
	} else {
		r.data = make([]byte, len(a.regs)*a.word)
	}
	for _, name := range a.regs {
		r.set(name, 0x1000+h.Hash(role, "reg", name)%0xf000)
	}
	mode := a.kernel
	if h.IsUserAddress(sp) {
		mode = a.user
	}
	for name, v := range mode {
		r.set(name, v)
	}
	r.set(a.ip, ip)
	r.set(a.sp, sp)
	return r
}

func firstAlternative(paths string) string {
	for i := range len(paths) {
		if paths[i] == '|' {
			return paths[:i]
		}
	}
	return paths
}

// set sets a register; of several alternatives the first existing one.
func (r *registers) set(paths string, v uint64) {
	if off, size, ok := r.place(paths); ok {
		endian.PutUint(r.k.Order(), r.data[off:off+size], v)
	}
}

// place returns where a register is.
func (r *registers) place(paths string) (off, size int, ok bool) {
	for _, p := range alternatives(paths) {
		if r.l != nil {
			f, rest, err := r.l.Place(p)
			if err != nil || rest != "" || f.Off+f.Size > uint64(len(r.data)) || f.Size > 8 {
				continue
			}
			return int(f.Off), int(f.Size), true
		}
		for i, name := range r.abi.regs {
			if name == p {
				return i * r.abi.word, r.abi.word, true
			}
		}
	}
	return 0, 0, false
}

// Register returns where a register of a user space probe is in the context, and its value. The
// path is that of a member of struct pt_regs.
func (c *Context) Register(path string) (off int, v uint64, ok bool) {
	if c.regs == nil {
		return 0, 0, false
	}
	off, size, ok := c.regs.place(path)
	if !ok {
		return 0, 0, false
	}
	return off, endian.Uint(c.k.Order(), c.k.Mem().Bytes(c.Region)[off:off+size]), true
}

// SetRegister sets a register of a user space probe.
func (c *Context) SetRegister(path string, v uint64) {
	if c.regs == nil {
		return
	}
	if off, size, ok := c.regs.place(path); ok {
		endian.PutUint(c.k.Order(), c.k.Mem().Bytes(c.Region)[off:off+size], v)
	}
}

func alternatives(paths string) []string {
	var out []string
	for {
		first := firstAlternative(paths)
		out = append(out, first)
		if len(first) == len(paths) {
			return out
		}
		paths = paths[len(first)+1:]
	}
}

// stackAddr returns the kernel's stack pointer in a traced function: on the stack of the current
// task, some calls below the user mode registers. What a function finds above it is not simulated.
func (h *Hooks) stackAddr() uint64 {
	if regs := h.UserRegs(h.Current()); regs != nil {
		return regs.Base() - callDepth
	}
	o := h.Kept("kernel stack")
	if o == nil {
		var err error
		if o, err = h.MakeBytes("kernel stack", 2*callDepth, nil); err != nil {
			h.Fail(err)
			return 0
		}
		h.Keep("kernel stack", o)
	}
	return o.Base() + callDepth
}

// callDepth is the size of the frames between the entry of a system call and a traced function.
const callDepth = 512

// Fill sets default registers on a task's stack: those of a read in progress. It reports whether
// the hooks have content for a type.
func (h *Hooks) Fill(typ string, b object.Builder) bool {
	if typ != "pt_regs" {
		return false
	}
	task := b.Object.Parent()
	if task == nil || task.Parent() == nil || h.UserRegs(task.Parent()) != b.Object {
		return true
	}
	if e := h.event.call; e != nil && e.task == task.Parent() {
		b.Object.Poke(0, h.callRegisters(callRole, e.args, e.name, e.ret).data, object.Given)
		h.event.regs, h.event.call = b.Object, nil
		return true
	}
	inner := Context{k: h}
	if err := h.syscallArguments(&inner, defaultCall); err != nil {
		h.Fail(err)
		return true
	}
	r := h.callRegisters(task.Parent().Role()+".pt_regs", inner.Args, defaultCall, nil)
	b.All(r.data)
	return true
}

// callRole is the role of the registers of an event's system call.
const callRole = "syscall regs"

// defaultCall is the system call that a task is in by default; [kernel.Kernel.Stack] shows the same
// one.
const defaultCall = "read"

// callRegisters returns the user mode registers in a system call, at its exit if ret is given.
func (h *Hooks) callRegisters(role string, args []Arg, call string, ret *uint64) *registers {
	r := h.newRegisters(role, h.UserHeap()-0x20000, h.UserStack()-h.Hash(role, "sp")%0x4000&^15)
	regs := r.abi.syscall
	if regs == nil {
		regs = r.abi.args
	}
	if r.abi.entry != 0 {
		r.set(r.abi.ret, r.abi.entry)
	}
	r.pass(regs, args)
	if r.abi.syscall != nil && ret == nil { // at entry the first argument's register still holds it
		r.pass(r.abi.args[:1], args[:min(1, len(args))])
	}
	if nr, ok := h.SyscallNumber(call); ok {
		r.set(r.abi.number, uint64(nr))
		r.set("syscallno", uint64(nr)) // arm64
	}
	if ret != nil {
		r.set(r.abi.ret, *ret)
	}
	return r
}

// RegsSpec sets registers by purpose; those not given keep their values.
type RegsSpec struct {
	Args        []uint64
	Ret, IP, SP *uint64
}

// RegNames are the registers of [RegsSpec] as paths in struct pt_regs.
type RegNames struct {
	Args        []string
	Ret, IP, SP string
}

// RegsByPurpose returns the registers that the calling convention of the target's architecture
// uses.
func (h *Hooks) RegsByPurpose() RegNames {
	a := h.newRegisters("", 0, 0).abi
	return RegNames{Args: a.args, Ret: a.ret, IP: a.ip, SP: a.sp}
}

// NewRegs builds a struct pt_regs according to the architecture's calling convention.
func (h *Hooks) NewRegs(role string, s RegsSpec) (*object.Object, error) {
	r := h.newRegisters(role, 0, h.stackAddr())
	if r.l == nil {
		return nil, &object.TypeError{Type: "pt_regs", Role: role, Why: "is not in the kernel's BTF"}
	}
	if len(s.Args) > len(r.abi.args) {
		return nil, fmt.Errorf("got %d arguments, but only %d fit in registers", len(s.Args), len(r.abi.args))
	}
	for i, v := range s.Args {
		r.set(r.abi.args[i], v)
	}
	for _, x := range []struct {
		name string
		v    *uint64
	}{{r.abi.ret, s.Ret}, {r.abi.ip, s.IP}, {r.abi.sp, s.SP}} {
		if x.v != nil {
			r.set(x.name, *x.v)
		}
	}
	o, err := h.Make(role, r.l, 1, nil)
	if err != nil {
		return nil, err
	}
	o.Poke(0, r.data, object.Given)
	return o, nil
}

// TaskPtRegs returns the address of a task's user registers (bpf_task_pt_regs); an error if addr is
// not a task.
func (h *Hooks) TaskPtRegs(task uint64) (uint64, error) {
	t := h.ObjectAt(task)
	if t == nil || t.TypeName() != "task_struct" {
		return 0, &object.TypeError{Type: "task_struct", Role: fmt.Sprintf("%#x", task), Why: "is not at this address"}
	}
	if o := h.UserRegs(t); o != nil {
		return o.Addr(), nil
	}
	key := "regs:" + t.Role()
	if o := h.Kept(key); o != nil {
		return o.Addr(), nil
	}
	ip, sp := h.UserHeap()-0x20000, h.UserStack()
	r := h.newRegisters(t.Role()+".pt_regs", ip, sp)
	var o *object.Object
	var err error
	if r.l != nil {
		o, err = h.Make(t.Role()+".pt_regs", r.l, 1, nil)
	} else {
		o, err = h.MakeBytes(t.Role()+".pt_regs", uint64(len(r.data)), nil)
	}
	if err != nil {
		return 0, err
	}
	o.Poke(0, r.data, object.Made)
	h.Keep(key, o)
	return o.Addr(), nil
}
