package window

import (
	"maps"
	"slices"
	"sort"

	"github.com/bpfrun/bpfrun/btf"
	"github.com/bpfrun/bpfrun/internal/endian"
	"github.com/bpfrun/bpfrun/internal/kernel/clock"
	"github.com/bpfrun/bpfrun/internal/kernel/object"
	"github.com/bpfrun/bpfrun/internal/mem"
	"github.com/bpfrun/bpfrun/internal/undo"
)

// Kernel text: each function in the BTF takes textStride bytes, in the order of type ids.
const (
	textBase32  = 0xbf00_0000
	textSize32  = 0x00f0_0000
	textSize64  = 64 << 20
	TextStride  = 64
	maxTextFunc = textSize32 / TextStride
)

// textBase returns the usual address of kernel text on an architecture.
func textBase(arch string, ptr int) uint64 {
	if ptr == 4 {
		return textBase32
	}
	switch arch {
	case "arm64":
		return 0xffff_8000_8000_0000
	case "s390":
		return 0x0000_0300_0000_0000 | 0xffff_0000_0000_0000
	case "riscv":
		return 0xffff_ffff_8000_0000
	}
	return 0xffff_ffff_8100_0000
}

// Symbols maps names to addresses and back: functions of the kernel's text and its variables.
// Create it with [NewSymbols].
type Symbols struct {
	*object.Space `snapshot:"fixed"`
	percpu        *PerCPU           `snapshot:"fixed"`
	clock         *clock.Clock      `snapshot:"fixed"`
	win           *mem.Window       `snapshot:"fixed"`
	funcs         []btf.ID          `snapshot:"fixed"` // FUNCs of vmlinux by id; the index gives the address
	given         map[string]uint64 `snapshot:"fixed"` // kallsyms given by the user
	sorted        []symbol          `snapshot:"fixed"` // given, by address; built on first use

	extra  []string              // functions that BTF does not list, placed after the others
	byName undo.Map[string, int] // index in extra
}

// SymbolsSnapshot is the state of the symbols at one point in time.
type SymbolsSnapshot struct {
	extra  []string
	byName *undo.State[string, int]
}

// Snapshot records which symbols exist.
func (s *Symbols) Snapshot() *SymbolsSnapshot {
	return &SymbolsSnapshot{slices.Clone(s.extra), s.byName.Snapshot()}
}

// Restore restores a snapshot.
func (s *Symbols) Restore(c *SymbolsSnapshot) {
	s.extra = append(s.extra[:0], c.extra...)
	s.byName.Restore(c.byName)
}

type symbol struct {
	addr uint64
	name string
}

// textView makes kernel code read as trap instructions.
type textView struct{}

func (textView) Load(_ uint64, size int) (uint64, *mem.Fault) {
	return 0xcccccccccccccccc >> (64 - 8*uint(size)), nil
}

func (textView) Store(uint64, int, uint64) *mem.Fault { return &mem.Fault{Kind: mem.ReadOnly} }

func (textView) Read(_ uint64, p []byte) *mem.Fault {
	for i := range p {
		p[i] = 0xcc
	}
	return nil
}

func (textView) Write(uint64, []byte) *mem.Fault { return &mem.Fault{Kind: mem.ReadOnly} }

// NewSymbols adds the kernel's text to a space. given lists the existing symbols with their
// addresses; nil = the functions and variables in BTF. clock determines the variable jiffies.
func NewSymbols(s *object.Space, p *PerCPU, c *clock.Clock, given map[string]uint64) (*Symbols, error) {
	size := uint64(textSize64)
	if s.Mem().PointerSize() == 4 {
		size = textSize32
	}
	w, err := s.Mem().AddWindow(mem.Window{Base: textBase(s.Arch(), s.Mem().PointerSize()), Size: size, Kind: mem.WindowText, Name: "kernel text", View: textView{}})
	if err != nil {
		return nil, err
	}
	return &Symbols{Space: s, percpu: p, clock: c, win: w, given: given}, nil
}

// Functions returns the FUNCs of the vmlinux BTF in id order.
func (s *Symbols) Functions() []btf.ID {
	if s.funcs != nil || s.BTF() == nil {
		return s.funcs
	}
	s.funcs = s.Types().Functions(s.BTF())
	return s.funcs
}

// FuncAddr returns the address of a function by the id of its FUNC in vmlinux BTF; ok is false for
// other ids.
func (s *Symbols) FuncAddr(fn btf.ID) (addr uint64, ok bool) {
	ids := s.Functions()
	i := sort.Search(len(ids), func(i int) bool { return ids[i] >= fn })
	if i == len(ids) || ids[i] != fn || i >= maxTextFunc {
		return 0, false
	}
	return s.win.Base + TextStride*uint64(i), true
}

