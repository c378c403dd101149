package window

import (
	"fmt"
	"slices"
	"sort"

	"github.com/bpfrun/bpfrun/btf"
	"github.com/bpfrun/bpfrun/internal/kernel/object"
	"github.com/bpfrun/bpfrun/internal/mem"
	"github.com/bpfrun/bpfrun/internal/undo"
)

// Per-CPU memory: one window holds the section at the addresses that the compiler sees, followed by
// one area per CPU. The address of a variable on a CPU is its own address plus the CPU's offset, as
// in the kernel.
const (
	percpuBase64 = 0xffff_e8ff_0000_0000
	percpuBase32 = 0xff00_0000
	percpuSize32 = 0x00f0_0000
	percpuRoom   = 256 << 10 // bytes for allocations besides the section's variables
	percpuAlign  = 64 << 10
)

// PerCPU holds the per-CPU variables of the target and their objects. Create it with [NewPerCPU].
type PerCPU struct {
	*object.Space `snapshot:"fixed"`
	win           *mem.Window `snapshot:"fixed"`
	stride        uint64      `snapshot:"fixed"`
	section       uint64      `snapshot:"fixed"` // size of the DATASEC

	vars      []percpuVar // only appended to and completed: snapshots share them
	next      uint64      // offset of the next allocation
	instances undo.Map[percpuKey, *object.Object]
}

// PerCPUSnapshot is the state of per-CPU memory at one point in time.
type PerCPUSnapshot struct {
	vars      []percpuVar
	next      uint64
	instances *undo.State[percpuKey, *object.Object]
}

// Snapshot records what is allocated and which copies have objects.
func (p *PerCPU) Snapshot() *PerCPUSnapshot {
	return &PerCPUSnapshot{slices.Clip(p.vars), p.next, p.instances.Snapshot()}
}

// Restore restores a snapshot.
func (p *PerCPU) Restore(s *PerCPUSnapshot) {
	p.vars, p.next = s.vars, s.next
	p.instances.Restore(s.instances)
}

type percpuVar struct {
	name string
	off  uint64
	l    *object.Layout
	size uint64
}

type percpuKey struct {
	v   int // index in vars
	cpu int
}

// NewPerCPU adds per-CPU memory to a space: the variables in the target's BTF, and space for
// allocations.
func NewPerCPU(s *object.Space) (*PerCPU, error) {
	p := &PerCPU{Space: s}
	if s.BTF() != nil {
		all := s.Types().Variables(s.BTF(), ".data..percpu")
		p.vars = make([]percpuVar, len(all))
		for i, v := range all {
			p.vars[i] = percpuVar{name: v.Name, off: v.Off, size: v.Size}
			p.section = max(p.section, v.Off+v.Size)
		}
	}
	if p.section > 16<<20 {
		return nil, fmt.Errorf("kernel: per-CPU section of %d bytes", p.section)
	}
	p.section = (p.section + 63) &^ 63
	p.next = p.section
	p.stride = (p.section + percpuRoom + percpuAlign - 1) &^ (percpuAlign - 1)
	base := uint64(percpuBase64)
	size := p.stride * uint64(s.CPUs()+1)
	if s.Mem().PointerSize() == 4 {
		base = percpuBase32
		if size > percpuSize32 {
			return nil, fmt.Errorf("kernel: %d CPUs need %d bytes of per-CPU memory, a 32-bit target has room for %d", s.CPUs(), size, percpuSize32)
		}
	}
	w, err := s.Mem().AddWindow(mem.Window{Base: base, Size: size, Kind: mem.WindowKernel, Name: "per-CPU", View: percpuView{p}})
	if err != nil {
		return nil, err
	}
	p.win = w
	return p, nil
}

// offset returns the number that is added to a per-CPU address to reach a CPU's copy
// (__per_cpu_offset).
func (p *PerCPU) offset(cpu int) uint64 { return p.stride * uint64(cpu+1) }

// find returns the index of a variable.
func (p *PerCPU) find(name string) (int, bool) {
	for i := range p.vars {
		if p.vars[i].name == name {
			return i, true
		}
	}
	return 0, false
}

func (p *PerCPU) addrOf(name string) (uint64, bool) {
	i, ok := p.find(name)
	if !ok {
		return 0, false
	}
	return p.win.Base + p.vars[i].off, true
}

// at returns the variable that contains an offset of an area.
func (p *PerCPU) at(off uint64) (int, bool) {
	i := sort.Search(len(p.vars), func(i int) bool { return p.vars[i].off > off }) - 1
	// Variables of size 0 share the offset of the next one.
	for ; i >= 0; i-- {
		if v := &p.vars[i]; off < v.off+v.size {
			return i, true
		} else if v.size != 0 {
			break
		}
	}
	return 0, false
}

