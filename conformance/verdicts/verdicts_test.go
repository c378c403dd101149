package verdicts

import (
	"bytes"
	"encoding/json"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/decode"
	"github.com/bpfrun/bpfrun/internal/uapi"
	"github.com/bpfrun/bpfrun/internal/verifier"
)

func TestClassOf(t *testing.T) {
	for message, want := range map[string]string{
		"R1 invalid mem access 'scalar'":                                                      "memory",
		"R0 invalid mem access 'map_value_or_null'":                                           "null",
		"invalid access to map value, value_size=48 off=48 size=1":                            "map-access",
		"write into map forbidden, value_size=8 off=0 size=8":                                 "map-access",
		"invalid access to packet, off=0 size=4, R2(id=0,off=0,r=0)":                          "packet",
		"R4 offset is outside of the packet":                                                  "packet",
		"invalid bpf_context access off=400 size=4":                                           "context",
		"BPF program is too large. Processed 1000001 insn":                                    "complexity",
		"infinite loop detected at insn 3":                                                    "complexity",
		"At program exit the register R0 has smin=0 smax=0 should have been in [1, 1]":        "exit-range",
		"At program exit the register R0 has value (0x0; 0x0) should have been in (0x1; 0x1)": "exit-range",
		"BPF_EXIT instruction in main prog would lead to reference leak":                      "reference",
		"Unreleased reference id=2 alloc_insn=4":                                              "reference",
		"BPF_EXIT instruction in main prog cannot be used inside bpf_spin_lock-ed region":     "lock",
		"R2 !read_ok": "uninitialised",
		"invalid read from stack R2 off=16 size=8":                       "uninitialised",
		"invalid write to stack R10 off=-520 size=8":                     "stack",
		"combined stack size of 2 calls is 544. Too large":               "stack-size",
		"R2 subtraction from stack pointer prohibited":                   "stack",
		"program of this type cannot use helper bpf_sysctl_get_name#101": "permission",
		"unknown func bpf_sysctl_get_name#101":                           "permission",
		"unreachable insn 4":                                             "structure",
		"jump out of range from insn 1 to 32002":                         "structure",
		"":                                                               "none",
		"something nobody ever said":                                     ClassUnclear,
	} {
		assert.Equal(t, want, ClassOf(message), message)
	}
}

func TestShapeIgnoresNumbersAndRenamedTypes(t *testing.T) {
	assert.Equal(t, Shape("R1 invalid mem access 'inv'"), Shape("R7 invalid mem access 'scalar'"))
	assert.Equal(t, Shape("the call stack of 9 frames is too deep !"), Shape("the call stack of 10 frames is too deep"))
	assert.NotEqual(t, Shape("invalid read from stack R2 off=16 size=8"), Shape("invalid write to stack R2 off=16 size=8"))
}

func TestReadNamesTheBadLine(t *testing.T) {
	err := Read(strings.NewReader("{\"program\":\"a\"}\n\n{\"program\":\n"), func(*Line) error { return nil })
	require.ErrorContains(t, err, "line 3")
}

func TestJudge(t *testing.T) {
	for _, tt := range []struct {
		theirs string
		ours   verifier.Outcome
		want   Kind
	}{
		{Accepted, verifier.Accepted, Agree},
		{Refused, verifier.Refused, Agree},
		{Refused, verifier.Accepted, FalseAccept},
		{Accepted, verifier.Refused, FalseRefusal},
		{Accepted, verifier.Unknown, CannotSay},
		{Refused, verifier.Unknown, CannotSay},
	} {
		c := &Comparison{Line: &Line{Verdict: tt.theirs}, Ours: &verifier.Verdict{Outcome: tt.ours}}
		c.judge()
		assert.Equal(t, tt.want, c.Kind, "%s, %s", tt.theirs, tt.ours)
	}
}