// KsymAddr returns the address of a kernel symbol: from kallsyms if the user gave one, else that of
// a FUNC or VAR in the target's BTF, or of one of the variables that every kernel has. ok is false
// if the symbol is unknown.
func (s *Symbols) KsymAddr(name string) (addr uint64, ok bool) {
	if a, ok := s.given[name]; ok {
		return a, true
	}
	if s.BTF() != nil {
		for _, id := range s.BTF().IDs(btf.KindFunc, name) {
			if a, ok := s.FuncAddr(id); ok {
				return a, true
			}
		}
	}
	if i, ok := s.byName.Lookup(name); ok {
		return s.extraAddr(i), true
	}
	if a, ok := s.percpu.addrOf(name); ok {
		return a, true
	}
	if o := s.Variable(name); o != nil {
		return o.Addr(), true
	}
	return 0, false
}

// SymbolAddr is like KsymAddr, but assigns a text address to an unknown name: a symbol that BTF
// does not list and that the user declares to exist.
func (s *Symbols) SymbolAddr(name string) uint64 {
	if a, ok := s.KsymAddr(name); ok {
		return a
	}
	s.byName.Set(name, len(s.extra))
	s.extra = append(s.extra, name)
	return s.extraAddr(len(s.extra) - 1)
}

func (s *Symbols) extraAddr(i int) uint64 {
	return s.win.Base + s.win.Size - TextStride*uint64(i+1)
}

// SymbolAt returns the name of the function or variable that contains addr, and the offset in it,
// as %pS prints them; ok is false if there is none.
func (s *Symbols) SymbolAt(addr uint64) (name string, off uint64, ok bool) {
	addr = s.Mem().Truncate(addr)
	if len(s.given) > 0 {
		if s.sorted == nil {
			for n, a := range s.given {
				s.sorted = append(s.sorted, symbol{a, n})
			}
			sort.Slice(s.sorted, func(i, j int) bool {
				a, b := s.sorted[i], s.sorted[j]
				return a.addr < b.addr || a.addr == b.addr && a.name < b.name
			})
		}
		i := sort.Search(len(s.sorted), func(i int) bool { return s.sorted[i].addr > addr })
		if i > 0 && addr-s.sorted[i-1].addr < 1<<20 {
			return s.sorted[i-1].name, addr - s.sorted[i-1].addr, true
		}
	}
	if rel := addr - s.win.Base; rel < s.win.Size {
		if i := rel / TextStride; i < uint64(len(s.Functions())) {
			return s.BTF().Name(s.funcs[i]), rel % TextStride, true
		}
		last := s.win.Base + s.win.Size - 1
		if i := (last - addr) / TextStride; i < uint64(len(s.extra)) {
			return s.extra[i], rel % TextStride, true
		}
		return "", 0, false
	}
	if o := s.ObjectAt(addr); o != nil && s.isVariable(o) {
		return o.Role(), addr - o.Base(), true
	}
	return "", 0, false
}

// isVariable reports whether an object is a global variable, and not one of the shared objects
// without a symbol.
func (s *Symbols) isVariable(o *object.Object) bool {
	if s.Kept(o.Role()) != o {
		return false
	}
	_, ok := globals[o.Role()]
	return ok || len(s.BTF().IDs(btf.KindVar, o.Role())) > 0
}

// DataSymbol is a variable in the list of symbols.
type DataSymbol struct {
	Name   string
	Addr   uint64
	PerCPU bool
}

// DataSymbols returns the kernel's variables, of BTF and those that every kernel has, by name.
func (s *Symbols) DataSymbols() (out []DataSymbol) {
	if s.BTF() == nil {
		return nil
	}
	names := slices.Collect(maps.Keys(globals))
	for id := s.BTF().FirstID(); int(id) < s.BTF().NumTypes(); id++ {
		if s.BTF().Kind(id) == btf.KindVar {
			names = append(names, s.BTF().Name(id))
		}
	}
	slices.Sort(names)
	for _, name := range slices.Compact(names) {
		if a, ok := s.percpu.addrOf(name); ok {
			out = append(out, DataSymbol{name, a, true})
		} else if o := s.Variable(name); o != nil {
			out = append(out, DataSymbol{name, o.Addr(), false})
		}
	}
	return out
}

// FuncPointer chooses the target of a function pointer: a function with its prototype if the BTF
// has any.
func (s *Symbols) FuncPointer(role string, spec *btf.Spec, proto btf.ID) uint64 {
	ids := s.Functions()
	if len(ids) == 0 {
		return 0
	}
	h := s.Hash(role)
	if object.Home(spec, proto) == s.BTF() {
		if fit := s.Types().WithProto(s.BTF(), ids, proto); len(fit) > 0 {
			ids = fit
		}
	}
	a, _ := s.FuncAddr(ids[h%uint64(len(ids))])
	return a
}

