package play

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/internal/app/report"
	"github.com/bpfrun/bpfrun/internal/assembly"
	"github.com/bpfrun/bpfrun/internal/debug"
)

// faults opens the example with mistakes.
func (c *client) faults() Opened {
	c.t.Helper()
	var o Opened
	require.Nil(c.t, c.say(Message{Do: "open", Name: "faults.o", Data: file(c.t, "../../../testdata/objects/clang-22/faults.o")}, &o))
	return o
}

// The encoders of both processors run anywhere, in WebAssembly too.
func TestNativeCodeOfBothProcessors(t *testing.T) {
	c := newClient(t, Config{})
	o := c.open("exec")
	ret := map[string]string{"amd64": "ret", "arm64": "ret"}
	for processor := range ret {
		var d report.NativeDocument
		require.Nil(t, c.say(Message{Do: "native", Object: o.Object, Program: "on_exec", Processor: processor}, &d), processor)
		assert.Equal(t, processor, d.Processor)
		lines := 0
		for i, insn := range d.Insns {
			if i > 0 {
				assert.Greater(t, insn.PC, d.Insns[i-1].PC)
			}
			lines += len(insn.Code)
		}
		assert.Greater(t, lines, len(d.Insns), processor)
		assert.NotEmpty(t, d.OutOfLine, processor)
	}
	e := c.say(Message{Do: "native", Object: o.Object, Program: "on_exec", Processor: "riscv64"}, nil)
	require.NotNil(t, e)
	assert.Contains(t, e.Message, "amd64 and arm64")
	assert.NotNil(t, c.say(Message{Do: "native", Object: o.Object, Program: "nothing", Processor: "amd64"}, nil))
}

func TestCodeTellsWhichBranchesWereTaken(t *testing.T) {
	c := newClient(t, Config{})
	o := c.open("xdp")
	sides := func(packet string) (taken, fell int) {
		var code Code
		require.Nil(t, c.say(Message{Do: "code", Object: o.Object, Packet: packet}, &code))
		for _, b := range code.Branches["filter"] {
			assert.True(t, b.Taken || b.Fell)
			if b.Taken {
				taken++
			}
			if b.Fell {
				fell++
			}
		}
		return taken, fell
	}
	taken, fell := sides("eth/ip/tcp")
	assert.Positive(t, taken+fell)
	taken2, fell2 := sides("eth(type=0x1234)")
	assert.NotEqual(t, []int{taken, fell}, []int{taken2, fell2}, "another packet goes another way")
}

func TestWhyFollowsAValue(t *testing.T) {
	c := newClient(t, Config{})
	o := c.open("xdp")
	ask := func(value string, at int64) (Origin, *report.Error) {
		var got Origin
		e := c.say(Message{Do: "why", Object: o.Object, Program: "filter", At: at, Value: value, Packet: "eth/ip(ttl=9)/tcp"}, &got)
		return got, e
	}
	var end Step
	require.Nil(t, c.say(Message{Do: "step", Object: o.Object, Program: "filter", At: -1, Packet: "eth/ip(ttl=9)/tcp"}, &end))
	got, e := ask("$r0", int64(end.End)-1)
	require.Nil(t, e)
	assert.Contains(t, got.Text, "$r0 = ")
	require.NotEmpty(t, got.From)
	assert.Equal(t, "filter", got.From[0].Code)
	got, e = ask("pkt.ip.ttl", 5)
	require.Nil(t, e)
	assert.Contains(t, got.Text, "9")
	for _, value := range []string{"", "nonsense +", "$r0 = 5", strings.Repeat("x", 300)} {
		_, e := ask(value, 5)
		assert.NotNil(t, e, "%q", value)
	}
	var again Step
	require.Nil(t, c.say(Message{Do: "step", Object: o.Object, Program: "filter", At: -1, Packet: "eth/ip(ttl=9)/tcp"}, &again))
	assert.Equal(t, end, again, "asking changes nothing")
}

// A mend was verified before it is shown.
func TestVerifySuggestsWhatMends(t *testing.T) {
	c := newClient(t, Config{})
	var doc report.VerifyDocument
	require.Nil(t, c.say(Message{Do: "verify", Object: c.faults().Object}, &doc))
	for _, p := range doc.Programs {
		if p.Name == "err_null_lookup" {
			require.NotNil(t, p.Mend)
			assert.True(t, p.Mend.Loads)
			assert.Contains(t, p.Mend.Text, "if (!")
		}
	}
}

func TestCostsCountEachInstruction(t *testing.T) {
	c := newClient(t, Config{})
	o := c.open("loop")
	var verdicts report.VerifyDocument
	require.Nil(t, c.say(Message{Do: "verify", Object: o.Object}, &verdicts))
	for _, p := range verdicts.Programs {
		var costs Costs
		require.Nil(t, c.say(Message{Do: "costs", Object: o.Object, Program: p.Name}, &costs), p.Name)
		processed, states := 0, 0
		for _, i := range costs.Insns {
			processed += i.Processed
			states += i.States
		}
		assert.Equal(t, p.ProcessedInsns, processed, p.Name)
		assert.Positive(t, states, p.Name)
		assert.NotEmpty(t, costs.Profile.Lines, p.Name)
		assert.True(t, len(costs.Path) > 0 || costs.NoPath != "", p.Name)
	}
	faults := c.faults()
	var refused Costs
	require.Nil(t, c.say(Message{Do: "costs", Object: faults.Object, Program: "err_null_lookup"}, &refused))
	require.NotEmpty(t, refused.Path)
	last := refused.Path[len(refused.Path)-1]
	assert.Contains(t, last.Before+refused.Path[len(refused.Path)-2].After+refused.Path[len(refused.Path)-2].Before, "R0")
	assert.NotNil(t, c.say(Message{Do: "costs", Object: o.Object, Program: "nothing"}, nil))
}

