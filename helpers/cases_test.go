package helpers_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/btf/embedded"
	"github.com/bpfrun/bpfrun/internal/machine"
	"github.com/bpfrun/bpfrun/internal/maps"
	"github.com/bpfrun/bpfrun/internal/uapi"
	"github.com/bpfrun/bpfrun/loader"
)

// Cases recorded from a running kernel: whole objects, run by BPF_PROG_TEST_RUN, with their
// results.
type caseFile struct {
	Object string     `json:"object"`
	Kernel string     `json:"kernel"`
	Names  []string   `json:"check_names"`
	Cases  []caseSpec `json:"cases"`
}

type caseSpec struct {
	Name    string            `json:"name"`
	Globals map[string]string `json:"globals"`
	Runs    []struct {
		Prog, Data, Ctx string
	} `json:"runs"`
	EnvDependent []string `json:"env_dependent"`
	Expect       struct {
		LoadError string `json:"load_error"`
		Runs      []struct {
			Ret     uint32  `json:"ret"`
			DataOut *string `json:"data_out"`
			CtxOut  *string `json:"ctx_out"`
		} `json:"runs"`
		Checks  map[string]int64            `json:"checks"`
		Globals map[string]json.RawMessage  `json:"globals"`
		Maps    map[string][]map[string]any `json:"maps"`
		Ringbuf map[string][]string         `json:"ringbuf"`
		Perf    map[string][]string         `json:"perf"`
		Trace   []string                    `json:"trace"`
	} `json:"expect"`
}

const preset = 0x5a // the byte that check slots hold before they are written

// TestKernelCases replays the recorded cases of the corpus.
func TestKernelCases(t *testing.T) {
	corpus := os.Getenv("BPFRUN_CORPUS")
	if corpus == "" {
		t.Skip("BPFRUN_CORPUS names no corpus")
	}
	files, err := filepath.Glob(filepath.Join(corpus, "vectors", "kernel-cases", "*.json"))
	require.NoError(t, err)
	spec, err := embedded.Spec()
	require.NoError(t, err)
	for _, file := range files {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		var cf caseFile
		require.NoError(t, json.Unmarshal(text, &cf))
		obj, err := loader.Open(filepath.Join(filepath.Dir(file), cf.Object))
		require.NoError(t, err)
		linked, err := obj.Load(loader.NewTarget("linux-"+cf.Kernel, spec), loader.LoadOptions{})
		require.NoError(t, err)
		for _, c := range cf.Cases {
			if c.Expect.LoadError != "" {
				continue
			}
			t.Run(strings.TrimSuffix(cf.Object, ".o")+"/"+c.Name, func(t *testing.T) { c.replay(t, cf.Names, linked) })
		}
	}
}

