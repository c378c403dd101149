package corerelo

import (
	"encoding/binary"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/btf"
)

func TestParseLog(t *testing.T) {
	for _, c := range []struct {
		name, log string
		want      []LogEntry
	}{
		{"nothing", "processed 12 insns (limit 1000000)\ninvalid func unknown#212\n", nil},
		{"kernel", "0: R1=ctx() R10=fp0\n1: (85) call unknown#195896080\ninvalid func unknown#195896080\n",
			[]LogEntry{{Line: 2, Text: "1: (85) call unknown#195896080", Insn: 1, Kind: PoisonCORE, Index: -1}}},
		{"libbpf's headers", "libbpf: prog 'on_exit': BPF program load failed: Invalid argument\nlibbpf: prog 'on_exit': -- BEGIN PROG LOAD LOG --\n26: (85) call unknown#195896080\ninvalid func unknown#195896080\n",
			[]LogEntry{{Line: 3, Text: "26: (85) call unknown#195896080", Program: "on_exit", Insn: 26, Kind: PoisonCORE, Index: -1}}},
		{"two programs", "prog 'a': x\n3: (85) call unknown#195896080\ninvalid func unknown#195896080\nprog 'b': x\ninvalid func unknown#195896080\n",
			[]LogEntry{
				{Line: 2, Text: "3: (85) call unknown#195896080", Program: "a", Insn: 3, Kind: PoisonCORE, Index: -1},
				{Line: 5, Text: "invalid func unknown#195896080", Program: "b", Insn: -1, Kind: PoisonCORE, Index: -1},
			}},
		{"both slots of LD_IMM64", "7: (85) call unknown#195896080\n8: (85) call unknown#195896080\n",
			[]LogEntry{
				{Line: 1, Text: "7: (85) call unknown#195896080", Insn: 7, Kind: PoisonCORE, Index: -1},
				{Line: 2, Text: "8: (85) call unknown#195896080", Insn: 8, Kind: PoisonCORE, Index: -1},
			}},
		{"the number alone", "load program: invalid argument: invalid func unknown#195896080 (21 lines omitted)",
			[]LogEntry{{Line: 1, Text: "load program: invalid argument: invalid func unknown#195896080 (21 lines omitted)", Insn: -1, Kind: PoisonCORE, Index: -1}}},
		{"cilium", "program handle_exec: load program: permission denied:\n\t4: (18) r10 = 0xbad2310\n\tframe pointer is read only\n",
			[]LogEntry{{Line: 2, Text: "4: (18) r10 = 0xbad2310", Program: "handle_exec", Insn: 4, Kind: PoisonCORE, Index: -1}}},
		{"libbpf's words", "12: <invalid CO-RE relocation>\nfailed to resolve CO-RE relocation <byte_off> [26] struct task_struct.state (0:7 @ offset 40)\n",
			[]LogEntry{{Line: 1, Text: "12: <invalid CO-RE relocation>", Insn: 12, Kind: PoisonCORE, Index: -1, Spec: "<byte_off> [26] struct task_struct.state (0:7 @ offset 40)"}}},
		{"map", "5: <invalid BPF map reference>\nBPF map 'events' is referenced but wasn't created\n",
			[]LogEntry{{Line: 1, Text: "5: <invalid BPF map reference>", Insn: 5, Kind: PoisonMap, Index: -1, Name: "events"}}},
		{"map by number", "5: (85) call unknown#2001000003\ninvalid func unknown#2001000003\n",
			[]LogEntry{{Line: 1, Text: "5: (85) call unknown#2001000003", Insn: 5, Kind: PoisonMap, Index: 3}}},
		{"kfunc", "9: <invalid kfunc call>\nkfunc 'bpf_x' is referenced but wasn't resolved\n",
			[]LogEntry{{Line: 1, Text: "9: <invalid kfunc call>", Insn: 9, Kind: PoisonKfunc, Index: -1, Name: "bpf_x"}}},
		{"a fix-up that lost its second line", "9: <invalid kfunc call>\nprocessed 1 insns\n4: <invalid CO-RE relocation>",
			[]LogEntry{
				{Line: 1, Text: "9: <invalid kfunc call>", Insn: 9, Kind: PoisonKfunc, Index: -1},
				{Line: 3, Text: "4: <invalid CO-RE relocation>", Insn: 4, Kind: PoisonCORE, Index: -1},
			}},
		{"CRLF and time stamps", "[  12.3] 1: (85) call unknown#195896080\r\n[  12.3] invalid func unknown#195896080\r\n",
			[]LogEntry{{Line: 1, Text: "[  12.3] 1: (85) call unknown#195896080", Insn: 1, Kind: PoisonCORE, Index: -1}}},
		{"a number too large", "unknown#99999999999999999999", nil},
	} {
		got, err := ParseLog(strings.NewReader(c.log))
		require.NoError(t, err, c.name)
		assert.Equal(t, c.want, got, c.name)
	}
	_, err := ParseLog(strings.NewReader(strings.Repeat("x", maxLogLine+1)))
	assert.ErrorIs(t, err, ErrLogLine)
}

// TestFixupTextIsRecognised: what this package writes, it reads.
func TestFixupTextIsRecognised(t *testing.T) {
	b := btf.NewBuilder(nil)
	id := b.Int("pid_t", 4, btf.IntSigned)
	spec, err := b.Spec(binary.LittleEndian)
	require.NoError(t, err)
	rel := &Relocation{Answer: &Answer{Local: Spec{BTF: spec, Root: id, Kind: TypeExists}}}
	got, err := ParseLog(strings.NewReader(rel.FixupText(31)))
	require.NoError(t, err)
	require.Len(t, got, 1)
	assert.Equal(t, 31, got[0].Insn)
	assert.Equal(t, rel.Local.String(), got[0].Spec)
}

func FuzzParseLog(f *testing.F) {
	f.Add("prog 'a': x\n3: (85) call unknown#195896080\ninvalid func unknown#195896080\n")
	f.Add("12: <invalid CO-RE relocation>\nfailed to resolve CO-RE relocation <byte_off> [26] struct x.y (0:7 @ offset 40)\n")
	f.Fuzz(func(t *testing.T, log string) {
		entries, err := ParseLog(strings.NewReader(log))
		if err != nil {
			return
		}
		for _, e := range entries {
			if e.Insn < -1 || e.Kind == NotPoison {
				t.Fatalf("%+v", e)
			}
		}
	})
}