func TestReportCounts(t *testing.T) {
	n := func(i int) *int { return &i }
	r := NewReport()
	for _, c := range []*Comparison{
		{Line: &Line{Kernel: "6.18.44", Verdict: Accepted, Stats: Stats{Processed: n(100)}}, Ours: &verifier.Verdict{ProcessedInsns: 105}, Kind: Agree},
		{Line: &Line{Kernel: "6.18.44", Verdict: Accepted, Stats: Stats{Processed: n(100)}}, Ours: &verifier.Verdict{ProcessedInsns: 106}, Kind: Agree},
		{Line: &Line{Kernel: "6.18.44", Verdict: Accepted, Stats: Stats{Processed: n(100)}}, Ours: &verifier.Verdict{ProcessedInsns: 151}, Kind: Agree},
		{Line: &Line{Kernel: "6.18.44", Verdict: Refused}, Kind: Agree, Class: "null", OurClass: "memory"},
		{Line: &Line{Kernel: "6.18.44", Verdict: Refused}, Kind: FalseAccept},
		{Line: &Line{Kernel: "6.18.44", Verdict: Skipped}, Kind: NotJudged},
		{Line: &Line{Kernel: "6.1.192", Verdict: Accepted}, Kind: CannotSay},
	} {
		r.Add(c)
	}
	all := r.Agreements()
	require.Len(t, all, 2)
	assert.Equal(t, "6.1.192", all[0].Kernel, "older releases come first")
	a := all[1]
	assert.Equal(t, []int{5, 4, 1, 0, 1, 2, 1, 0}, []int{a.Judged, a.Agree, a.FalseAccept, a.CannotSay, a.Within5, a.WithinHalf, a.BothRefuse, a.SameClass})
	var out bytes.Buffer
	r.WriteTable(&out)
	assert.Contains(t, out.String(), "| 6.18.44 | 5 | 4 (80.0 %) | 1 | 0 | 0 |")
}

func TestGeneratedProgramForTheVerifier(t *testing.T) {
	insns, err := decode.Assemble("r1 = 1\nexit")
	require.NoError(t, err)
	insns = append([]decode.Insn{{Code: 0x18, Dst: 1, Src: decode.PseudoMapValue, Imm: 0}, {Imm: 8}, {Code: 0x18, Dst: 2, Src: decode.PseudoMapFD, Imm: 0}, {}}, insns...)
	g := &Program{Maps: []Map{{Type: uint32(uapi.MapTypeArray), Key: 4, Value: 16, Entries: 1, Frozen: []byte{1}}}}
	g.SetInsns(insns)
	p, err := g.verifierProgram(&Line{ProgType: "xdp", ProgFlags: uapi.ProgSleepable})
	require.NoError(t, err)
	assert.Equal(t, insns, p.Insns)
	assert.True(t, p.Sleepable)
	assert.Equal(t, verifier.Ref{Kind: verifier.RefMapValue, Map: p.Refs[2].Map, Off: 8}, p.Refs[0])
	assert.Equal(t, []byte{1}, p.Refs[2].Map.Frozen)

	for name, bad := range map[string]*Program{
		"hex":       {Code: "zz"},
		"truncated": {Code: "b7"},
		"map":       {Code: "180100000700000000000000000000009500000000000000"[:48]},
	} {
		if name == "map" {
			bad.Code = "18110000" + "07000000" + "0000000000000000" + "9500000000000000"
		}
		_, err := bad.verifierProgram(&Line{ProgType: "xdp"})
		assert.Error(t, err, name)
	}
	_, err = g.verifierProgram(&Line{ProgType: "no such type"})
	assert.Error(t, err)
}

func TestMutationsKeepReferencesAndApply(t *testing.T) {
	insns, err := decode.Assemble("r6 = r1\nr2 = *(u32 *)(r1 + 4)\nif r2 > 5 goto +1\nr2 += 7\nr0 = 0\nexit")
	require.NoError(t, err)
	changed := 0
	for seed := range uint64(200) {
		patches := Mutate(rand.New(rand.NewPCG(seed, 0)), insns, func(pc int) bool { return pc == 1 })
		again := Mutate(rand.New(rand.NewPCG(seed, 0)), insns, func(pc int) bool { return pc == 1 })
		require.Equal(t, patches, again)
		out, err := Apply(insns, patches)
		require.NoError(t, err)
		assert.Equal(t, insns[1], out[1], "an instruction with a reference stays")
		assert.Equal(t, insns[5], out[5], "exit stays")
		if len(patches) > 0 {
			changed++
		}
	}
	assert.Greater(t, changed, 150)
	_, err = Apply(insns, []Patch{{Insn: 9, Code: "0000000000000000"}})
	assert.Error(t, err)
	_, err = Apply(insns, []Patch{{Insn: 0, Code: "00"}})
	assert.Error(t, err)
}

// FuzzRead: recordings come from elsewhere; nothing in a line makes reading or preparing its
// program panic.
func FuzzRead(f *testing.F) {
	f.Add([]byte(`{"program":"p","prog_type":"xdp","verdict":"ok","class":"verifier","kernel":"6.18.44","generated":{"code":"b7000000000000009500000000000000","maps":[{"type":2}]}}`))
	f.Add([]byte(`{"generated":{"code":"1811000000000000000000000000000095","types":"AAAA"}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		_ = Read(bytes.NewReader(data), func(l *Line) error {
			if l.Generated != nil {
				_, _ = l.Generated.verifierProgram(l)
			}
			_, _ = Apply(make([]decode.Insn, 4), l.Patches)
			_, err := json.Marshal(l)
			return err
		})
	})
}
