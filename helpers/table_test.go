package helpers

import (
	"flag"
	"fmt"
	"os"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/btf"
	"github.com/bpfrun/bpfrun/btf/embedded"
	"github.com/bpfrun/bpfrun/internal/maps"
	"github.com/bpfrun/bpfrun/internal/uapi"
	"github.com/bpfrun/bpfrun/vm"
)

// TestMain fails a complete run of the tests that leaves a helper or kfunc without a call.
func TestMain(m *testing.M) {
	code := m.Run()
	if f := flag.Lookup("test.run"); code == 0 && f.Value.String() == "" && flag.Lookup("test.list").Value.String() == "" {
		var missing []string
		for _, h := range Table() {
			if !exercised[h.Name()] {
				missing = append(missing, h.Name())
			}
		}
		for _, k := range Kfuncs() {
			if !exercised[k.Name] {
				missing = append(missing, k.Name)
			}
		}
		if len(missing) > 0 {
			fmt.Println("functions without a test:", missing)
			code = 1
		}
	}
	os.Exit(code)
}

// TestTable: what is simulated has a prototype, once.
func TestTable(t *testing.T) {
	last := uapi.FuncID(0)
	for _, h := range Table() {
		assert.Greater(t, h.ID, last, "%v is listed twice", h.ID)
		last = h.ID
		assert.NotNil(t, h.Fn, h.Name())
		got, ok := Lookup(h.ID)
		require.True(t, ok)
		assert.Equal(t, h.ID, got.ID)
	}
	_, ok := Lookup(9999)
	assert.False(t, ok, "what is not simulated is not in the table")
}

// TestDecoding: arguments are judged as the prototype says before an implementation sees them.
func TestDecoding(t *testing.T) {
	r := newRig(t, newest)
	m := r.newMap(maps.Spec{Type: uapi.MapTypeHash, KeySize: 4, ValueSize: 8, MaxEntries: 4})
	key, value := r.space(4), r.space(8)
	for _, tt := range []struct {
		name string
		id   uapi.FuncID
		args []uint64
		want vm.FaultKind
	}{
		{"no map", uapi.FuncMapUpdateElem, []uint64{key, key, value}, vm.BadArgument},
		{"a key that is not there", uapi.FuncMapUpdateElem, []uint64{m.Addr(), 1, value}, vm.Memory},
		{"a value that is too short", uapi.FuncMapUpdateElem, []uint64{m.Addr(), key, value + 4}, vm.Memory},
		{"a wild size", uapi.FuncGetCurrentComm, []uint64{value, 1 << 60}, vm.Memory},
		{"a buffer that is too short", uapi.FuncGetCurrentComm, []uint64{value, 16}, vm.Memory},
		{"NULL", uapi.FuncProbeRead, []uint64{0, 8, key}, vm.Memory},
		{"a map that has no queue", uapi.FuncMapPushElem, []uint64{m.Addr(), value, 0}, vm.BadArgument},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, fault := r.call(tt.id, tt.args...)
			require.NotNil(t, fault)
			assert.Equal(t, tt.want, fault.Kind)
		})
	}
	zero, fault := r.call(uapi.FuncProbeRead, 0, 0, key)
	require.Nil(t, fault)
	assert.Zero(t, zero, "no bytes, no judgement")
}

// TestKfuncPrototypes compares with the kernels' BTF, where they have the function.
func TestKfuncPrototypes(t *testing.T) {
	spec, err := embedded.Spec()
	require.NoError(t, err)
	found := 0
	for _, k := range Kfuncs() {
		assert.NotEmpty(t, k.Topic, k.Name)
		_, ok := LookupKfunc(k.Name + "___flavor")
		assert.True(t, ok, k.Name)
		for _, id := range spec.IDs(btf.KindFunc, k.Name) {
			fn, err := spec.Type(id)
			require.NoError(t, err)
			proto, err := spec.Type(fn.Ref)
			require.NoError(t, err)
			found++
			assert.Len(t, k.Args, len(proto.Params), k.Name)
			ret := spec.SkipMods(proto.Ref)
			wide := ret != nil && (ret.Kind == btf.KindPtr || ret.Size == 8)
			if k.Name != "bpf_throw" && k.Name != "bpf_dynptr_size" { // the one does not return, the other is wider from Linux 6.19 on
				assert.Equal(t, wide, k.Wide, "%s: width of the result", k.Name)
			}
		}
	}
	assert.Greater(t, found, 40)
	_, ok := LookupKfunc("scx_bpf_no_such_function")
	assert.False(t, ok)
}
