package isa

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/conformance/result"
)

// vectorFiles are the recorded vectors of the tree, and with a corpus the larger ones.
func vectorFiles(t testing.TB) []string {
	t.Helper()
	files := []string{
		"../../vm/testdata/bpf_conformance.jsonl.gz",
		"../../vm/testdata/kernel-6.18-subset.jsonl.gz",
	}
	own, err := filepath.Glob("testdata/*vectors.jsonl.gz")
	require.NoError(t, err)
	files = append(files, own...)
	if dir := os.Getenv("BPFRUN_CORPUS"); dir != "" {
		more, err := filepath.Glob(filepath.Join(dir, "vectors", "*.jsonl*"))
		require.NoError(t, err)
		for _, path := range more {
			if !strings.Contains(path, "encodings") { // verdicts without results
				files = append(files, path)
			}
		}
	}
	return files
}

func TestVectorsPass(t *testing.T) {
	for _, path := range vectorFiles(t) {
		for _, mode := range NativeModes() {
			t.Run(filepath.Base(path)+"/"+mode.Name, func(t *testing.T) {
				var out bytes.Buffer
				r, err := Judge(path, Config{Mode: mode}, &out)
				require.NoError(t, err)
				assert.Zero(t, r.Failed, out.String())
				assert.NotZero(t, r.Passed)
				assert.Empty(t, out.String())
				t.Log(r.Summary())
			})
		}
	}
}

func writeLines(t *testing.T, lines ...string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "v.jsonl")
	require.NoError(t, os.WriteFile(path, []byte(strings.Join(lines, "\n")+"\n"), 0o644))
	return path
}

const exit0 = "b7000000000000009500000000000000"

func TestJudgeSaysWhatDiffers(t *testing.T) {
	for _, tt := range []struct{ name, line, want string }{
		{"ret", `{"id":"a","p":"b7000000050000009500000000000000","runs":[{"in":"","out":"","ret":6}]}`, "a: run 0: ret: want 0x6, got 0x5"},
		{"value", `{"id":"b","p":"` + exit0 + `","runs":[{"in":"01","out":"02","ret":0}]}`, "b: run 0: value+0: want 0x2, got 0x1"},
		{"second run", `{"id":"c","p":"` + exit0 + `","runs":[{"in":"","out":"","ret":0},{"in":"","out":"","ret":1}]}`, "c: run 1: ret: want 0x1, got 0x0"},
		{"refused", `{"id":"d","p":"b700000000000000","runs":[]}`, "d: refused at load, the kernel accepted it: insn 0: last instruction"},
		{"fault", `{"id":"e","p":"b70100000000000079100000000000009500000000000000","runs":[{"in":"","out":"","ret":0}]}`, "e: run 0: end: want return, got memory at insn 1"},
		{"hex", `{"id":"f","p":"zz","runs":[]}`, "f: program: 'z' is not a hex digit"},
		{"simple", `{"name":"g","code":"` + exit0 + `","mem":"","expect":"0x1"}`, "g: want 0x1, got 0x0"},
		{"simple error", `{"name":"h","code":"` + exit0 + `","mem":"","expect":"0x0","error":"division by zero"}`, "h: want an error (division by zero), got 0x0"},
		{"no name", `{"code":"` + exit0 + `","mem":"","expect":"-1"}`, "vector 1: want 0xffffffffffffffff, got 0x0"},
		{"long value", `{"id":"i","p":"` + exit0 + `","runs":[{"in":"` + strings.Repeat("01", 257) + `","out":"","ret":0}]}`, "i: run 0: in: value has 257 bytes"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var out bytes.Buffer
			r, err := Judge(writeLines(t, tt.line), Config{Mode: Modes[0]}, &out)
			require.NoError(t, err)
			assert.Equal(t, 1, r.Failed)
			assert.Equal(t, "0 passed, 1 failed", r.Summary())
			assert.True(t, strings.HasPrefix(out.String(), tt.want), "%s", out.String())
		})
	}
}

func TestJudgeRefusesOtherInput(t *testing.T) {
	var input *result.InputError
	_, err := Judge(writeLines(t, `{"id":"a"}`), Config{}, io.Discard)
	require.ErrorAs(t, err, &input)
	assert.Equal(t, 1, input.Line)
	_, err = Judge(writeLines(t, "", "not json"), Config{}, io.Discard)
	require.ErrorAs(t, err, &input)
	assert.Equal(t, 2, input.Line)
	_, err = Judge(filepath.Join(t.TempDir(), "none"), Config{}, io.Discard)
	require.ErrorIs(t, err, os.ErrNotExist)
}

