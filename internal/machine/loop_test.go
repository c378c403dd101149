package machine_test

import (
	"context"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/btf/embedded"
	"github.com/bpfrun/bpfrun/internal/machine"
	"github.com/bpfrun/bpfrun/internal/maps"
	"github.com/bpfrun/bpfrun/internal/mem"
	"github.com/bpfrun/bpfrun/internal/packet"
	"github.com/bpfrun/bpfrun/internal/testing/testsize"
	"github.com/bpfrun/bpfrun/internal/uapi"
	"github.com/bpfrun/bpfrun/loader"
)

// everything describes a result with all that it says, but for addresses of the host.
func everything(r *machine.Result) string {
	c := *r
	c.Reads, c.Writes, c.Fault, c.Traced = nil, nil, nil, nil
	text := fmt.Sprintf("%+v\n", c)
	if r.Fault != nil {
		text += fmt.Sprintf("fault %v at %s insn %d %s\n", r.Fault.Fault.Error(), r.Fault.Program, r.Fault.Insn, r.Fault.Hint)
	}
	for _, list := range [][]machine.KernelAccess{r.Reads, r.Writes} {
		for _, a := range list {
			text += fmt.Sprintf("%d %s %s.%s +%d %d %v %v %v at %#x\n", a.Insn, a.Role, a.Type, a.Path, a.Off, a.Size, a.Write, a.Set, a.Default, a.Object.Addr())
		}
	}
	for _, t := range r.Traced {
		text += everything(t)
	}
	return text
}

// whole describes the state of a machine: every region with its bytes and its shadow, kernel
// objects, maps, what is allocated, time and the next random numbers.
func whole(m *machine.Machine) []string {
	var out []string
	mm, k := m.Memory(), m.Kernel()
	mm.Regions(func(r *mem.Region) bool {
		sum := fnv.New64a()
		_, _ = sum.Write(mm.ExtentBytes(r))
		base, size := r.Extent()
		valid := make([]byte, 0, size/4+4)
		for addr := base - 8; addr < base+size+8; addr += 4 {
			if mm.Check(addr, 4, true) == nil {
				valid = append(valid, byte(addr))
			}
		}
		_, _ = sum.Write(valid)
		out = append(out, fmt.Sprintf("region %v %s [%#x +%d) in [%#x +%d) read only %v, %d elements: %x", r.Kind, r.Name, r.Base, r.Size, base, size, r.ReadOnly, r.Count, sum.Sum64()))
		return true
	})
	for _, o := range k.Objects() {
		out = append(out, fmt.Sprintf("object %s %s at %#x: %x", o.Role(), o.TypeName(), o.Addr(), o.Bytes()))
	}
	for _, def := range m.Linked().Maps {
		b, ok := m.Map(def)
		if !ok {
			continue
		}
		text := ""
		for _, e := range b.Entries() {
			text += fmt.Sprintf(" %x=%x%x", e.Key, e.Value, e.PerCPU)
		}
		out = append(out, "map "+def.Name+text)
	}
	clock := k.Clock()
	out = append(out, fmt.Sprintf("used %d, time %d %d %d, random %d, prog %v", mm.Used(), clock.Mono(), clock.Boot(), clock.Real(), k.Random64(), k.ProgType()))
	// What the next allocations get.
	for _, size := range []uint64{1, 64, 512, 3000} {
		r, err := mm.Alloc(size, mem.Region{Kind: mem.Scratch})
		out = append(out, fmt.Sprintf("next %d %#x %v", size, r.Base, err))
	}
	o, err := k.MakeBytes("next", 10, nil)
	out = append(out, fmt.Sprintf("next object %#x %v", o.Addr(), err))
	return out
}

var loopFrames = []string{
	"eth/ip/tcp(flags=S)", "eth/ip(src=10.0.0.9)/udp(dport=53)/'question'", "eth/ip6/tcp(dport=443,flags=PA)/'x'*300", "eth/ip/icmp", "eth/arp", "eth/ip/udp/'x'*1200",
}

