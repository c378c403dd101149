package loader

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"os"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/btf"
	"github.com/bpfrun/bpfrun/btf/embedded"
	"github.com/bpfrun/bpfrun/corerelo"
	"github.com/bpfrun/bpfrun/decode"
)

// TestPoisonIsNamed: what a poisoned instruction refers to, by the number in it, at both ends of a
// program and of the lists.
func TestPoisonIsNamed(t *testing.T) {
	poison := func(imm int32) decode.Insn {
		in := corerelo.PoisonInsn()
		in.Imm = imm
		return in
	}
	lp := &LinkedProgram{Program: &Program{}, linked: &Linked{Maps: []*Map{{Name: "a"}, {Name: "b"}}, Externs: []*LinkedExtern{{Extern: &Extern{Name: "f"}}}}}
	lp.Insns = []decode.Insn{
		poison(corerelo.PoisonMapBase), poison(corerelo.PoisonMapBase + 1), poison(corerelo.PoisonMapBase + 2), poison(corerelo.PoisonKfuncBase), poison(corerelo.PoisonKfuncBase + 1),
		{Code: 0xb7}, poison(corerelo.PoisonImm),
	}
	for pc, want := range map[int]string{
		-1: "", 0: "map a is used, but its creation is disabled", 1: "map b is used, but its creation is disabled", 2: "",
		3: "the kernel has no kfunc f: test it with bpf_ksym_exists before the call", 4: "", 5: "",
		6: "a CO-RE relocation that failed is reached: guard the access with bpf_core_field_exists or a similar check", 7: "",
	} {
		assert.Equal(t, want, lp.PoisonText(pc), "instruction %d", pc)
	}
}

// TestVersionsByEnumerators: types that end with each enumerator are of the releases from its own up
// to the one before the next enumerator's.
func TestVersionsByEnumerators(t *testing.T) {
	typeOf := func(n int) *Target {
		var values []btf.Enumerator
		for i, m := range milestones[:n] {
			values = append(values, btf.Enumerator{Name: m.enumerator, Value: uint64(i)})
		}
		b := btf.NewBuilder(nil)
		b.Add(btf.Type{Kind: btf.KindEnum, Name: "all", Size: 4, Values: values})
		spec, err := b.Spec(binary.LittleEndian)
		require.NoError(t, err)
		k := &Target{BTF: spec}
		k.inferVersion()
		return k
	}
	assert.Zero(t, *typeOf(0).withoutTypes())
	for i, m := range milestones {
		k := typeOf(i + 1)
		low := m.major<<16 | m.minor<<8
		require.Equal(t, low, k.VersionLow, m.enumerator)
		high := low
		if i+1 < len(milestones) {
			if next := milestones[i+1]; next.major == m.major {
				high = next.major<<16 | (next.minor-1)<<8
			} else {
				high = m.major<<16 | map[uint32]uint32{4: 20, 5: 19, 6: 19}[m.major]<<8 // the last of that major version
			}
		}
		assert.Equal(t, high, k.Version, m.enumerator)
		known := fmt.Sprintf("enumerators (%d.%d", m.major, m.minor)
		if high != low {
			known += fmt.Sprintf("-%d.%d", high>>16, high>>8&0xff)
		}
		assert.Equal(t, known+")", k.VersionKnown)
	}
}

// withoutTypes is what a target has beside its types.
func (t *Target) withoutTypes() *Target {
	return &Target{Version: t.Version, VersionLow: t.VersionLow, VersionKnown: t.VersionKnown}
}

func TestMembersThatAKernelLacks(t *testing.T) {
	spec, err := embedded.Spec()
	require.NoError(t, err)
	l := &loading{t: NewTarget(embedded.Name, spec)}
	for member, hint := range map[string]string{"tcp_congestion_ops.sssthresh": "it has ssthresh", "tcp_congestion_ops.zzzzzzzzz": "", "no_such_ops.ssthresh": ""} {
		e := l.noMember(member)
		require.ErrorIs(t, e, ErrNoHook)
		assert.Contains(t, e.Error(), "the kernel has no struct_ops member "+member)
		assert.Equal(t, hint, e.Hint)
	}
}

// TestFunctionsAreValuesOfProgramArrays changes the type of a map whose values are functions.
func TestFunctionsAreValuesOfProgramArrays(t *testing.T) {
	data, err := os.ReadFile("../examples/tailcall/tailcall.bpf.o")
	require.NoError(t, err)
	spec := objectBTF(t, data)
	changed := 0
	for id := btf.ID(1); int(id) < spec.NumTypes(); id++ {
		typ := spec.MustType(id)
		if typ.Kind != btf.KindArray || typ.Array.Nelems != 3 { // __uint(type, BPF_MAP_TYPE_PROG_ARRAY)
			continue
		}
		old := binary.LittleEndian.AppendUint32(binary.LittleEndian.AppendUint32(binary.LittleEndian.AppendUint32(nil, uint32(typ.Ref)), uint32(typ.Array.Index)), 3)
		at := bytes.Index(data, old)
		require.Positive(t, at)
		other := bytes.Clone(data)
		other[at+8] = 2
		_, err := OpenBytes("x.o", other)
		require.ErrorContains(t, err, "values are functions, but the map type is array")
		changed++
	}
	assert.Equal(t, 1, changed)
}

func objectBTF(t *testing.T, data []byte) *btf.Spec {
	o, err := OpenBytes("x.o", data)
	require.NoError(t, err)
	return o.BTF
}
