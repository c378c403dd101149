package decode

import (
	"bufio"
	"compress/gzip"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// kernelVerdict is a program with what Linux 6.18 said of it.
type kernelVerdict struct {
	ID, P, Why string
	OK         bool
}

func readVerdicts(t *testing.T, path string) []kernelVerdict {
	f, err := os.Open(path)
	require.NoError(t, err)
	defer f.Close()
	z, err := gzip.NewReader(f)
	require.NoError(t, err)
	r := bufio.NewReader(z)
	var out []kernelVerdict
	d := json.NewDecoder(r)
	for {
		var v kernelVerdict
		if err := d.Decode(&v); err == io.EOF {
			return out
		} else {
			require.NoError(t, err)
		}
		out = append(out, v)
	}
}

// whyKinds describes what we call the kernel's reasons; nil is a refusal that needs register types,
// which Check does not judge.
var whyKinds = []struct {
	why  *regexp.Regexp
	kind []error
}{
	{regexp.MustCompile(`^unknown opcode`), []error{ErrOpcode, ErrNewerKernel}},
	{regexp.MustCompile(`^(BPF_\w+|BPF_JMP/JMPN|BPF_LD_\[ABS\|IND\]) uses reserved fields|^invalid may_goto imm`), []error{ErrReserved}},
	{regexp.MustCompile(`^R1[1-5] is invalid`), []error{ErrRegister}},
	{regexp.MustCompile(`^jump out of range`), []error{ErrJump}},
	{regexp.MustCompile(`^BPF_ATOMIC uses invalid atomic opcode`), []error{ErrAtomic}},
	{regexp.MustCompile(`^invalid atomic operand size`), []error{ErrAtomicSize}},
	{regexp.MustCompile(`^unreachable insn`), []error{ErrUnreachable}},
	{regexp.MustCompile(`^frame pointer is read only`), []error{ErrFramePointer}},
	{regexp.MustCompile(`^(invalid|unrecognized) bpf_ld_imm64 insn`), []error{ErrLdImm64}},
	{regexp.MustCompile(`^div by zero`), []error{ErrDivByZero}},
	{regexp.MustCompile(`^invalid shift`), []error{ErrShift}},
	{regexp.MustCompile(`^addr_space_cast insn can only convert`), []error{ErrAddrSpace}},
	{regexp.MustCompile(`^the call stack of \d+ frames is too deep`), []error{ErrCallDepth}},
	{regexp.MustCompile(`^last insn is not an exit or jmp`), []error{ErrFallThrough}},
	{regexp.MustCompile(`^jump into the middle of ldimm64`), []error{ErrJumpIntoImm64}},
	{regexp.MustCompile(`^call to invalid destination`), []error{ErrCallTarget}},
	{regexp.MustCompile(`^invalid write to stack R10|^misaligned stack access`), []error{ErrStackAccess}},
	{regexp.MustCompile(`^(failed to find BTF for kernel function|kernel btf_id \d+ is not a function|invalid func unknown|program of this type cannot use helper bpf_unspec)`), []error{ErrUnknownFunc}},
}

func kindsOf(why string) []error {
	for _, k := range whyKinds {
		if k.why.MatchString(why) {
			return k.kind
		}
	}
	return nil
}

// TestKernelVerdicts compares Check with recorded verdicts of Linux 6.18 on programs that try every
// opcode with odd fields.
func TestKernelVerdicts(t *testing.T) {
	path := filepath.Join("testdata", "kernel-6.18-verdicts.jsonl.gz")
	if dir := os.Getenv("BPFRUN_CORPUS"); dir != "" {
		whole := filepath.Join(dir, "vectors", "kernel-6.18-encodings.jsonl.gz")
		if _, err := os.Stat(whole); err == nil {
			path = whole
		}
	}
	cfg := CheckConfig{
		Kernel: KernelVersion(6, 18, 0),
		Helper: func(id int32) bool { return id >= 1 && id <= 211 },
		Kfunc:  func(Insn) bool { return false },
	}
	judged, reasons, bad := 0, 0, 0
	for _, v := range readVerdicts(t, path) {
		raw, err := hex.DecodeString(v.P)
		require.NoError(t, err)
		insns, err := Unmarshal(raw, binary.LittleEndian)
		require.NoError(t, err)
		got := Check(insns, cfg)
		kinds := kindsOf(v.Why)
		if !v.OK && kinds == nil {
			continue
		}
		judged++
		if v.OK != (got == nil) {
			if bad++; bad < 20 {
				assert.Fail(t, "verdict", "%s: kernel %v %q, got %v\n%s", v.ID, v.OK, v.Why, got, v.P)
			}
			continue
		}
		if v.OK {
			continue
		}
		same := false
		for _, k := range kinds {
			same = same || assert.ObjectsAreEqual(k, got.(*CheckError).Kind)
		}
		if same {
			reasons++
		} else if testing.Verbose() {
			t.Logf("%s: kernel %q, got %v", v.ID, v.Why, got)
		}
	}
	assert.Zero(t, bad)
	t.Logf("%d judged, %d refusals for the same reason", judged, reasons)
}