// input gives the loop its nth input: a packet, arguments, bytes of the context, time, elements of
// maps, user memory.
func input(t *testing.T, l *machine.Loop, m *machine.Machine, n int) {
	rnd := rand.New(rand.NewPCG(uint64(n), 7))
	l.Rewind()
	if n == 0 {
		return
	}
	if l.Context().Packet != nil {
		p, err := packet.Parse(loopFrames[n%len(loopFrames)])
		require.NoError(t, err)
		if err := l.SetPacket(p); err != nil {
			require.ErrorAs(t, err, new(*machine.PacketSizeError))
		}
	}
	for _, def := range m.Linked().Maps {
		b, ok := m.Map(def)
		if !ok || rnd.IntN(2) == 0 || def.Type == uapi.MapTypeRingbuf || def.KeySize == 0 {
			continue
		}
		key, value := make([]byte, def.KeySize), make([]byte, maps.UserValueSize(b))
		key[0], value[0] = byte(rnd.IntN(3)), byte(rnd.IntN(3))
		_ = b.Update(maps.AllCPUs, key, value, 0) // what it answers is the same each time
	}
	m.Kernel().Clock().Advance(rnd.Uint64N(1e9))
	m.Kernel().UserString(fmt.Sprint("input ", n))
	for _, a := range l.Context().Args {
		if a.Object == nil && rnd.IntN(2) == 0 {
			l.SetArg(a.Name, rnd.Uint64N(1<<20))
		}
	}
	if o := m.Kernel().Running(); o != nil {
		_ = o.SetUint("pid", rnd.Uint64N(1000)) // BTF may lack it
	}
}

// TestLoopIsAFreshMachine compares every run of a loop, in any order of inputs, with the first run
// of a fresh machine: its result, accesses and coverage news aside, and all of the state that it
// leaves. Engines and warm loops too.
func TestLoopIsAFreshMachine(t *testing.T) {
	files, err := filepath.Glob("../../examples/*/*.bpf.o")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for fi, file := range testsize.Some(5, files) { // no divisor of the choices below
		linked := load(t, file, target(t, embedded.Name))
		engine := []machine.Engine{machine.EngineJIT, machine.EngineInterpreter}[fi%2]
		warm := fi/2%2 == 0
		open := func() *machine.Machine {
			return compose(t, linked, machine.Config{Engine: engine, Seed: 3, Cover: noCover{}, Restores: fi%3 != 0})
		}
		for _, lp := range linked.Programs {
			first := func(m *machine.Machine) *machine.Loop {
				l, _, err := m.Loop(lp.Name, machine.Input{})
				require.NoError(t, err)
				if l == nil {
					return nil
				}
				if warm {
					require.NoError(t, l.Warm(context.Background()))
				}
				l.Record(true)
				return l
			}
			m := open()
			l := first(m)
			if l == nil {
				m.Close()
				continue
			}
			const inputs = 3
			type seen struct {
				outcome, result string
				state           []string
			}
			see := func(m *machine.Machine, l *machine.Loop, n int) seen {
				input(t, l, m, n)
				out, err := l.Run(context.Background())
				require.NoError(t, err)
				s := seen{outcome: fmt.Sprint(out.Ret, out.Insns, out.Fault)}
				res := l.Finish()
				res.Coverage = machine.Coverage{}
				s.result, s.state = everything(res), whole(m)
				return s
			}
			var want [inputs]seen
			for n := range want {
				f := open()
				want[n] = see(f, first(f), n)
				f.Close()
			}
			rnd := rand.New(rand.NewPCG(uint64(fi), 1))
			for range 2 * inputs {
				n := rnd.IntN(inputs)
				got := see(m, l, n)
				if !assert.Equal(t, want[n], got, "%s of %s, input %d, warm %v", lp.Name, file, n, warm) {
					return
				}
			}
			m.Close()
		}
	}
}

// TestLoopsTellWhatIsNew: both engines say of the same runs that they reached something new, never
// of a run made again, and cover the same in the end.
func TestLoopsTellWhatIsNew(t *testing.T) {
	for _, c := range []struct{ object, prog string }{{"xdp", "filter"}, {"firewall", "firewall"}, {"exec", "on_exec"}, {"tailcall", ""}, {"nat", "outbound"}} {
		linked := load(t, "../../examples/"+c.object+"/"+c.object+".bpf.o", target(t, embedded.Name))
		name := c.prog
		if name == "" {
			name = linked.Programs[0].Name
		}
		var told [2][]bool
		var covered [2][]machine.InsnCoverage
		for e, engine := range []machine.Engine{machine.EngineInterpreter, machine.EngineJIT} {
			m := compose(t, linked, machine.Config{Engine: engine, Cover: noCover{}, EagerLoops: true})
			l, _, err := m.Loop(name, machine.Input{})
			require.NoError(t, err)
			for again := range 40 { // long enough for native code that leaves out what is recorded
				for n := range 6 {
					input(t, l, m, n)
					out, err := l.Run(context.Background())
					require.NoError(t, err)
					told[e] = append(told[e], out.New)
					assert.False(t, out.New && again > 0, "%s, input %d", name, n)
				}
			}
			assert.True(t, told[e][0], name)
			covered[e] = m.Covered(name)
		}
		assert.Equal(t, told[0], told[1], name)
		assert.Equal(t, covered[0], covered[1], name)
	}
}

