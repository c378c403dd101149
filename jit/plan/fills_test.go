package plan

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/decode"
	"github.com/bpfrun/bpfrun/vm"
)

type noLedger struct{}

func (noLedger) Open() bool                                  { return true }
func (noLedger) Lock() uint64                                { return 0 }
func (noLedger) Locked(uint64, *vm.Image, int)               {}
func (noLedger) Recorded(vm.Records, []vm.Record, *vm.Image) {}
func (noLedger) Time() (mono, boot, step uint64)             { return 0, 0, 0 }
func (noLedger) Book(calls *[vm.NumInlines]uint64)           {}

// lookups is analyse for programs whose calls look up elements of an array.
func lookups(t *testing.T, text string, a vm.Array) *Program {
	t.Helper()
	insns, err := decode.Assemble(text)
	require.NoError(t, err)
	img, err := vm.Lower(vm.LowerConfig{Insns: insns, Call: func(int, decode.Insn) (*vm.Func, error) {
		return &vm.Func{
			Fn:     func(*vm.Thread, *[5]uint64) (uint64, *vm.Action) { return 0, nil },
			Inline: &vm.Inline{Kind: vm.InlineLookup, Ledger: noLedger{}, Array: func(addr uint64) (vm.Array, bool) { return a, addr == 0x123456789 }},
		}, nil
	}})
	require.NoError(t, err)
	return New(img, nil, nil)
}

// TestLookupsFillCellsOfAccesses lists the cells that a lookup sets: Lo and Count, in bytes.
func TestLookupsFillCellsOfAccesses(t *testing.T) {
	type fill struct{ lo, count int32 }
	plain := vm.Array{Elements: 8, Stride: 40, Base: 1 << 20, Open: 20}
	odd, shut := plain, plain
	odd.Stride, shut.Open = 42, 0
	const lookup = "r2 = r10\nr2 += -4\n*(u32 *)(r10 - 4) = 1\nr1 = 0x123456789 ll\ncall 1\n"
	for _, tt := range []struct {
		name, text string
		array      vm.Array
		known      bool
		want       []fill
	}{
		{"not null", lookup + "if r0 == 0 goto e\nr1 = *(u64 *)(r0 + 8)\ne: exit", plain, true, []fill{{8, 13}}},
		{"null elsewhere", lookup + "if r0 != 0 goto m\nr0 = 0\nexit\nm: *(u32 *)(r0 + 16) = 1\nexit", plain, true, []fill{{16, 17}}},
		{"copies", lookup + "r6 = r0\nif r6 == 0 goto e\nr6 += 4\nr0 = 0\n*(u8 *)(r6 + 0) = 1\ne: exit", plain, true, []fill{{0, 20}}},
		{"two blocks", lookup + "if r0 == 0 goto e\nr1 = *(u64 *)(r0 + 0)\nif r1 > 5 goto e\nlock *(u64 *)(r0 + 8) += r1\ne: exit", plain, true, []fill{{0, 13}, {8, 13}}},
		{"longer than the element", lookup + "if r0 == 0 goto e\nr1 = *(u64 *)(r0 + 0)\nr1 = *(u64 *)(r0 + 16)\ne: exit", plain, true, nil},
		{"another base", lookup + "if r0 == 0 goto e\nr0 = r7\nr1 = *(u64 *)(r0 + 0)\ne: exit", plain, true, nil},
		{"backwards", "l: r1 = *(u64 *)(r0 + 0)\n" + lookup + "goto l", plain, true, nil},
		{"elements between granules", lookup + "if r0 == 0 goto e\nr1 = *(u64 *)(r0 + 8)\ne: exit", odd, true, nil},
		{"elements that are not open", lookup + "if r0 == 0 goto e\nr1 = *(u64 *)(r0 + 8)\ne: exit", shut, true, nil},
		{"map from before a branch", "r1 = 0x123456789 ll\nr2 = r10\nr2 += -4\nif r3 == 0 goto m\nr1 = r4\nr1 = 0x123456789 ll\nm: r9 = 0\ncall 1\nexit", plain, false, nil},
		{"map that is changed", "r1 = 0x123456789 ll\nr2 = r10\nr2 += -4\nr3 = 0\nif r3 == 0 goto m\nr1 = 0x123456789 ll\nm: call 1\nexit", plain, false, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p := lookups(t, tt.text, tt.array)
			require.Len(t, p.Inlines, 1)
			var got []fill
			for c := range p.FillsOf(&p.Inlines[0]) {
				got = append(got, fill{c.Lo, c.Count})
			}
			assert.Equal(t, tt.want, got)
			assert.Equal(t, tt.known, p.Inlines[0].Known)
			for pc := range p.Insns {
				if in := &p.Insns[pc]; in.Kind == KindCallInline && tt.known {
					assert.False(t, in.Has(FlagEntry), "code must not be entered at a call that relies on the instruction before it")
				}
			}
		})
	}
}