func TestPacketsAreDrawnFromTheirHeaders(t *testing.T) {
	c := newClient(t, Config{})
	var p Packet
	require.Nil(t, c.say(Message{Do: "packet", Packet: "eth/ip(ttl=9,csum=bad)/tcp(dport=443)/'hello'"}, &p))
	var names []string
	covered := 0
	for _, l := range p.Layers {
		names = append(names, l.Path)
		covered += l.Len
		for _, f := range l.Fields {
			assert.GreaterOrEqual(t, f.Off, l.Off, f.Path)
			assert.LessOrEqual(t, 8*f.Off+f.Bit+f.Bits, 8*(l.Off+l.Len), f.Path)
			if f.Path == "ip.ttl" {
				assert.Equal(t, "9", f.Text)
			}
		}
	}
	assert.Equal(t, []string{"eth", "ip", "tcp", "payload"}, names)
	assert.Equal(t, p.Size, covered)
	assert.Equal(t, "wrong", p.Layers[1].Sum)
	assert.Equal(t, "right", p.Layers[2].Sum)
	assert.NotNil(t, c.say(Message{Do: "packet", Packet: "@/etc/passwd"}, nil))
	var l Layers
	require.Nil(t, c.say(Message{Do: "layers"}, &l))
	assert.Greater(t, len(l.Layers), 10)
}

func TestAssemblyTextBecomesAnObject(t *testing.T) {
	c := newClient(t, Config{})
	var a Assembled
	require.Nil(t, c.say(Message{Do: "assemble", Name: "typed.s", Text: assembly.Language}, &a))
	var o Opened
	require.Nil(t, c.say(Message{Do: "open", Name: "typed.o", Data: a.Data}, &o))
	var doc report.RunDocument
	require.Nil(t, c.say(Message{Do: "run", Object: o.Object}, &doc))
	require.Len(t, doc.Programs, 1)
	assert.Equal(t, "XDP_PASS", doc.Programs[0].Runs[0].Verdict)
	e := c.say(Message{Do: "assemble", Name: "typed.s", Text: "r0 = 1\nr1 == 2"}, nil)
	require.NotNil(t, e)
	assert.Contains(t, e.Message, "line 2")
	assert.NotNil(t, c.say(Message{Do: "assemble", Name: "typed.s", Text: strings.Repeat("\n", maxTyped+1)}, nil))
}

func TestLayoutBesideTheObject(t *testing.T) {
	c := newClient(t, Config{})
	o := c.open("exec")
	var l Layout
	require.Nil(t, c.say(Message{Do: "layout", Type: "task_struct", Object: o.Object}, &l))
	require.True(t, l.Own, l.Why)
	require.Len(t, l.Kernels, 2)
	assert.Equal(t, "exec.bpf.o", l.Kernels[0].Name)
	moved := false
	for _, m := range l.Members {
		moved = moved || m.Name == "cred" && m.Changed && m.Places[0] != nil && m.Places[1] != nil
	}
	assert.True(t, moved)
	require.Nil(t, c.say(Message{Do: "layout", Type: "kobject", Object: o.Object}, &l))
}

// Searches find what the command finds, the same each time.
func TestSearchesFindAndRepeat(t *testing.T) {
	c := newClient(t, Config{})
	var o Opened
	require.Nil(t, c.say(Message{Do: "open", Name: "faults.o", Data: file(t, "../../../testdata/objects/clang-22/faults.o")}, &o))
	var first, again Fuzzed
	m := Message{Do: "fuzz", Object: c.open("xdp").Object, Runs: 200}
	require.Nil(t, c.say(m, &first))
	require.Nil(t, c.say(m, &again))
	assert.Equal(t, first, again)
	assert.GreaterOrEqual(t, first.Runs, uint64(200))
	assert.NotEmpty(t, first.Programs)
	assert.Len(t, first.Scenarios, len(first.Findings))
	var race, second report.RaceDocument
	m = Message{Do: "race", Object: c.open("xdp").Object, Runs: 100}
	require.Nil(t, c.say(m, &race))
	require.Nil(t, c.say(m, &second))
	assert.Equal(t, race, second)
	assert.NotEmpty(t, race.Races)
	for _, bad := range []Message{{Do: "fuzz", Runs: -1}, {Do: "fuzz", Runs: maxRuns + 1}, {Do: "race", Runs: maxOrders + 1}, {Do: "race", Program: "nothing"}, {Do: "fuzz", Program: "nothing"}} {
		bad.Object = o.Object
		assert.NotNil(t, c.say(bad, nil), "%+v", bad)
	}
}

// What is shown of long texts has an end.
func TestLongTextsAreCut(t *testing.T) {
	for n, want := range map[int]int{maxText - 1: maxText - 1, maxText: maxText, maxText + 1: maxText + len("...")} {
		got := (&stepper{}).origin(&debug.Origin{Text: strings.Repeat("x", n), From: []*debug.Origin{{Text: strings.Repeat("y", n)}}})
		assert.Len(t, got.Text, want)
		require.Len(t, got.From, 1)
		assert.Len(t, got.From[0].Text, want)
	}
}

// Only a whole type that the object defines is beside those of kernels.
func TestLayoutOfWhatTheObjectLacks(t *testing.T) {
	c := newClient(t, Config{})
	o := c.open("exec")
	for _, typ := range []string{"kobject", "task_struct.cred", "[1000000]", "struct nothing"} {
		var l Layout
		if e := c.say(Message{Do: "layout", Type: typ, Object: o.Object}, &l); e == nil {
			assert.False(t, l.Own, typ)
			assert.Contains(t, l.Why, "does not define", typ)
		}
	}
}