// TestSetArgIsAnInput: an argument that is changed in a context is one that the context is made
// with.
func TestSetArgIsAnInput(t *testing.T) {
	files, err := filepath.Glob("../../examples/*/*.bpf.o")
	require.NoError(t, err)
	changed := map[string]bool{}
	for _, file := range files {
		linked := load(t, file, target(t, embedded.Name))
		for _, lp := range linked.Programs {
			see := func(in machine.Input, set func(l *machine.Loop)) string {
				m := compose(t, linked, machine.Config{Uncovered: true})
				defer m.Close()
				l, _, err := m.Loop(lp.Name, in)
				require.NoError(t, err)
				if l == nil {
					return ""
				}
				set(l)
				_, err = l.Run(context.Background())
				require.NoError(t, err)
				return everything(l.Finish())
			}
			var names []string
			before := see(machine.Input{}, func(l *machine.Loop) {
				for _, a := range l.Context().Args {
					if l.Context().Iterates() { // SetArg sets it for all elements, an input for none that has its own
						continue
					}
					if a.Object == nil && a.Value < 1<<20 { // not an address
						names = append(names, a.Name)
					}
				}
				if l.Context().Returns {
					names = append(names, "ret")
				}
			})
			for _, name := range names {
				const v = 77
				ok := false
				got := see(machine.Input{}, func(l *machine.Loop) { ok = l.SetArg(name, v) })
				if !ok {
					continue
				}
				want := see(machine.Input{Args: map[string]any{name: v}}, func(*machine.Loop) {})
				assert.Equal(t, want, got, "%s of %s in %s", name, lp.Name, file)
				if got != before {
					changed[lp.Type.String()] = true
				}
			}
		}
	}
	for _, typ := range []string{"kprobe", "tracepoint", "tracing", "lsm"} {
		assert.True(t, changed[typ], "no %s program shows an argument", typ)
	}
}

// TestLoopGoesOnWithOtherPrograms: after a run of a loop, other programs may run on what it left,
// and Rewind undoes that too.
func TestLoopGoesOnWithOtherPrograms(t *testing.T) {
	linked := load(t, "../../examples/openat/openat.bpf.o", target(t, embedded.Name))
	for _, engine := range []machine.Engine{machine.EngineInterpreter, machine.EngineJIT} {
		m := compose(t, linked, machine.Config{Engine: engine, Uncovered: true, Restores: true})
		l, _, err := m.Loop("enter", machine.Input{})
		require.NoError(t, err)
		require.NoError(t, l.Warm(context.Background()))
		var want [2][]string
		used := m.Memory().Used()
		for n := range 200 {
			l.Rewind()
			require.Equal(t, used, m.Memory().Used())
			m.Kernel().Clock().Advance(uint64(1 + n%2))
			_, err := l.Run(context.Background())
			require.NoError(t, err)
			l.Finish()
			res, err := m.Run(context.Background(), "leave", machine.Input{IgnoreUnset: true}) // native code tracks just the first runs
			require.NoError(t, err)
			require.Len(t, res.Events, 1, "the exit finds what the entry stored")
			got := append(whole(m), everything(res))
			if n < 2 {
				want[n] = got
			}
			require.Equal(t, want[n%2], got)
		}
		l.Close()
		require.Equal(t, machine.StatusOK, run(t, m, "enter").Status, "the machine goes on without the loop")
	}
}

// counting counts instructions.
type counting struct{ n uint64 }

func (c *counting) Step(*loader.LinkedProgram, int, int, *[11]uint64, *[11]uint64) { c.n++ }

// TestLoopsAreTraced: a tracer sees every instruction of a loop's run, which is the run without it;
// overrides answer the helpers of the next one.
func TestLoopsAreTraced(t *testing.T) {
	linked := load(t, "../../testdata/objects/clang-14/barriers.o", target(t, embedded.Name))
	m := compose(t, linked, machine.Config{Engine: machine.EngineJIT})
	l, _, err := m.Loop("from_root", machine.Input{})
	require.NoError(t, err)
	run := func() machine.LoopOutcome {
		out, err := l.Run(context.Background())
		require.NoError(t, err)
		got := *out
		got.New = false // of the first of equal runs alone
		return got
	}
	plain := run()
	c := &counting{}
	l.Trace(c)
	assert.Equal(t, plain, run())
	assert.Equal(t, plain.Insns, c.n)
	l.SetOverrides(map[string]machine.Override{"bpf_get_current_uid_gid": {Returns: []uint64{0}}})
	assert.Greater(t, run().Insns, plain.Insns)
	l.Trace(nil)
	assert.Equal(t, plain, run())
}
