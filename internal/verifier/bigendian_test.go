package verifier_test

import (
	"context"
	"encoding/binary"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/btf"
	"github.com/bpfrun/bpfrun/internal/uapi/since"
	"github.com/bpfrun/bpfrun/internal/verifier"
	"github.com/bpfrun/bpfrun/loader"
)

// bigEndian returns types in big-endian byte order.
func bigEndian(t testing.TB, spec *btf.Spec) *btf.Spec {
	t.Helper()
	b := btf.NewBuilder(nil)
	b.AddSpec(spec)
	big, err := b.Spec(binary.BigEndian)
	require.NoError(t, err)
	return big
}

// The byte order of the kernel decides which part of a spilled register a load gives
// (bpf_stack_narrow_access_ok), and which of be16 and le16 swaps (scalar_byte_swap).
func TestVerdictsDependOnTheByteOrder(t *testing.T) {
	little := embeddedTarget(t).BTF
	big := bigEndian(t, little)
	for _, tt := range []struct {
		name, text      string
		littleOK, bigOK bool
		release         since.Release // that decides so; 6.7 refuses all of them
	}{
		{name: "the low half of a number comes first or last", text: "call 7\nr0 &= 7\n*(u64 *)(r10 - 8) = r0\nr0 = *(u32 *)(r10 - 8)", littleOK: true, release: since.R(6, 9)},
		{name: "the other half", text: "call 7\nr0 &= 7\n*(u64 *)(r10 - 8) = r0\nr0 = *(u32 *)(r10 - 4)", bigOK: true, release: since.R(6, 9)},
		{name: "its last byte", text: "call 7\nr0 &= 7\n*(u64 *)(r10 - 8) = r0\nr0 = *(u8 *)(r10 - 1)", bigOK: true, release: since.R(6, 9)},
		{name: "a byte of a half", text: "call 7\nr0 &= 7\n*(u32 *)(r10 - 8) = r0\nr0 = *(u8 *)(r10 - 5)", bigOK: true, release: since.R(6, 9)},
		{name: "to big endian", text: "call 7\nr0 &= 7\nr0 = be16 r0", bigOK: true, release: since.R(7, 0)},
		{name: "to little endian", text: "call 7\nr0 &= 7\nr0 = le16 r0", littleOK: true, release: since.R(7, 0)},
		{name: "to big endian, of the other byte", text: "call 7\nr0 &= 1792\nr0 = be16 r0", littleOK: true, release: since.R(7, 0)},
		{name: "a swap", text: "call 7\nr0 &= 1792\nr0 = bswap16 r0", littleOK: true, bigOK: true, release: since.R(7, 0)},
	} {
		t.Run(tt.name, func(t *testing.T) {
			for _, k := range []struct {
				spec *btf.Spec
				ok   bool
			}{{little, tt.littleOK}, {big, tt.bigOK}} {
				v := judge(t, &verifier.Kernel{Release: tt.release, BTF: k.spec}, tt.text+below)
				assert.Equal(t, k.ok, v.Outcome == verifier.Accepted, "%s: %s", k.spec.ByteOrder(), v.Message)
				v = judge(t, &verifier.Kernel{Release: since.R(6, 7), BTF: k.spec}, tt.text+below)
				assert.Equal(t, verifier.Refused, v.Outcome, "%s before: %s", k.spec.ByteOrder(), v.Message)
			}
		})
	}
}

// The same source compiled for both byte orders gets the same verdicts on kernels that differ in
// nothing else.
func TestBigEndianVerdicts(t *testing.T) {
	little := embeddedTarget(t)
	big := loader.NewTarget(little.Name, bigEndian(t, little.BTF))
	for _, name := range []string{"isa", "subprog", "globals", "maps_values", "ldabs", "packets", "events", "storageiter", "callbacks"} {
		verdicts := func(target *loader.Target, dir string) map[string]string {
			l := linkAll(t, target, "../../testdata/objects/"+dir+"/"+name+".o")
			out := map[string]string{}
			for _, lp := range l.Programs {
				p, err := verifier.FromLinked(l, lp)
				require.NoError(t, err)
				v, err := verifier.Verify(context.Background(), verifier.KernelOf(target), p, verifier.Options{})
				require.NoError(t, err)
				out[lp.Name] = v.Outcome.String()
			}
			return out
		}
		want, got := verdicts(little, "clang-14"), verdicts(big, "clang-14-eb")
		require.NotEmpty(t, want)
		assert.Equal(t, want, got, name)
		assert.NotContains(t, got, verifier.Unknown.String())
	}
}
