package record

import (
	"context"
	"os"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/btf"
	"github.com/bpfrun/bpfrun/conformance"
	"github.com/bpfrun/bpfrun/internal/testing/bpfprobe"
	"github.com/bpfrun/bpfrun/loader"
)

const cases = "../testdata/cases/"

func TestPlanReadsNamesAndCases(t *testing.T) {
	obj, err := loader.Open(cases + "special.o")
	require.NoError(t, err)
	file, err := Plan(obj)
	require.NoError(t, err)
	assert.Contains(t, file.CheckNames, "start without callback")
	byName := map[string]conformance.Case{}
	for _, c := range file.Cases {
		byName[c.Name] = c
	}
	assert.Equal(t, []conformance.CaseRun{{Prog: "timer_first"}, {Prog: "timer_second"}}, byName["timer_two_runs"].Runs)
	assert.Equal(t, 60, byName["t_timer_rearm"].SettleMS)
	assert.Equal(t, "fill:5a", byName["t_spin_lock"].Globals[checkArray])
	assert.NotContains(t, byName, "timer_first", "it is part of a case")
	also, err := Plan(obj, "timer_first")
	require.NoError(t, err)
	assert.Len(t, also.Cases, len(file.Cases), "a program of a case is none by itself")
}

// TestTypesFitForTheKernel looks at what the kernel's own checks of type information look at.
func TestTypesFitForTheKernel(t *testing.T) {
	for _, name := range []string{"special.o", "graph.o", "arena.o", "kfuncs.o"} {
		obj, err := loader.Open(cases + name)
		require.NoError(t, err)
		raw, err := obj.KernelBTF()
		require.NoError(t, err)
		spec, err := btf.Parse(raw, nil)
		require.NoError(t, err)
		for id := obj.BTF.FirstID(); int(id) < obj.BTF.NumTypes(); id++ {
			require.Equal(t, obj.BTF.Kind(id), spec.Kind(id), "%s: ids stay", name)
			typ := spec.MustType(id)
			switch typ.Kind {
			case btf.KindFunc, btf.KindVar:
				assert.NotEqual(t, uint32(btf.LinkageExtern), typ.Linkage, "%s: %s", name, typ.Name)
			case btf.KindDatasec:
				end := uint32(0)
				for _, v := range typ.Vars {
					assert.Equal(t, btf.KindVar, spec.Kind(v.Type), "%s: %s", name, typ.Name)
					assert.NotZero(t, v.Size)
					assert.GreaterOrEqual(t, v.Offset, end, "%s: %s is ascending", name, typ.Name)
					end = v.Offset + v.Size
				}
				assert.GreaterOrEqual(t, typ.Size, end)
			}
		}
	}
}

// TestRecordsAreStable records cases again and compares with what is committed.
func TestRecordsAreStable(t *testing.T) {
	if os.Getenv("BPFRUN_KERNEL") == "" {
		t.Skip("loads programs into the running kernel: set BPFRUN_KERNEL=1")
	}
	bpfprobe.Require(t)
	spec, err := btf.LoadHost()
	if err != nil {
		t.Skip("no types of the running kernel: ", err)
	}
	obj, err := loader.Open(cases + "maps_basic.o")
	require.NoError(t, err)
	file, err := Plan(obj)
	require.NoError(t, err)
	require.NoError(t, Cases(context.Background(), obj, loader.NewTarget("linux-"+Release(), spec), file))
	want, err := conformance.ReadCases(cases + "maps_basic.json.gz")
	require.NoError(t, err)
	for i, c := range file.Cases {
		assert.Equal(t, want.Cases[i].Expect.Checks, c.Expect.Checks, c.Name)
	}
}
