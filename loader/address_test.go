package loader

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/corerelo"
	"github.com/bpfrun/bpfrun/decode"
)

// TestWhatAddressesAreMadeOf: a pointer, and what was added to it: nothing, a constant, or a number
// that is known only at run time. Of two values that were added one is no pointer.
func TestWhatAddressesAreMadeOf(t *testing.T) {
	for _, tt := range []struct {
		name, text string
		want       Address
	}{
		{"a pointer", "r3 = *(u64 *)(r1 + 0)\nr0 = *(u64 *)(r3 + 0)\nexit", Address{Bare: true}},
		{"the context", "r0 = *(u64 *)(r1 + 0)\nexit", Address{Bare: true}},
		{"a constant", "r3 = *(u64 *)(r1 + 0)\nr0 = *(u64 *)(r3 + 8)\nexit", Address{Fixed: true}},
		{"a constant before", "r3 = *(u64 *)(r1 + 0)\nr3 += 8\nr0 = *(u64 *)(r3 + 0)\nexit", Address{Fixed: true}},
		{"two values", "r3 = *(u64 *)(r1 + 0)\nr4 = *(u64 *)(r1 + 8)\nr3 += r4\nr0 = *(u64 *)(r3 + 0)\nexit", Address{Moved: true}},
		{"two values and a constant", "r3 = *(u64 *)(r1 + 0)\nr4 = *(u64 *)(r1 + 8)\nr3 += r4\nr0 = *(u64 *)(r3 + 8)\nexit", Address{Mixed: true}},
		{"a result", "call 5\nr0 = *(u64 *)(r0 + 0)\nexit", Address{Bare: true}},
		{"two results", "call 5\nr6 = r0\ncall 5\nr6 += r0\nr0 = *(u64 *)(r6 + 0)\nexit", Address{Moved: true}},
	} {
		insns, err := decode.Assemble(tt.text)
		require.NoError(t, err)
		lp := &LinkedProgram{Program: &Program{}, Insns: insns, Funcs: []Func{{Len: len(insns)}}}
		assert.Equal(t, tt.want, lp.AddressAt(len(insns)-2), tt.name)
	}
}

// TestWhichRelocationsLogsReferTo: by the program that the log names, and in it by the instruction;
// without either, those that fail on the target.
func TestWhichRelocationsLogsReferTo(t *testing.T) {
	const offset, size = corerelo.FieldByteOffset, corerelo.FieldByteSize
	reloc := func(insn int, kind corerelo.Kind, poisoned bool) Reloc {
		r := &corerelo.Relocation{Answer: &corerelo.Answer{}}
		r.Local.Kind = kind
		return Reloc{Insn: insn, FuncReloc: &FuncReloc{Relocation: r, Patch: corerelo.Patch{Poisoned: poisoned}}}
	}
	l := &Linked{Programs: []*LinkedProgram{
		{Program: &Program{Name: "a"}, Relocs: []Reloc{reloc(0, offset, false), reloc(3, offset, true), reloc(5, offset, false), reloc(7, size, true)}},
		{Program: &Program{Name: "b"}, Relocs: []Reloc{reloc(0, offset, false), reloc(3, offset, true)}},
	}}
	text := l.Programs[0].Relocs[0].Local.String()
	require.NotEqual(t, text, l.Programs[0].Relocs[3].Local.String())
	for _, tt := range []struct {
		program string
		insn    int
		spec    string
		want    []string
	}{
		{"a", 0, text, []string{"a 0"}}, {"a", 3, text, []string{"a 3"}}, {"a", 5, text, []string{"a 5"}}, {"b", 0, text, []string{"b 0"}},
		{"a", -1, text, []string{"a 0", "a 3", "a 5"}}, {"a", 4, text, []string{"a 0", "a 3", "a 5"}}, {"b", 5, text, []string{"b 0", "b 3"}},
		{"", 3, text, []string{"a 3", "b 3"}}, {"", 0, text, []string{"a 3", "b 3"}}, {"", -1, text, []string{"a 3", "b 3"}}, {"of another object", 3, text, []string{"a 3", "b 3"}},
		{"a", 7, "", []string{"a 7"}}, {"a", 0, "", []string{"a 0"}}, {"", 3, "", []string{"a 3", "b 3"}}, {"a", 4, "", nil}, {"a", 0, "another", nil},
	} {
		var got []string
		for _, m := range l.MatchLog(corerelo.LogEntry{Kind: corerelo.PoisonCORE, Program: tt.program, Insn: tt.insn, Spec: tt.spec}) {
			got = append(got, fmt.Sprint(m.Program.Name, " ", m.Insn))
		}
		assert.Equal(t, tt.want, got, "%q at %d: %q", tt.program, tt.insn, tt.spec)
	}
}
