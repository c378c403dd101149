package selftests

import (
	"encoding/binary"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/btf"
	"github.com/bpfrun/bpfrun/corerelo"
	"github.com/bpfrun/bpfrun/internal/machine"
	"github.com/bpfrun/bpfrun/loader"
)

// autosizeTypes are the types that prog_tests/core_autosize.c relocates to: a kernel with pointers
// and longs of 4 bytes.
func autosizeTypes(t *testing.T) *btf.Spec {
	b := btf.NewBuilder(nil)
	char, short := b.Int("unsigned char", 1, 0), b.Int("unsigned short", 2, 0)
	long, longLong := b.Int("long unsigned int", 4, 0), b.Int("unsigned long long", 8, 0)
	b.Struct("test_struct", 20,
		btf.Member{Name: "ptr", Type: b.Ptr(0)}, btf.Member{Name: "val2", Type: long, BitOffset: 32},
		btf.Member{Name: "val1", Type: longLong, BitOffset: 64}, btf.Member{Name: "val3", Type: short, BitOffset: 128},
		btf.Member{Name: "val4", Type: char, BitOffset: 144})
	spec, err := b.Spec(binary.LittleEndian)
	require.NoError(t, err)
	require.Equal(t, 4, spec.PointerSize())
	return spec
}

func number(t *testing.T, p []byte) uint64 {
	require.LessOrEqual(t, len(p), 8)
	var b [8]byte
	copy(b[:], p)
	return binary.LittleEndian.Uint64(b[:])
}

// TestCoreAutosize is prog_tests/core_autosize.c: loads and stores take the size a field has on a
// 32-bit kernel, and the program that reads signed fields of another size is refused.
func TestCoreAutosize(t *testing.T) {
	o := open(t, "test_core_autosize.bpf.o")
	target := loader.NewTarget(release, autosizeTypes(t))
	l, err := o.Load(target, loader.LoadOptions{NoLoad: map[string]bool{"handle_signed": true}})
	require.NoError(t, err)
	require.NoError(t, l.Err)
	m := newMachine(t, l)
	for _, program := range []string{"handle_samesize", "handle_downsize", "handle_probed"} {
		require.Empty(t, refusal(t, l, program))
		res := run(t, m, program, machine.Input{})
		require.True(t, ran(res), "%s: %s %v", program, res.Status, res.Fault)
	}
	// What was read and what was written are what is there.
	input, err := m.ReadVariable("input")
	require.NoError(t, err)
	checked := 0
	for _, f := range []struct {
		name      string
		off, size int
	}{{"ptr", 0, 4}, {"val2", 4, 4}, {"val1", 8, 8}, {"val3", 16, 2}, {"val4", 18, 1}} {
		want := number(t, input[f.off:f.off+f.size])
		require.NotZero(t, want)
		for _, variant := range []string{"samesized", "downsized", "probed"} {
			got, err := m.ReadVariable(f.name + "_" + variant)
			require.NoError(t, err)
			assert.Equal(t, want, number(t, got), "%s_%s", f.name, variant)
			checked++
			if variant == "probed" {
				continue
			}
			written, err := m.ReadVariable("output_" + variant)
			require.NoError(t, err)
			assert.Equal(t, want, number(t, written[f.off:f.off+f.size]), "output_%s.%s", variant, f.name)
			checked++
		}
	}
	l, err = o.Load(target, loader.LoadOptions{})
	require.NoError(t, err)
	assert.NotEmpty(t, refusal(t, l, "handle_signed"))
	t.Logf("core_autosize: %d values, 1 program refused", checked)
}

// kernelResolved is the kernel with the test module, resolving records itself, as for the light
// skeletons of these selftests.
func kernelResolved(t *testing.T, object string, o loader.LoadOptions) *loader.Linked {
	target := loader.NewTarget(release, vmlinux(t), loader.WithModules(loader.Module{Name: "bpf_testmod", BTF: testModule(t)}))
	o.KernelCORE = true
	l, err := open(t, object).Load(target, o)
	require.NoError(t, err)
	return l
}