// TestPackets: LD_ABS reads the vector's packet, 64 zero bytes without one, and ends the program
// outside it.
func TestPackets(t *testing.T) {
	// r6 = r1; r0 = 7; r0 = *(u16 *)skb[62]; exit
	p := "bf16000000000000b700000007000000280000003e0000009500000000000000"
	for _, tt := range []struct{ pkt, ret string }{
		{"", "0"},
		{`"pkt":"` + strings.Repeat("00", 62) + "abcd" + `",`, "43981"},
		{`"pkt":"` + strings.Repeat("ff", 63) + `",`, "0"},
	} {
		var out bytes.Buffer
		r, err := Judge(writeLines(t, `{"id":"a","p":"`+p+`",`+tt.pkt+`"runs":[{"in":"","out":"","ret":`+tt.ret+`}]}`), Config{Mode: Modes[0]}, &out)
		require.NoError(t, err)
		assert.Zero(t, r.Failed, out.String())
	}
}

func TestPlugin(t *testing.T) {
	var refused *Refused
	var faulted *Faulted
	var input *result.InputError
	for _, tt := range []struct {
		name, prog, mem, want string
		err                   any
	}{
		{name: "constant", prog: "b7 00 00 00 2a 00 00 00\n95 00 00 00 00 00 00 00\n", want: "2a\n"},
		{name: "memory", prog: "7110010000000000bf010000000000009500000000000000", mem: "aa bb", want: "bb\n"},
		{name: "length", prog: "bf200000000000009500000000000000", mem: "aabbcc", want: "3\n"},
		{name: "masked shift", prog: "b70000000100000067000000410000009500000000000000", want: "2\n"},
		{name: "unwind", prog: "b701000000000000b7000000090000008500000005000000b7000000020000009500000000000000", want: "0\n"},
		{name: "callx", prog: "b7010000ffffffffb7020000050000008d02000000000000b7000000020000009500000000000000", want: "2\n"},
		{name: "refused", prog: "0000000000000000", err: &refused},
		{name: "fault", prog: "7910000000000000bf010000000000009500000000000000", mem: "aabb", err: &faulted},
		{name: "unknown helper", prog: "8500000006000000b7000000020000009500000000000000", err: &refused},
		{name: "callx elsewhere", prog: "b7020000060000008d02000000000000b7000000020000009500000000000000", err: &faulted},
		{name: "not hex", prog: "xyz", err: &input},
		{name: "short", prog: "b7", err: &input},
		{name: "memory not hex", prog: exit0, mem: "0", err: &input},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var out bytes.Buffer
			err := Plugin(tt.mem, strings.NewReader(tt.prog), Config{Mode: Modes[0]}, &out)
			if tt.err != nil {
				assert.True(t, errors.As(err, tt.err), "%v", err)
				return
			}
			require.NoError(t, err)
			assert.Equal(t, tt.want, out.String())
		})
	}
	err := Plugin("", strings.NewReader("0500ffff00000000"+exit0), Config{Limit: 100}, io.Discard)
	require.ErrorAs(t, err, &refused, "what follows the loop is unreachable")
	err = Plugin("", strings.NewReader("b7000000000000001d00feff000000009500000000000000"), Config{Limit: 100}, io.Discard)
	require.ErrorAs(t, err, &faulted)
	assert.Equal(t, "budget", faulted.Kind)
}

func TestDecodeAgreesWithKernel(t *testing.T) {
	files := []string{"../../decode/testdata/kernel-6.18-verdicts.jsonl.gz"}
	if dir := os.Getenv("BPFRUN_CORPUS"); dir != "" {
		more, err := filepath.Glob(filepath.Join(dir, "vectors", "*-encodings.jsonl.gz"))
		require.NoError(t, err)
		files = append(files, more...)
	}
	for _, path := range files {
		r, err := Decode(path, 0)
		require.NoError(t, err)
		assert.Zero(t, r.Disagree, r.Summary())
		assert.NotZero(t, r.Agree)
		assert.Equal(t, len(r.Results), r.Agree+r.NotStructural)
		t.Log(r.Summary())
	}
}

func TestDecodeReport(t *testing.T) {
	r, err := Decode(writeLines(t,
		`{"id":"good","p":"`+exit0+`"}`,
		`{"id":"wrong","p":"`+exit0+`","ok":false,"why":"unknown opcode b7"}`,
		`{"id":"types","p":"`+exit0+`","ok":false,"why":"R0 !read_ok"}`,
		`{"id":"bytes","p":"b7","ok":false,"why":"invalid shift 64"}`), 0)
	require.NoError(t, err)
	assert.Equal(t, "1 agree, 1 disagree, 1 refused for register types and not judged", r.Summary())
	assert.Equal(t, 3, r.Asked)
	assert.True(t, r.Results[0].OK)
	assert.Contains(t, r.Results[2].Why, "R0 !read_ok")
	assert.False(t, r.Results[3].OK)
}

func TestKernelOf(t *testing.T) {
	assert.Equal(t, "6.18", KernelOf("a/kernel-6.18-encodings.jsonl.gz").String())
	assert.Equal(t, "5.10", KernelOf("kernel-5.10.jsonl").String())
	assert.Equal(t, RecordedKernel, KernelOf("kernel-999.1.jsonl"))
	assert.Equal(t, RecordedKernel, KernelOf("x.jsonl"))
}