// instance returns the copy of a variable on a CPU, which is created on first use.
func (p *PerCPU) instance(i, cpu int) *object.Object {
	key := percpuKey{i, cpu}
	if o := p.instances.Get(key); o != nil {
		return o
	}
	v := &p.vars[i]
	if v.l == nil {
		if t, ok := p.BTF().Find(btf.KindVar, v.name); ok {
			v.l = p.Types().Of(p.BTF(), t.Ref)
		}
	}
	o := p.MakeAt(fmt.Sprintf("%s[cpu %d]", v.name, cpu), v.l, v.size, p.win.Region(), p.win.Base+p.offset(cpu)+v.off)
	p.instances.Set(key, o)
	return o
}

// VariableAt returns the variable's copy at an address of some CPU's area; nil elsewhere.
func (p *PerCPU) VariableAt(addr uint64) *object.Object {
	rel := addr - p.win.Base
	if rel >= p.win.Size || rel < p.stride {
		return nil
	}
	i, ok := p.at(rel % p.stride)
	if !ok {
		return nil
	}
	return p.instance(i, int(rel/p.stride)-1)
}

// resolve finds the object for an access to the window.
func (p *PerCPU) resolve(off, size uint64) (*object.Object, uint64, *mem.Fault) {
	if off < p.stride {
		return nil, 0, &mem.Fault{Kind: mem.Unmapped, Detail: "this is a per-CPU offset: convert it with bpf_per_cpu_ptr or bpf_this_cpu_ptr"}
	}
	o := p.VariableAt(p.win.Base + off)
	if o == nil {
		return nil, 0, &mem.Fault{Kind: mem.Unmapped, Detail: "no per-CPU variable is at this offset"}
	}
	in := p.win.Base + off - o.Base()
	if in+size > o.StorageSize() {
		return nil, 0, &mem.Fault{Kind: mem.OutOfBounds, Detail: fmt.Sprintf("past the end of per-CPU variable %s", o.Role())}
	}
	return o, in, nil
}

// percpuView implements guest accesses to per-CPU memory.
type percpuView struct{ p *PerCPU }

// Load implements [mem.View].
func (v percpuView) Load(off uint64, size int) (uint64, *mem.Fault) {
	o, in, f := v.p.resolve(off, uint64(size))
	if f != nil {
		return 0, f
	}
	return o.Load(in, size)
}

// Store implements [mem.View].
func (v percpuView) Store(off uint64, size int, x uint64) *mem.Fault {
	o, in, f := v.p.resolve(off, uint64(size))
	if f != nil {
		return f
	}
	return o.Store(in, size, x)
}

// Read implements [mem.View].
func (v percpuView) Read(off uint64, b []byte) *mem.Fault {
	o, in, f := v.p.resolve(off, uint64(len(b)))
	if f != nil {
		return f
	}
	return o.Read(in, b)
}

// Write implements [mem.View].
func (v percpuView) Write(off uint64, b []byte) *mem.Fault {
	o, in, f := v.p.resolve(off, uint64(len(b)))
	if f != nil {
		return f
	}
	return o.Write(in, b)
}

// PercpuAddr converts a per-CPU address, such as that of a per-CPU variable's ksym, to the address
// of a CPU's copy; ok is false for other addresses and for CPUs that do not exist.
func (p *PerCPU) PercpuAddr(base uint64, cpu int) (addr uint64, ok bool) {
	base = p.Mem().Truncate(base)
	rel := base - p.win.Base
	if rel >= p.stride || cpu < 0 || cpu >= p.CPUs() {
		return 0, false
	}
	return base + p.offset(cpu), true
}

// PercpuObject returns the copy of a per-CPU variable on a CPU, or nil if the BTF has no such
// variable.
func (p *PerCPU) PercpuObject(name string, cpu int) *object.Object {
	i, ok := p.find(name)
	if !ok || cpu < 0 || cpu >= p.CPUs() {
		return nil
	}
	return p.instance(i, cpu)
}

// Pointer allocates per-CPU memory for a pointer tagged percpu and returns its per-CPU address.
func (p *PerCPU) Pointer(role string, spec *btf.Spec, id btf.ID) uint64 {
	v := percpuVar{name: role, off: p.next, l: p.Types().Of(spec, id), size: object.OpaqueSize}
	if v.l != nil && v.l.Size > 0 {
		v.size = v.l.Size
	}
	if p.next+v.size > p.stride {
		return 0
	}
	p.next += (v.size + 63) &^ 63
	p.vars = append(p.vars, v)
	return p.win.Base + v.off
}