// TestCoreKern is prog_tests/core_kern.c: type_exists for prototypes and prototypes of prototypes,
// and programs with relocations in dead code.
func TestCoreKern(t *testing.T) {
	l := kernelResolved(t, "core_kern.bpf.o", loader.LoadOptions{})
	require.NoError(t, l.Err)
	m := newMachine(t, l)
	res := run(t, m, "core_relo_proto", machine.Input{})
	require.Equal(t, machine.StatusOK, res.Status, "%v", res.Fault)
	out, err := m.ReadVariable("proto_out")
	require.NoError(t, err)
	for i, want := range []uint64{1, 0, 1} {
		assert.Equal(t, want, number(t, out[4*i:4*i+4]), "proto_out[%d]", i)
	}
	for _, p := range l.Programs {
		assert.Empty(t, refusal(t, l, p.Name), p.Name)
	}
	t.Logf("core_kern: 3 values, %d programs load", len(l.Programs))
}

// TestCoreKernOverflow is prog_tests/core_kern_overflow.c: three prototypes inside each other are
// one more than the kernel follows. libbpf would follow 32.
func TestCoreKernOverflow(t *testing.T) {
	l := kernelResolved(t, "core_kern_overflow.bpf.o", loader.LoadOptions{})
	require.ErrorIs(t, l.Err, corerelo.ErrTooDeep)
	t.Log(l.Err)
	l, err := open(t, "core_kern_overflow.bpf.o").Load(l.Target, loader.LoadOptions{})
	require.NoError(t, err)
	assert.NoError(t, l.Err, "by libbpf")
}

// TestLogFixup is prog_tests/log_fixup.c: what is said of programs that the verifier refuses at
// what libbpf left as a mark, and that libbpf's own words for it are understood, cut short or not.
func TestLogFixup(t *testing.T) {
	for _, c := range []struct{ name, program, mark, means, says string }{
		{"bad_core_relo", "bad_relo", "0: <invalid CO-RE relocation>", "failed to resolve CO-RE relocation %s", "<byte_sz> struct task_struct___bad.fake_field (0:1 @ offset 4)"},
		{"bad_core_relo_subprog", "bad_relo_subprog", "5: <invalid CO-RE relocation>", "failed to resolve CO-RE relocation %s", "<byte_off> struct task_struct___bad.fake_field_subprog (0:2 @ offset 8)"},
		{"missing_map", "use_missing_map", "8: <invalid BPF map reference>", "BPF map '%s' is referenced but wasn't created", "missing_map"},
		{"missing_kfunc", "use_missing_kfunc", "0: <invalid kfunc call>", "kfunc '%s' is referenced but wasn't resolved", "bpf_nonexistent_kfunc"},
	} {
		t.Run(c.name, func(t *testing.T) {
			o := open(t, "test_log_fixup.bpf.o")
			for _, m := range o.Maps {
				m.Autocreate = m.Name != "missing_map"
			}
			l, err := o.Load(loader.NewTarget(release, vmlinux(t)), loader.LoadOptions{Only: []string{c.program}})
			require.NoError(t, err)
			res := run(t, newMachine(t, l), c.program, machine.Input{})
			require.Equal(t, machine.StatusRefused, res.Status, "%v", res.Fault)
			lp, _ := l.Program(c.program)
			says := res.Fault.Hint
			if r, ok := lp.RelocAt(res.Fault.Insn); ok {
				says = r.Local.String()
				says = says[:strings.Index(says, "[")] + says[strings.Index(says, "] ")+2:] // the type's number is the compiler's choice
			}
			assert.Contains(t, says, c.says)

			second := fmt.Sprintf(c.means, c.says)
			if r, ok := lp.RelocAt(res.Fault.Insn); ok {
				second = fmt.Sprintf(c.means, r.Local.String())
			}
			for _, log := range []string{c.mark + "\n" + second + "\nprocessed 1 insns\n", c.mark + "\n" + second, c.mark + "\n"} {
				entries, err := corerelo.ParseLog(strings.NewReader("prog '" + c.program + "': -- BEGIN PROG LOAD LOG --\n" + log))
				require.NoError(t, err)
				require.Len(t, entries, 1)
				assert.Equal(t, res.Fault.Insn, entries[0].Insn)
				if !strings.Contains(log, second) && entries[0].Kind != corerelo.PoisonCORE {
					continue // only the cut line had the name
				}
				found := l.MatchLog(entries[0])
				require.Len(t, found, 1, log)
				switch m := found[0]; {
				case m.Reloc != nil:
					assert.Equal(t, res.Fault.Insn, m.Reloc.Insn)
				case m.Map != nil:
					assert.Equal(t, c.says, m.Map.Name)
				default:
					require.NotNil(t, m.Extern)
					assert.Equal(t, c.says, m.Extern.Name)
				}
			}
		})
	}
}

