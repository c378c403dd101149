package verifier

import (
	"slices"

	"github.com/bpfrun/bpfrun/btf"
	"github.com/bpfrun/bpfrun/helpers/proto"
	"github.com/bpfrun/bpfrun/internal/uapi"
	"github.com/bpfrun/bpfrun/internal/uapi/since"
	"github.com/bpfrun/bpfrun/internal/verifier/refusal"
)

// addKfunc finds the kernel function that instruction i calls (add_kfunc_call).
func (l *layout) addKfunc(i int) {
	in := &l.insns[i]
	if !l.has(since.Kfuncs) {
		return
	}
	ref, ok := l.p.Refs[i]
	if !ok || ref.Kind != RefKfunc {
		if in.Imm == 0 {
			return
		}
		l.refuse(refusal.KernelBtfIdNotFunction, in.Imm)
	}
	if ref.Missing {
		// libbpf sets calls of missing weak functions to number 0.
		l.aux[i].kfunc = &kfunc{name: ref.Name, missing: true}
		return
	}
	// Kfuncs are functions of the kernel's inside, like those that are exported to GPL code only.
	if !l.prog.gpl {
		l.refuse(refusal.CannotCallKernelFunctionNonGPL)
	}
	k := l.prog.kfuncs[ref.Name]
	if k == nil {
		k = l.makeKfunc(&ref)
		if l.prog.kfuncs == nil {
			l.prog.kfuncs = map[string]*kfunc{}
		}
		l.prog.kfuncs[ref.Name] = k
		// The kernel keeps a table of the functions that a program calls.
		if len(l.prog.kfuncs) > maxKfuncs {
			l.refuse(refusal.TooManyDifferentKernelFunctionCalls)
		}
	}
	l.aux[i].kfunc = k
}

// makeKfunc finds a function by its BTF id, with what the kernel registered for it.
func (l *layout) makeKfunc(ref *Ref) *kfunc {
	s := l.moduleSpec(ref.Module)
	if s == nil {
		l.unknown("kernel function %s: no BTF of %s", ref.Name, ref.Module)
	}
	k := &kfunc{name: ref.Name, spec: l.addSpec(s), id: ref.TypeID}
	fn := s.MustType(ref.TypeID)
	if fn.Kind != btf.KindFunc {
		l.refuse(refusal.KernelBtfIdNotFunction, ref.TypeID)
	}
	k.name = fn.Name
	k.proto = s.MustType(fn.Ref)
	row, ok := l.declared(ref.Module).Lookup(fn.Name)
	// The driver implements these functions, so the program must be bound to a device of it.
	if row.Is(proto.DeviceMetadata) && l.p.Flags&flagDevBound == 0 {
		l.refuse(refusal.MetadataKfuncsRequireDeviceBoundProgram)
	}
	if !ok {
		// Kernels since 6.9 tag their kfuncs in BTF: a function without the tag cannot be called.
		tagged := s.Kfuncs()
		k.none = len(tagged) > 0 && !slices.Contains(tagged, ref.TypeID)
		return k
	}
	k.row = row
	k.flags = kfFlags(row.FlagsIn(l.rel))
	k.allowed = row.For(l.rel, l.prog.caller)
	if row.Only == proto.SessionPrograms {
		k.allowed = k.allowed && row.Only.Permits(l.prog.caller)
	}
	k.changesPacket = k.is(proto.PullsPacket)
	return k
}

// dropInTracing: programs that may run in an NMI cannot drop objects with fields that are unsafe to
// free there: freeing them takes locks, which what was interrupted may hold.
func (c *kfuncs) dropInTracing(m *callMeta) {
	if !c.has(since.UnsafeDrop) || !m.k.is(proto.DropsObject|proto.DropsPercpu) {
		return
	}
	traces := tracer(c.prog.typ) || c.prog.typ == uapi.ProgTypeTracing && c.p.Attach != uapi.AttachTraceIter && !c.p.Sleepable
	rec := c.objectRecord(m.argSpec, btf.ID(m.argID))
	if !traces || rec == nil {
		return
	}
	for i := range rec.fields {
		if rec.fields[i].kind&(fieldSpinLock|fieldResSpinLock|fieldTimer|fieldWorkqueue|fieldTaskWork|fieldKptrUnref|fieldRefcount) == 0 {
			c.refuse(refusal.CannotUsedInTracingProgramsTypes, m.k.name)
		}
	}
}