// globals are variables that every kernel has, with their types, for ksyms that BTF does not list.
var globals = map[string]string{
	"init_net": "net", "init_task": "task_struct", "init_user_ns": "user_namespace", "init_pid_ns": "pid_namespace",
	"init_uts_ns": "uts_namespace", "init_ipc_ns": "ipc_namespace", "init_cgroup_ns": "cgroup_namespace", "init_css_set": "css_set",
	"init_mm": "mm_struct", "init_cred": "cred", "root_mem_cgroup": "mem_cgroup", "loopback_dev": "net_device",
	"jiffies": "u64", "jiffies_64": "u64", "nr_cpu_ids": "int", "__per_cpu_offset": "", "total_forks": "u64", "tcp_hashinfo": "inet_hashinfo",
}

// Variable returns the object of a kernel variable, a VAR in the BTF or one that every kernel has,
// or nil. Per-CPU variables have one object per CPU, see [Symbols.PercpuObject].
func (s *Symbols) Variable(name string) *object.Object {
	if o := s.Kept(name); o != nil {
		return o
	}
	l := (*object.Layout)(nil)
	count := uint64(1)
	if s.BTF() != nil {
		if t, ok := s.BTF().Find(btf.KindVar, name); ok {
			if _, per := s.percpu.find(name); per {
				return nil
			}
			l = s.Types().Of(s.BTF(), t.Ref)
		}
	}
	if typ, ok := globals[name]; l == nil && ok && s.BTF() != nil {
		switch typ {
		case "":
			l, count = s.word64(), uint64(s.CPUs())
		case "u64":
			l = s.word64()
		case "int":
			if ids := s.BTF().IDs(btf.KindInt, "unsigned int"); len(ids) > 0 {
				l = s.Types().Of(s.BTF(), ids[0])
			}
		default:
			l = s.LayoutNamed(typ)
		}
	}
	if l == nil || l.Size == 0 {
		return nil
	}
	o, err := s.Make(name, l, count, nil)
	if err != nil {
		s.Fail(err)
		return nil
	}
	s.Keep(name, o)
	s.fillVariable(o, name)
	return o
}

// word64 returns the layout of unsigned long long, or of any integer of 8 bytes.
func (s *Symbols) word64() *object.Layout {
	for _, n := range [...]string{"long long unsigned int", "unsigned long long", "long unsigned int"} {
		for _, id := range s.BTF().IDs(btf.KindInt, n) {
			if l := s.Types().Of(s.BTF(), id); l != nil && l.Size == 8 {
				return l
			}
		}
	}
	return nil
}

// fillVariable sets variables whose values follow from the machine.
func (s *Symbols) fillVariable(o *object.Object, name string) {
	var b [8]byte
	put := func(i int, v uint64) {
		n := min(o.Storage().Size, 8)
		endian.PutUint(s.Order(), b[:n], v)
		o.Poke(uint64(i)*n, b[:n], object.Given)
	}
	switch name {
	case "jiffies", "jiffies_64":
		put(0, s.clock.Jiffies())
	case "nr_cpu_ids":
		put(0, uint64(s.CPUs()))
	case "__per_cpu_offset":
		if o.Storage().Type.Kind == btf.KindArray {
			return
		}
		for cpu := range s.CPUs() {
			put(cpu, s.percpu.offset(cpu))
		}
	}
}

// VariableAddr returns the address of a typed ksym; for a per-CPU variable its per-CPU address (see
// [Symbols.PercpuAddr]). The error is an [*AbsentError].
func (s *Symbols) VariableAddr(name string) (uint64, error) {
	if a, ok := s.percpu.addrOf(name); ok {
		return a, nil
	}
	if o := s.Variable(name); o != nil {
		return o.Addr(), nil
	}
	return 0, &object.AbsentError{Hook: name, What: "variable of that name in its BTF"}
}

// SampleIP returns a sampled instruction pointer, in some function of the kernel.
func (s *Symbols) SampleIP() uint64 {
	if ids := s.Functions(); len(ids) > 0 {
		if a, ok := s.FuncAddr(ids[s.Hash("sample ip")%uint64(min(len(ids), maxTextFunc))]); ok {
			return a + 16
		}
	}
	return s.win.Base
}

// FindSymbol returns the address of a kernel symbol, as bpf_kallsyms_lookup_name does; ok is false
// and the address 0 if the symbol is unknown. See [Symbols.KsymAddr].
func (s *Symbols) FindSymbol(name string) (addr uint64, ok bool) { return s.KsymAddr(name) }
