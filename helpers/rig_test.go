package helpers

import (
	"fmt"
	"strconv"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/btf"
	"github.com/bpfrun/bpfrun/btf/btffile"
	"github.com/bpfrun/bpfrun/btf/embedded"
	"github.com/bpfrun/bpfrun/decode"
	"github.com/bpfrun/bpfrun/internal/kernel"
	"github.com/bpfrun/bpfrun/internal/kernel/hook"
	"github.com/bpfrun/bpfrun/internal/kernel/object"
	"github.com/bpfrun/bpfrun/internal/maps"
	"github.com/bpfrun/bpfrun/internal/mem"
	"github.com/bpfrun/bpfrun/internal/testing/testbtf"
	"github.com/bpfrun/bpfrun/internal/uapi"
	"github.com/bpfrun/bpfrun/vm"
)

// rig is a machine without a loader: real memory, kernel, maps and processor.
type rig struct {
	t      testing.TB
	mem    *mem.Memory
	kernel *kernel.Kernel
	maps   *maps.Env
	env    *Env
	text   *vm.Text
	thread *vm.Thread
	bound  []maps.Map
	ctx    *hook.Context
}

// exercised collects the functions that tests bind; TestMain wants all of them.
var exercised = map[string]bool{}

// types is shared by all rigs, so that layouts are worked out once.
var types = object.NewTypes()

// newRig makes a machine of that kernel version, with the embedded kernel's types.
func newRig(t testing.TB, version uint32) *rig {
	t.Helper()
	spec, err := embedded.Spec()
	require.NoError(t, err)
	return rigOf(t, version, spec, types)
}

// newestTypes are the types of Linux 7.2, which most tests do without: they take a while to read.
var newestTypes = sync.OnceValues(func() (*btf.Spec, error) {
	return testbtf.Load("../testdata/btf/linux-7.2.13-amd64.btf.xz")
})

// newestRig is newRig of Linux 7.2, with that kernel's types.
func newestRig(t testing.TB) *rig {
	t.Helper()
	spec, err := newestTypes()
	require.NoError(t, err)
	return rigOf(t, uapi.VersionCode(7, 2), spec, types72)
}

var types72 = object.NewTypes()

// moduleRig is newRig with the types of Linux 7.2 and of one of its modules, and with these random
// numbers.
func moduleRig(t testing.TB, version uint32, module string, random ...uint64) *rig {
	t.Helper()
	spec, err := newestTypes()
	require.NoError(t, err)
	mod, err := btffile.Load("../testdata/btf/modules/linux-7.2.13-amd64."+module+".btf.xz", spec)
	require.NoError(t, err)
	return rigWith(t, kernel.Config{BTF: spec, Modules: []*btf.Spec{mod}, Version: version, Types: types72, Random: random})
}

func rigOf(t testing.TB, version uint32, spec *btf.Spec, types *object.Types) *rig {
	t.Helper()
	return rigWith(t, kernel.Config{BTF: spec, Version: version, Types: types})
}

// rigWith makes a machine with a kernel of that version and those types.
func rigWith(t testing.TB, cfg kernel.Config) *rig {
	t.Helper()
	spec, version := cfg.BTF, cfg.Version
	m, err := mem.New(mem.Config{PointerSize: spec.PointerSize(), ByteOrder: spec.ByteOrder(), Size: 64 << 20})
	require.NoError(t, err)
	t.Cleanup(m.Close)
	cfg.Mem, cfg.Arch, cfg.Seed = m, "x86", 1
	k, err := kernel.New(cfg)
	require.NoError(t, err)
	r := &rig{t: t, mem: m, kernel: k, text: vm.NewText(0)}
	r.maps = &maps.Env{Mem: m, CPUs: k.CPUs(), Seed: 1, KernelVersion: version, KernelBTF: spec}
	r.env = New(Config{Mem: m, Kernel: k, Arch: "x86", Version: version, MapAt: r.maps.ByAddr,
		TailTarget: func(entry any) (*vm.Image, *vm.Action) { return entry.(*vm.Image), nil }})
	r.maps.FreeField = r.env.FreeField
	r.thread = vm.NewThread(m, vm.ThreadConfig{})
	r.thread.User = r.env
	r.env.Run = NewRun(uapi.ProgTypeSchedCls, 0)
	return r
}

// newest is the kernel version most tests simulate.
var newest = uapi.VersionCode(6, 18)

func (r *rig) newMap(s maps.Spec) maps.Map {
	r.t.Helper()
	if s.Name == "" {
		s.Name = fmt.Sprintf("map%d", len(r.bound))
	}
	m, err := maps.New(r.maps, s)
	require.NoError(r.t, err)
	r.bound = append(r.bound, m)
	return m
}

