package isa

import (
	"fmt"
	"path/filepath"
	"strconv"

	"github.com/bpfrun/bpfrun/decode"
	"github.com/bpfrun/bpfrun/internal/lazyre"
	"github.com/bpfrun/bpfrun/internal/uapi"
)

// RecordedKernel is the kernel on which the committed verdicts were recorded. It is the default for
// files whose name does not tell the kernel.
var RecordedKernel = decode.KernelVersion(6, 18, 0)

// DecodeResult is the result of the structural checks for one program.
type DecodeResult struct {
	ID  string `json:"id"`
	OK  bool   `json:"ok"`
	Why string `json:"why,omitempty"`
	// Judged is false if no kernel was asked, or if the kernel refused the program for the contents
	// of registers. Agrees is meaningful only if Judged is true.
	Judged bool   `json:"-"`
	Agrees bool   `json:"-"`
	Kernel string `json:"-"` // the kernel's message
}

// DecodeReport contains the results for the programs of a file.
type DecodeReport struct {
	Results              []DecodeResult
	Agree, Disagree      int
	NotStructural, Asked int // refusals that are not structural; programs with a kernel's verdict
}

// Summary returns the counts in one line.
func (r *DecodeReport) Summary() string {
	return fmt.Sprintf("%d agree, %d disagree, %d refused for register types and not judged", r.Agree, r.Disagree, r.NotStructural)
}

// structural matches the kernel's messages for refusals that do not depend on the contents of
// registers (kernel/bpf/verifier.c, cfg.c, core.c).
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

// Structural reports whether a message of the kernel's verifier refuses a program for its structure
// alone.
func Structural(why string) bool {
	for _, r := range structural {
		if r.MatchString(why) {
			return true
		}
	}
	return false
}

var releaseInName = lazyre.New(`kernel-(\d+)\.(\d+)`)

// KernelOf returns the kernel in the name of a file of verdicts ("kernel-6.18-encodings.jsonl.gz"),
// or RecordedKernel if there is none.
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

// Decode applies the structural checks of a kernel to the programs of a file; 0 means the kernel
// that KernelOf returns. Calls to kernel functions are refused, as by a kernel for programs without
// BTF.
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
