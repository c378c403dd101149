package core

import (
	"bufio"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/btf/btffile"
	"github.com/bpfrun/bpfrun/internal/machine"
	"github.com/bpfrun/bpfrun/internal/uapi"
	"github.com/bpfrun/bpfrun/loader"
)

// runLine is what a program of a probe did on a real kernel, relocated by libbpf
// (testdata/core/expect-run.*.jsonl): the result and the elements of its variable out, or why it
// did not load. Alone means that it was loaded without the others.
type runLine struct {
	Object, BTF, Program, Load string
	Alone                      bool
	Ret                        uint32
	Out                        []string
}

// TestProbesRunAsOnAKernel relocates the compiled probes of every rule, runs them, and compares
// what they computed with what they computed on a real kernel: the relocated code is not only
// equal, it does what it has to.
func TestProbesRunAsOnAKernel(t *testing.T) {
	for _, compiler := range []string{"clang-14", "clang-22"} {
		t.Run(compiler, func(t *testing.T) {
			f, err := os.Open(data + "core/expect-run." + compiler + ".jsonl")
			require.NoError(t, err)
			defer f.Close()
			ran, refused := 0, 0
			for s := bufio.NewScanner(f); s.Scan(); {
				var l runLine
				require.NoError(t, json.Unmarshal(s.Bytes(), &l))
				name := fmt.Sprintf("%s %s %s", l.Object, l.BTF, l.Program)
				if l.Object == "err_enum_u32.o" {
					continue // loads here, on purpose
				}
				got := runProbe(t, compiler, &l)
				if l.Load != "" {
					refused++
					assert.NotEmpty(t, got.Load, "%s: libbpf or the kernel refuses it", name)
					continue
				}
				ran++
				assert.Equal(t, l, got, name)
			}
			t.Logf("%d programs ran, %d were refused as on the kernel", ran, refused)
			assert.Greater(t, ran, 60)
			assert.Greater(t, refused, 5)
		})
	}
}

// runProbe runs one program as the recorder did: everything is loaded, or the program alone.
func runProbe(t *testing.T, compiler string, l *runLine) runLine {
	got := runLine{Object: l.Object, BTF: l.BTF, Program: l.Program, Alone: l.Alone}
	// Of the context the probes use nothing; syscall programs need no kernel types for theirs.
	path := filepath.Join(data, "core", compiler, l.Object)
	obj, err := loader.Open(path)
	require.NoError(t, err)
	var types []loader.Option
	for _, p := range obj.Programs {
		types = append(types, loader.WithType(p.Name, uapi.ProgTypeSyscall))
	}
	obj, err = loader.Open(path, types...)
	require.NoError(t, err)
	spec, err := btffile.Load(filepath.Join(data, "core", "btf", l.BTF), nil)
	require.NoError(t, err)
	opts := loader.LoadOptions{}
	if l.Alone {
		opts.Only = []string{l.Program}
	}
	linked, err := obj.Load(loader.NewTarget("6.18", spec), opts)
	require.NoError(t, err)
	lp, ok := linked.Program(l.Program)
	require.True(t, ok)
	if lp.Status != loader.StatusOK {
		got.Load = fmt.Sprint(lp.Err)
		return got
	}
	for _, v := range lp.PoisonVerdicts() {
		if v.Verdict == loader.Break {
			got.Load = "poison"
			return got
		}
	}
	in, _ := variable(t, linked, "in")
	for i := range in {
		in[i] = byte(i*7 + 1)
	}
	m, err := machine.New(linked, machine.Config{})
	require.NoError(t, err)
	defer m.Close()
	res, err := m.Run(t.Context(), l.Program, machine.Input{})
	require.NoError(t, err)
	if res.Status != machine.StatusOK {
		got.Load = string(res.Status)
		return got
	}
	got.Ret, got.Out = uint32(res.Ret), outOf(t, m, linked)
	return got
}

// variable returns the image of a global variable before the machine is made, and its map.
func variable(t *testing.T, l *loader.Linked, name string) ([]byte, *loader.Map) {
	for _, m := range l.Maps {
		for _, v := range m.Vars {
			if v.Name == name {
				return m.Data[v.Off : v.Off+v.Size], m
			}
		}
	}
	require.Fail(t, "no variable "+name)
	return nil, nil
}

// outOf reads the variable out, without the zeros at its end.
func outOf(t *testing.T, m *machine.Machine, l *loader.Linked) []string {
	_, def := variable(t, l, "out")
	bound, ok := m.Map(def)
	require.True(t, ok)
	value := bound.Entries()[0].Value
	out := []string{}
	zeros := 0
	for _, v := range def.Vars {
		if v.Name != "out" {
			continue
		}
		for b := value[v.Off : v.Off+v.Size]; len(b) >= 8; b = b[8:] {
			n := binary.LittleEndian.Uint64(b)
			if n == 0 {
				zeros++
				continue
			}
			out = append(out, strings.Split(strings.Repeat("0x0 ", zeros), " ")[:zeros]...)
			out, zeros = append(out, fmt.Sprintf("%#x", n)), 0
		}
	}
	return out
}