// context starts a run of a program type with a fresh context.
func (r *rig) context(typ uapi.ProgType, spec hook.ContextSpec) *hook.Context {
	r.t.Helper()
	spec.ProgType = typ
	c, err := r.kernel.NewContext(spec)
	require.NoError(r.t, err)
	r.ctx = c
	r.env.Run = NewRun(typ, spec.Attach)
	r.env.Run.FuncIP, r.env.Run.FuncArgs, r.env.Run.FuncReturns = c.FuncAddr, c.Slots, c.Returns
	if c.Packet != nil {
		r.env.Run.Packet = c.Packet.Bytes
	}
	return c
}

// lower makes code of assembled text. Map references are indexes into bound; kfuncs are called by
// their position in kfuncNames.
func (r *rig) lower(insns []decode.Insn, kfuncNames []string) *vm.Image {
	r.t.Helper()
	img, err := vm.Lower(vm.LowerConfig{
		Name: "test", Insns: insns, Text: r.text,
		Imm64: func(pc int) (uint64, error) {
			m := r.bound[insns[pc].Imm]
			if insns[pc].Op() == decode.OpLdMapFD {
				return m.Addr(), nil
			}
			addr, errno := m.(maps.ValueBase).DirectValue(uint32(insns[pc+1].Imm))
			if errno != 0 {
				return 0, errno
			}
			return addr, nil
		},
		Call: func(_ int, in decode.Insn) (*vm.Func, error) {
			if in.Op() == decode.OpCallKfunc {
				k, ok := LookupKfunc(kfuncNames[in.Imm])
				if !ok {
					return nil, fmt.Errorf("kfunc %s is not simulated", kfuncNames[in.Imm])
				}
				exercised[k.Name] = true
				return &vm.Func{Name: k.Name, Fn: k.Fn, Kfunc: true}, nil
			}
			h, ok := Lookup(uapi.FuncID(in.Imm))
			if !ok {
				return nil, fmt.Errorf("%v is not simulated", uapi.FuncID(in.Imm))
			}
			exercised[h.Name()] = true
			return &vm.Func{Name: h.Name(), ID: in.Imm, Fn: h.Fn}, nil
		},
	})
	require.NoError(r.t, err)
	return img
}

// call runs one helper with its arguments in r1 to r5 and returns r0 and the fault.
func (r *rig) call(id uapi.FuncID, args ...uint64) (uint64, *vm.Fault) {
	r.t.Helper()
	return r.run(r.lower([]decode.Insn{{Code: 0x85, Imm: int32(id)}, {Code: 0x95}}, nil), args...)
}

// kfunc is call of a kfunc.
func (r *rig) kfunc(name string, args ...uint64) (uint64, *vm.Fault) {
	r.t.Helper()
	return r.run(r.lower([]decode.Insn{{Code: 0x85, Src: 2}, {Code: 0x95}}, []string{name}), args...)
}

func (r *rig) run(img *vm.Image, args ...uint64) (uint64, *vm.Fault) {
	r.thread.Start(img, args...)
	if stop := r.thread.Run(100_000_000); stop == vm.Budget {
		r.t.Fatal("the program does not end")
	}
	return r.thread.Ret(), r.thread.Fault()
}

// ok is call without a fault.
func (r *rig) ok(id uapi.FuncID, args ...uint64) uint64 {
	r.t.Helper()
	ret, f := r.call(id, args...)
	require.Nil(r.t, f, "%v", f)
	return ret
}

// kok is kfunc without a fault.
func (r *rig) kok(name string, args ...uint64) uint64 {
	r.t.Helper()
	ret, f := r.kfunc(name, args...)
	require.Nil(r.t, f, "%v", f)
	return ret
}

// alloc places bytes in plain guest memory.
func (r *rig) alloc(data []byte) uint64 {
	r.t.Helper()
	g, err := r.mem.Alloc(uint64(max(len(data), 1)), mem.Region{Kind: mem.Scratch, Name: "test"})
	require.NoError(r.t, err)
	copy(r.mem.Bytes(g), data)
	return g.Base
}

func (r *rig) space(n int) uint64 { r.t.Helper(); return r.alloc(make([]byte, n)) }

func (r *rig) str(s string) uint64 { r.t.Helper(); return r.alloc(append([]byte(s), 0)) }

func (r *rig) bytes(addr uint64, n int) []byte {
	r.t.Helper()
	b := make([]byte, n)
	f := r.mem.Read(addr, b)
	require.Nil(r.t, f)
	return b
}

func (r *rig) u64(addr uint64) uint64 {
	r.t.Helper()
	return r.mem.ByteOrder().Uint64(r.bytes(addr, 8))
}

func (r *rig) u32(addr uint64) uint32 {
	r.t.Helper()
	return r.mem.ByteOrder().Uint32(r.bytes(addr, 4))
}

// neg is the return value of an errno.
func neg(e uapi.Errno) uint64 { return uint64(e.Neg()) }

func itoa(n uint32) string { return strconv.FormatUint(uint64(n), 10) }

// mustFind is the id of a struct of the kernel.
func mustFind(t testing.TB, r *rig, name string) btf.ID {
	t.Helper()
	typ, ok := r.kernel.BTF().Find(btf.KindStruct, name)
	require.True(t, ok, name)
	return typ.ID
}
