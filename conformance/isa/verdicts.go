package isa

import (
	"fmt"
	"path/filepath"
	"strconv"

	"github.com/bpfrun/bpfrun/decode"
	"github.com/bpfrun/bpfrun/internal/lazyre"
	"github.com/bpfrun/bpfrun/uapi"
)

// RecordedKernel is the kernel of verdicts without another indication: the one on which the committed recordings were
// made.
var RecordedKernel = decode.KernelVersion(6, 18, 0)

// DecodeResult is the verdict of the structural checks on one program.
type DecodeResult struct {
	ID  string `json:"id"`
	OK  bool   `json:"ok"`
	Why string `json:"why,omitempty"`
	// Judged is false if the program was not loaded or was refused for a reason that needs register types. Agrees is
	// meaningful only if Judged is true.
	Judged bool   `json:"-"`
	Agrees bool   `json:"-"`
	Kernel string `json:"-"` // the kernel's message
}

// DecodeReport contains the verdicts on the programs of a file.
type DecodeReport struct {
	Results              []DecodeResult
	Agree, Disagree      int
	NotStructural, Asked int // refusals not judged; programs with a kernel's verdict
}

// Summary counts agreement.
func (r *DecodeReport) Summary() string {
	return fmt.Sprintf("%d agree, %d disagree, %d refused for register types and not judged", r.Agree, r.Disagree, r.NotStructural)
}

// structural are the kernel's messages for refusals that do not depend on register contents (kernel/bpf/verifier.c,
// cfg.c, core.c).
var structural = []*lazyre.Regexp{
	lazyre.New(`^unknown opcode`),
	lazyre.New(`uses reserved fields|^invalid may_goto imm`),
	lazyre.New(`^R1[1-5] is invalid`),
	lazyre.New(`^jump out of range`),
	lazyre.New(`^BPF_ATOMIC uses invalid atomic opcode|^invalid atomic operand size`),
	lazyre.New(`^unreachable insn`),
	lazyre.New(`^frame pointer is read only`),
	lazyre.New(`^(invalid|unrecognized) bpf_ld_imm64 insn`),
	lazyre.New(`^div by zero|^invalid shift`),
	lazyre.New(`^addr_space_cast insn can only convert`),
	lazyre.New(`^the call stack of \d+ frames is too deep|^combined stack size`),
	lazyre.New(`^last insn is not an exit or jmp|^jump into the middle of ldimm64|^call to invalid destination`),
	lazyre.New(`^invalid write to stack R10|^misaligned stack access`),
	lazyre.New(`^failed to find BTF for kernel function|^kernel btf_id \d+ is not a function|^invalid func unknown|^program of this type cannot use helper bpf_unspec`),
}

// Structural reports whether a message of the kernel's verifier is about the program's structure alone.
func Structural(why string) bool {
	for _, r := range structural {
		if r.MatchString(why) {
			return true
		}
	}
	return false
}

var releaseInName = lazyre.New(`kernel-(\d+)\.(\d+)`)

// KernelOf returns the kernel named by a file of verdicts ("kernel-6.18-encodings.jsonl.gz"), else RecordedKernel.
func KernelOf(path string) decode.Version {
	m := releaseInName.FindStringSubmatch(filepath.Base(path))
	if m == nil {
		return RecordedKernel
	}
	major, err1 := strconv.Atoi(m[1])
	minor, err2 := strconv.Atoi(m[2])
	if err1 != nil || err2 != nil || major > 255 || minor > 255 {
		return RecordedKernel
	}
	return decode.KernelVersion(major, minor, 0)
}

// Decode checks the programs of a file by the structural checks of a kernel, 0 for that of KernelOf. Kernel functions
// have no BTF here, so calls of them are refused, as by the kernel.
func Decode(path string, kernel decode.Version) (*DecodeReport, error) {
	if kernel == 0 {
		kernel = KernelOf(path)
	}
	cfg := decode.CheckConfig{
		Kernel: kernel,
		Helper: func(id int32) bool { return id > 0 && id <= int32(uapi.MaxFuncID) },
		Kfunc:  func(decode.Insn) bool { return false },
	}
	r := &DecodeReport{}
	err := ReadFile(path, func(v Verdict) error {
		r.add(v, cfg)
		return nil
	})
	return r, err
}

func (r *DecodeReport) add(v Verdict, cfg decode.CheckConfig) {
	res := DecodeResult{ID: v.ID, OK: true, Kernel: v.Why}
	insns, err := decodeHex(v.P)
	if err == nil {
		err = decode.Check(insns, cfg)
	}
	if err != nil {
		res.OK, res.Why = false, err.Error()
	}
	if v.OK != nil {
		r.Asked++
		res.Judged = *v.OK || Structural(v.Why)
		res.Agrees = res.OK == *v.OK
		switch {
		case !res.Judged:
			r.NotStructural++
			if res.OK {
				res.Why = "not judged, the kernel refuses it for its registers: " + v.Why
			}
		case res.Agrees:
			r.Agree++
		default:
			r.Disagree++
		}
	}
	r.Results = append(r.Results, res)
}