func (c *caseSpec) replay(t *testing.T, names []string, linked *loader.Linked) {
	m, err := machine.New(linked, machine.Config{Seed: 1})
	require.NoError(t, err)
	defer m.Close()
	for name, text := range c.Globals {
		b := variable(t, m, name)
		if fill, ok := strings.CutPrefix(text, "fill:"); ok {
			v, err := hex.DecodeString(fill)
			require.NoError(t, err)
			copy(b, bytes.Repeat(v, len(b)))
			continue
		}
		v, err := hex.DecodeString(text)
		require.NoError(t, err)
		copy(b, v)
	}
	var trace []string
	records := map[string][]string{}
	for i, r := range c.Runs {
		lp, ok := linked.Program(r.Prog)
		require.True(t, ok, r.Prog)
		in := machine.Input{}
		in.Packet, err = hex.DecodeString(r.Data)
		require.NoError(t, err)
		in.Context, err = hex.DecodeString(r.Ctx)
		require.NoError(t, err)
		if lp.Type == uapi.ProgTypeSyscall && len(in.Context) == 0 {
			in.Context = make([]byte, 64)
		}
		res, err := m.Run(context.Background(), r.Prog, in)
		require.NoError(t, err)
		require.Equal(t, machine.StatusOK, res.Status, "%v %v", m.ProgramError(r.Prog), res.Fault)
		want := c.Expect.Runs[i]
		assert.Equal(t, want.Ret, uint32(res.Ret), "return value")
		if want.DataOut != nil {
			assert.Equal(t, *want.DataOut, hex.EncodeToString(res.DataOut), "packet")
		}
		if want.CtxOut != nil {
			assert.Equal(t, *want.CtxOut, hex.EncodeToString(res.CtxOut[:min(len(res.CtxOut), len(*want.CtxOut)/2)]), "context")
		}
		trace = append(trace, res.Trace...)
		for _, e := range res.Events {
			records[e.Map] = append(records[e.Map], hex.EncodeToString(e.Data))
		}
	}
	assert.Equal(t, c.Expect.Trace, trace, "trace")
	c.compareChecks(t, names, m)
	for name, want := range c.Expect.Globals {
		if !slices.Contains(c.EnvDependent, "global:"+name) {
			var h string
			if json.Unmarshal(want, &h) == nil {
				got := hex.EncodeToString(variable(t, m, name))
				assert.Equal(t, h, got, "global %s", name)
			}
		}
	}
	for name, want := range c.Expect.Ringbuf {
		assert.Equal(t, want, records[name], "ring buffer %s", name)
	}
	for name, want := range c.Expect.Perf {
		assert.Equal(t, want, records[name], "perf buffer %s", name)
	}
	for name, want := range c.Expect.Maps {
		compareMap(t, m, name, want)
	}
}

func (c *caseSpec) compareChecks(t *testing.T, names []string, m *machine.Machine) {
	if len(c.Expect.Checks) == 0 {
		return
	}
	r := variable(t, m, "R")
	got := map[string]int64{}
	for i, name := range names {
		if 8*i+8 <= len(r) && !bytes.Equal(r[8*i:8*i+8], bytes.Repeat([]byte{preset}, 8)) {
			got[name] = int64(binary.LittleEndian.Uint64(r[8*i:]))
		}
	}
	for _, name := range slices.Sorted(keys(c.Expect.Checks)) {
		if !slices.Contains(c.EnvDependent, "check:"+name) && !slices.Contains(c.EnvDependent, name) {
			assert.Equal(t, c.Expect.Checks[name], got[name], "check %q", name)
		}
	}
}

func keys[V any](m map[string]V) func(func(string) bool) {
	return func(yield func(string) bool) {
		for k := range m {
			if !yield(k) {
				return
			}
		}
	}
}

func compareMap(t *testing.T, m *machine.Machine, name string, want []map[string]any) {
	mp, ok := m.MapByName(name)
	require.True(t, ok, name)
	var got, wanted []string
	for _, e := range mp.Entries() {
		v := hex.EncodeToString(e.Value)
		if e.PerCPU != nil {
			v = ""
			for _, p := range e.PerCPU {
				v += " " + hex.EncodeToString(p)
			}
		}
		got = append(got, hex.EncodeToString(e.Key)+"="+v)
	}
	for _, e := range want {
		k, _ := e["k"].(string)
		v, _ := e["v"].(string)
		if p, ok := e["percpu"].([]any); ok {
			for _, x := range p {
				v += fmt.Sprintf(" %v", x)
			}
		}
		wanted = append(wanted, k+"="+v)
	}
	slices.Sort(got)
	slices.Sort(wanted)
	assert.Equal(t, wanted, got, "map %s", name)
}

// variable returns the live bytes of a global variable.
func variable(t *testing.T, m *machine.Machine, name string) []byte {
	t.Helper()
	for _, def := range m.Linked().Maps {
		for _, v := range def.Vars {
			if v.Name != name {
				continue
			}
			mp, ok := m.Map(def)
			require.True(t, ok)
			addr, errno := mp.(maps.ValueBase).DirectValue(v.Off)
			require.Zero(t, errno)
			r := m.Memory().Find(addr)
			require.NotNil(t, r)
			return m.Memory().Bytes(r)[addr-r.Base:][:v.Size]
		}
	}
	require.Fail(t, "no variable "+name)
	return nil
}
