package jit

import (
	"encoding/binary"
	"fmt"
	"runtime"
	"strings"

	"golang.org/x/arch/arm64/arm64asm"

	"github.com/bpfrun/bpfrun/internal/mem"
	"github.com/bpfrun/bpfrun/jit/amd64"
	"github.com/bpfrun/bpfrun/jit/arm64"
	"github.com/bpfrun/bpfrun/jit/plan"
	"github.com/bpfrun/bpfrun/vm"
)

// processor generates and disassembles native code, on every machine. Only an [Engine] can run the
// code.
type processor struct {
	compile     func(p *plan.Program, t plan.Target, out *plan.Code) error
	disassemble func(code []byte, at int) (text string, n int)
}

var processors = map[string]processor{
	"amd64": {amd64.Compile, amd64.Disassemble},
	"arm64": {arm64.Compile, disassembleARM64},
}

// Processors returns the names, as in GOARCH, of the processors that native code can be generated
// for.
func Processors() []string { return []string{"amd64", "arm64"} }

// Compile generates the native code of a program without running it, as an engine for a memory of
// the usual size would, for inspection or to measure the compile time. words are those of
// [vm.Thread.SetContext]. If loops is true, loops are optimised, as engines do for long-running
// programs. The memory of an earlier result may be reused.
func Compile(img *vm.Image, words []*uint64, loops bool, old *Compiled) (*Compiled, error) {
	if !Supported() {
		return nil, ErrUnsupported
	}
	return CompileFor(runtime.GOARCH, img, words, loops, old)
}

// CompileFor is [Compile] for one of [Processors], which may differ from this machine's.
func CompileFor(name string, img *vm.Image, words []*uint64, loops bool, old *Compiled) (*Compiled, error) {
	proc, ok := processors[name]
	if !ok {
		return nil, fmt.Errorf("%w for %s, only for %s", ErrUnsupported, name, strings.Join(Processors(), " and "))
	}
	c := old
	if c == nil {
		c = &Compiled{}
	}
	p := plan.New(img, words, c.program)
	if p == nil {
		return nil, fmt.Errorf("%w: a program of %d slots", ErrUnsupported, img.Len())
	}
	if loops {
		p.Optimise(func(int32) bool { return true }, nil)
	}
	c.program, c.disassemble = p, proc.disassemble
	c.Code.Reset(len(p.Insns))
	t := plan.Target{Base: mem.DefaultBase, ShadowDelta: -mem.DefaultSize / 8, StateDelta: -1 << 14}
	if err := proc.compile(p, t, &c.Code); err != nil {
		return nil, err
	}
	return c, nil
}

// Disassemble returns the text and the length in bytes of the instruction at an offset in Text.
// Code before the offset to is shown.
func (c *Compiled) Disassemble(at, to int) (text string, n int) {
	return c.disassemble(c.Text[at:to], at)
}

// disassembleARM64 formats jumps with their distance.
func disassembleARM64(code []byte, _ int) (text string, n int) {
	if len(code) < 4 {
		return fmt.Sprintf(".byte %x", code), len(code)
	}
	in, err := arm64asm.Decode(code)
	if err != nil { // newer than the table
		return fmt.Sprintf(".word %#08x", binary.LittleEndian.Uint32(code)), 4
	}
	return arm64asm.GNUSyntax(in), 4
}
