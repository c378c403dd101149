package isa

import (
	"encoding/binary"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/conformance/isa/generate"
	"github.com/bpfrun/bpfrun/decode"
	"github.com/bpfrun/bpfrun/internal/testing/testsize"
)

// fuzzLimit is how many instructions a fuzzed program may execute.
const fuzzLimit = 20_000

// maxFuzzSlots bounds fuzzed programs.
const maxFuzzSlots = 512

// fuzzVoices are what fuzzed programs run on.
type fuzzVoices struct {
	interp    []*Interpreter
	reference *Reference
}

func newFuzzVoices(f testing.TB) *fuzzVoices {
	v, err := newVoices(nil, nil)
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(v.close)
	for _, it := range v.interp {
		it.Limit = fuzzLimit
	}
	v.reference.SetLimit(fuzzLimit)
	return &fuzzVoices{v.interp, v.reference}
}

// check runs a program, which may fault, on all voices.
func (v *fuzzVoices) check(t *testing.T, p *Program, in *Value) {
	if err := v.reference.Load(p); err != nil {
		t.Fatal(err)
	}
	want := v.reference.Run(in)
	for _, it := range v.interp {
		if err := it.Load(p); err != nil {
			t.Fatalf("%v\n%s", err, Listing(p.Insns))
		}
		got := it.Run(in)
		if d := Diff(&want, &got); d != "" {
			t.Fatalf("%s differs from the reference: %s\n%s", it.Name(), d, Listing(p.Insns))
		}
		if want.Fault == "" && it.Insns() != v.reference.Insns() {
			t.Fatalf("%s counts %d instructions, the reference %d\n%s", it.Name(), it.Insns(), v.reference.Insns(), Listing(p.Insns))
		}
	}
}

// FuzzProgram runs arbitrary programs that pass the structural checks, most of which end in a
// fault, on the interpreter in all its modes and on the reference: both have to end at the same
// instruction for the same reason and leave the same memory behind.
func FuzzProgram(f *testing.F) {
	for i := range uint64(40) {
		c := generate.New(9, generate.Config{Small: true}).Case(i)
		f.Add(decode.Marshal(c.Insns, binary.LittleEndian), c.Inputs[0][:], c.Packet)
	}
	v := newFuzzVoices(f)
	f.Fuzz(func(t *testing.T, code, value, packet []byte) {
		if len(code) > maxFuzzSlots*decode.SlotSize || len(packet) > 256 {
			return
		}
		insns, err := decode.Unmarshal(code[:len(code)/decode.SlotSize*decode.SlotSize], binary.LittleEndian)
		if err != nil || !fuzzable(insns) {
			return
		}
		var in Value
		copy(in[:], value)
		p := &Program{Name: "fuzz", Insns: insns, Packet: packet}
		if packet == nil {
			p.Packet = []byte{}
		}
		v.check(t, p, &in)
	})
}

// FuzzGenerated runs valid programs of any seed.
func FuzzGenerated(f *testing.F) {
	for i := range uint64(20) {
		f.Add(i, i)
	}
	v := newFuzzVoices(f)
	f.Fuzz(func(t *testing.T, seed, index uint64) {
		c := generate.New(seed, generate.Config{Runs: 2}).Case(index)
		if err := decode.Check(c.Insns, decode.CheckConfig{}); err != nil {
			t.Fatalf("%v\n%s", err, Listing(c.Insns))
		}
		for i := range c.Inputs {
			in := Value(c.Inputs[i])
			v.check(t, &Program{Name: c.Name(), Insns: c.Insns, Packet: c.Packet}, &in)
		}
	})
}

// TestMutatedPrograms is FuzzProgram with a fixed source of mutations: fields of valid programs are
// changed, which makes most of them do what no verifier would allow.
func TestMutatedPrograms(t *testing.T) {
	count := testsize.Pick(15_000, 1_500, 1_000)
	v := newFuzzVoices(t)
	ran, faults := 0, map[string]int{}
	for i := range count {
		c := generate.New(11, generate.Config{Runs: 1}).Case(uint64(i))
		mutate(c)
		if !fuzzable(c.Insns) {
			continue
		}
		in := Value(c.Inputs[0])
		p := &Program{Name: c.Name(), Insns: c.Insns, Packet: c.Packet}
		v.check(t, p, &in)
		ran++
		o := v.reference.Run(&in)
		faults[o.Fault]++
	}
	t.Log(ran, "programs ran:", faults)
	if ran < count/4 || faults["memory"] < count/20 {
		t.Errorf("%d of %d programs ran, ends %v", ran, count, faults)
	}
}

// TestRunsDoNotSeeStacksOfEarlierRuns: a program that writes to a frame's stack through a pointer
// to something else leaves nothing there for the next one.
func TestRunsDoNotSeeStacksOfEarlierRuns(t *testing.T) {
	v := newFuzzVoices(t)
	l, err := v.interp[0].Layout()
	require.NoError(t, err)
	for _, frame := range []int{0, 1} {
		off := int64(l.Stacks[frame]) - int64(l.Value)
		require.True(t, 0 < off && off < 1<<15, off)
		value := "r9 = map_value(0, 0)\nr0 = 31\n"
		for _, text := range []string{
			value + fmt.Sprintf("*(u64 *)(r9 + %d) = r0\nexit", off),
			value + fmt.Sprintf("r0 = *(u64 *)(r9 + %d)\n*(u64 *)(r9 + 0) = r0\nexit", off),
		} {
			insns, err := decode.Assemble(text)
			require.NoError(t, err)
			v.check(t, &Program{Insns: insns}, &Value{})
		}
	}
}