// TestCoreReadMacros is prog_tests/core_read_macros.c: chains of pointers through kernel and user
// memory, read with and without relocations. Kernel pointers are made by the program, those of user
// memory by the test.
func TestCoreReadMacros(t *testing.T) {
	o := open(t, "test_core_read_macros.bpf.o")
	l, err := o.Load(loader.NewTarget(release, vmlinux(t)), loader.LoadOptions{})
	require.NoError(t, err)
	require.NoError(t, l.Err)
	m := newMachine(t, l)
	set := func(name string, p []byte) { require.NoError(t, m.WriteVariable(name, p)) }
	set("my_pid", []byte{0x92, 0x10, 0, 0}) // 4242
	k := m.Kernel()
	// The target has next before func in callback_head; the program's flavor has them the other way
	// round.
	for i, name := range []string{"probe", "core"} {
		head := make([]byte, 16)
		binary.LittleEndian.PutUint64(head[8:], uint64(0x1000+i))
		set("k_"+name+"_in", head)
		addr := k.UserAlloc(make([]byte, 16))
		binary.LittleEndian.PutUint64(head, addr)
		binary.LittleEndian.PutUint64(head[8:], uint64(0x2000+i))
		require.NoError(t, k.UserWrite(addr, head))
		set("u_"+name+"_in", little64(addr))
	}
	res := run(t, m, l.Programs[0].Name, machine.Input{})
	require.Equal(t, machine.StatusOK, res.Status, "%v", res.Fault)
	for i, name := range []string{"probe", "core"} {
		for prefix, want := range map[string]uint64{"k_": 0x1000, "u_": 0x2000} {
			got, err := m.ReadVariable(prefix + name + "_out")
			require.NoError(t, err)
			assert.Equal(t, want+uint64(i), number(t, got), "%s%s_out", prefix, name)
		}
	}
}

// TestCoreRetro is prog_tests/core_retro.c: a tracepoint program that reads the current task by
// offsets the target decides.
func TestCoreRetro(t *testing.T) {
	o := open(t, "test_core_retro.bpf.o")
	l, err := o.Load(loader.NewTarget(release, vmlinux(t)), loader.LoadOptions{})
	require.NoError(t, err)
	m := newMachine(t, l)
	want := little64(4242)[:4]
	filter, ok := m.MapByName("exp_tgid_map")
	require.True(t, ok)
	require.Zero(t, filter.Update(0, little64(0)[:4], want, 0))
	res := run(t, m, l.Programs[0].Name, machine.Input{})
	require.Equal(t, machine.StatusOK, res.Status, "%v", res.Fault)
	results, ok := m.MapByName("results")
	require.True(t, ok)
	assert.Equal(t, want, results.Entries()[0].Value)
}

// TestCoreRelocRaw is prog_tests/core_reloc_raw.c: a record whose type does not exist is refused,
// by its number.
func TestCoreRelocRaw(t *testing.T) {
	b := btf.NewBuilder(nil)
	b.Int("int", 4, btf.IntSigned)
	local, err := b.Spec(binary.LittleEndian)
	require.NoError(t, err)
	res := corerelo.NewResolver(local, corerelo.Target{BTF: local})
	_, err = res.Resolve(corerelo.Record{TypeID: 100500, Access: "0", Kind: corerelo.TypeIDLocal})
	require.ErrorIs(t, err, corerelo.ErrInvalidRecord)
	assert.ErrorContains(t, err, "type 100500")
}
