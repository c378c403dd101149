package window

import (
	"slices"
	"sort"

	"github.com/bpfrun/bpfrun/btf"
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
