package klog

import (
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// plain is a log of level 2 of a release before 5.18: states stand on lines of their own, numbers
// are called inv.
const plain = `func#0 @0
0: R1=ctx(id=0,off=0,imm=0) R10=fp0
0: (61) r2 = *(u32 *)(r1 +0)
1: R1=ctx(id=0,off=0,imm=0) R2_w=inv(id=0,umax_value=4294967295,var_off=(0x0; 0xffffffff)) R10=fp0
1: (15) if r2 == 0x0 goto pc+2
 R1=ctx(id=0,off=0,imm=0) R2_w=inv(id=0,umax_value=4294967295,var_off=(0x0; 0xffffffff)) R10=fp0
2: R1=ctx(id=0,off=0,imm=0) R2_w=inv(id=0,umax_value=4294967295,var_off=(0x0; 0xffffffff)) R10=fp0
2: (b7) r0 = 0
3: (95) exit

from 1 to 4: R1=ctx(id=0,off=0,imm=0) R2_w=inv0 R10=fp0
4: (79) r0 = *(u64 *)(r2 +0)
R2 invalid mem access 'inv'
processed 5 insns (limit 1000000) max_states_per_insn 0 total_states 0 peak_states 0 mark_read 0
`

func TestLogsOfKernelsAndLoaders(t *testing.T) {
	file := func(name string) string {
		b, err := os.ReadFile("testdata/" + name)
		require.NoError(t, err)
		return string(b)
	}
	type want struct {
		program, errno, message string
		insns                   []int
		processed               int
	}
	for _, tt := range []struct {
		name, text string
		want       []want
	}{
		{"libbpf", file("libbpf-6.18.log"), []want{{"err_map_value_end", "-EACCES", "R0 min value is outside of the allowed memory range", []int{0, 1, 2, 3, 4, 6, 7, 8, 9, 10, 11}, 11}}},
		{"cilium/ebpf, a line", file("cilium-6.18.log"), []want{{"err_leaked_record", "invalid argument", "BPF_EXIT instruction in main prog would lead to reference leak", nil, -1}}},
		{"cilium/ebpf, all", file("cilium-verbose-6.18.log"), []want{{"", "invalid argument", "BPF_EXIT instruction in main prog would lead to reference leak", []int{0, 2, 3, 4, 5, 6, 7, 8, 9}, 9}}},
		{"cilium/ebpf with the last instruction", "program p: load program: permission denied: 7: (79) r1 = *(u64 *)(r0 +0): R0 invalid mem access 'map_value_or_null' (12 line(s) omitted)\n",
			[]want{{"p", "permission denied", "R0 invalid mem access 'map_value_or_null'", []int{7}, -1}}},
		{"aya", "Error: the BPF_PROG_LOAD syscall returned Permission denied (os error 13). Verifier output: 0: R1=ctx() R10=fp0\n0: (79) r0 = *(u64 *)(r1 +400)\ninvalid bpf_context access off=400 size=8\nprocessed 1 insns (limit 1000000)\n",
			[]want{{"", "Permission denied (os error 13)", "invalid bpf_context access off=400 size=8", []int{0}, 1}}},
		{"level 2 before 5.18: the path that ended well is left out", plain, []want{{"", "", "R2 invalid mem access 'inv'", []int{0, 1, 4}, 5}}},
		{"poison in libbpf's words", "libbpf: prog 'p': -- BEGIN PROG LOAD LOG --\n0: R1=ctx() R10=fp0\n0: <invalid CO-RE relocation>\nfailed to resolve CO-RE relocation <byte_off> [2] struct task_struct.state (0:0 @ offset 0)\nprocessed 1 insns (limit 1000000)\n-- END PROG LOAD LOG --\n",
			[]want{{"p", "", "failed to resolve CO-RE relocation <byte_off> [2] struct task_struct.state (0:0 @ offset 0)", []int{0}, 1}}},
		{"accepted", "0: (b7) r0 = 0\n1: (95) exit\nprocessed 2 insns (limit 1000000)\n", []want{{"", "", "", []int{0, 1}, 2}}},
		{"two programs", "libbpf: prog 'a': -- BEGIN PROG LOAD LOG --\n0: (95) exit\nR0 !read_ok\nprocessed 1 insns\n-- END PROG LOAD LOG --\nlibbpf: prog 'b': BPF program load failed: Invalid argument\nlibbpf: prog 'b': -- BEGIN PROG LOAD LOG --\nunreachable insn 4\nprocessed 0 insns\n-- END PROG LOAD LOG --\n",
			[]want{{"a", "", "R0 !read_ok", []int{0}, 1}, {"b", "Invalid argument", "unreachable insn 4", nil, 0}}},
		{"nothing of a verifier", "hello\nworld: 7\n", nil},
		{"empty", "", nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			logs, err := Parse(strings.NewReader(tt.text))
			require.NoError(t, err)
			var got []want
			for _, l := range logs {
				var insns []int
				for _, s := range l.Steps {
					insns = append(insns, s.Insn)
				}
				got = append(got, want{l.Program, l.Errno, l.Message, insns, l.Processed})
			}
			assert.Equal(t, tt.want, got)
		})
	}
}

func TestStatesAndSourcesStandWithTheirInstructions(t *testing.T) {
	text, err := os.ReadFile("testdata/libbpf-6.18.log")
	require.NoError(t, err)
	logs, err := Parse(strings.NewReader(string(text)))
	require.NoError(t, err)
	require.Len(t, logs, 1)
	s := logs[0].Steps[5]
	assert.Equal(t, Step{Insn: 6, Code: 0x85, Text: "call bpf_map_lookup_elem#1", After: "R0=map_value(map=values,ks=4,vs=32)",
		Source: "return bpf_map_lookup_elem(&values, &k);", File: "faults.bpf.c", SourceLine: 34}, s)
	assert.Equal(t, 11, logs[0].Last())
	assert.Equal(t, []string{"invalid access to map value, value_size=32 off=32 size=8", "R0 min value is outside of the allowed memory range"}, logs[0].Messages)
}

func TestLongLinesAreRefused(t *testing.T) {
	_, err := Parse(strings.NewReader(strings.Repeat("x", maxLine+1)))
	assert.ErrorIs(t, err, ErrTooLong)
}

func FuzzParse(f *testing.F) {
	f.Add(plain)
	f.Add("libbpf: prog 'a': -- BEGIN PROG LOAD LOG --\n0: (95) exit\n")
	f.Add("from 9 to 1: safe\nfrom 99999999999999999999 to 1: R0=1\n1: (b7) r0 = 1 ; R0=1")
	f.Add("program p: load program: permission denied: 7: (79) r1 = *(u64 *)(r0 +0): R0 (1 line(s) omitted)")
	f.Fuzz(func(t *testing.T, text string) {
		logs, err := Parse(strings.NewReader(text))
		if err != nil {
			return
		}
		for _, l := range logs {
			if l.Line < 1 || len(l.Steps) > keptSteps {
				t.Fatalf("%+v", l)
			}
		}
	})
}
