package bpfsys

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/bpfrun/bpfrun/btf"
	"github.com/bpfrun/bpfrun/internal/kernel"
	"github.com/bpfrun/bpfrun/internal/uapi/since"
)

// symbol is a line of /proc/kallsyms: typ is T for functions, D for variables, A for per-CPU ones
// of kernels in which these are offsets.
type symbol struct {
	addr   uint64
	typ    byte
	name   string
	module string // with it in front of the name, "" if it is the kernel's own
}

// kallsyms returns /proc/kallsyms: the kernel's symbols and the loaded programs.
func (s *System) kallsyms() []byte {
	if s.trace.kall == nil {
		var b bytes.Buffer
		for _, l := range s.symbols() {
			fmt.Fprintf(&b, "%016x %c %s%s\n", l.addr, l.typ, l.name, inModule("\t", l.module))
		}
		s.trace.kall = b.Bytes()
	}
	out := slices.Clone(s.trace.kall)
	k := s.machine.Kernel()
	for o := range s.byID[KindProg].All() {
		p := o.(*Prog)
		out = fmt.Appendf(out, "%016x t bpf_prog_%x_%s\t[bpf]\n", k.SymbolAddr("bpf_prog_"+p.unique), p.tag, p.name)
	}
	return out
}

// symbols returns the kernel's symbols by address, those of modules behind its own: symbols that
// the user gave, or functions, variables and tracepoints of BTF.
func (s *System) symbols() (list []symbol) {
	k := s.machine.Kernel()
	if s.target.Kallsyms != nil {
		for name, addr := range s.target.Kallsyms {
			list = append(list, symbol{addr: addr, typ: 'T', name: name})
		}
	} else if s.target.BTF != nil {
		for _, id := range k.Functions() {
			if addr, ok := k.FuncAddr(id); ok {
				list = append(list, symbol{addr: addr, typ: 'T', name: s.target.BTF.Name(id)})
			}
		}
		if len(list) > 0 { // perf relates its addresses to the start of the kernel's text
			start, end := list[0].addr, list[len(list)-1].addr+kernel.FunctionSize
			list = append(list, symbol{addr: start, typ: 'T', name: "_stext"}, symbol{addr: start, typ: 'T', name: "_text"}, symbol{addr: end, typ: 'T', name: "_etext"})
		}
		perCPU := byte('D')
		if s.target.Arch == "x86" && !s.has(since.PerCPUAddresses) {
			perCPU = 'A'
		}
		for _, v := range k.DataSymbols() {
			typ := byte('D')
			if v.PerCPU {
				typ = perCPU
			}
			list = append(list, symbol{addr: v.Addr, typ: typ, name: v.Name})
		}
		for id := s.target.BTF.FirstID(); int(id) < s.target.BTF.NumTypes(); id++ {
			if s.target.BTF.Kind(id) != btf.KindTypedef {
				continue
			}
			if n, ok := strings.CutPrefix(s.target.BTF.Name(id), "btf_trace_"); ok {
				list = append(list, symbol{addr: k.SymbolAddr("__tracepoint_" + n), typ: 'D', name: "__tracepoint_" + n})
			}
		}
	}
	if s.target.Kallsyms == nil {
		s.eachModuleFunction(func(name, module string) {
			list = append(list, symbol{addr: k.SymbolAddr(name), typ: 't', name: name, module: module})
		})
	}
	// Symbols that appear in stacks but not in BTF.
	for _, name := range kernel.StackSymbols() {
		if addr := k.SymbolAddr(name); !slices.ContainsFunc(list, func(x symbol) bool { return x.addr == addr }) {
			list = append(list, symbol{addr: addr, typ: 'T', name: name})
		}
	}
	slices.SortFunc(list, func(a, b symbol) int {
		return cmp.Or(cmp.Compare(a.module, b.module), cmp.Compare(a.addr, b.addr), cmp.Compare(a.name, b.name))
	})
	return list
}

// eachModuleFunction calls do for each function of each module.
func (s *System) eachModuleFunction(do func(name, module string)) {
	for _, m := range s.target.Modules {
		for id := m.BTF.FirstID(); int(id) < m.BTF.NumTypes(); id++ {
			if m.BTF.Kind(id) == btf.KindFunc {
				do(m.BTF.Name(id), m.Name)
			}
		}
	}
}

// modules returns /proc/modules, with sizes that are invented.
func (s *System) modules() []byte {
	first := map[string]uint64{}
	for _, x := range s.symbols() {
		if first[x.module] == 0 {
			first[x.module] = x.addr
		}
	}
	out := []byte{}
	for _, m := range s.target.Modules {
		out = fmt.Appendf(out, "%s 65536 0 - Live 0x%016x\n", m.Name, first[m.Name]&^0xfff)
	}
	return out
}

// inModule writes the module of a symbol as lists do.
func inModule(space, module string) string {
	if module == "" {
		return ""
	}
	return space + "[" + module + "]"
}
