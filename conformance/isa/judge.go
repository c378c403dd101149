package isa

import (
	"encoding/hex"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/bpfrun/bpfrun/decode"
	"github.com/bpfrun/bpfrun/internal/worded"
)

// Config configures Judge.
type Config struct {
	Mode  Mode   // the zero value runs unfused; Modes[0] is what programs run with
	Limit uint64 // instructions one run may execute, 0 for DefaultLimit
}

// Failure is a vector that did not pass.
type Failure struct {
	ID   string
	What string // what differs
}

// Result counts vectors.
type Result struct {
	Passed, Failed int
	Failures       []Failure
}

// Summary returns the last line of the reports: "N passed, M failed".
func (r *Result) Summary() string { return fmt.Sprintf("%d passed, %d failed", r.Passed, r.Failed) }

func (r *Result) add(w io.Writer, id, what string) {
	if what == "" {
		r.Passed++
		return
	}
	r.Failed++
	r.Failures = append(r.Failures, Failure{id, what})
	fmt.Fprintf(w, "%s: %s\n", id, what)
}

// Judge runs the vectors of a file, which may mix both forms of lines, and writes a line for each that fails. The error
// is an input that cannot be read, not a failed vector.
func Judge(path string, cfg Config, w io.Writer) (*Result, error) {
	if cfg.Limit == 0 {
		cfg.Limit = DefaultLimit
	}
	it, err := NewInterpreter(cfg.Mode)
	if err != nil {
		return nil, err
	}
	defer it.Close()
	it.Limit = cfg.Limit
	r := &Result{}
	n := 0
	err = ReadFile(path, func(l Line) error {
		n++
		switch {
		case l.P != "":
			r.add(w, name(l.ID, n), judgeKernel(it, &l))
		case l.Code != "":
			r.add(w, name(l.Name, n), judgeSimple(&l, cfg))
		default:
			return &InputError{Name: path, Line: n, Err: fmt.Errorf("neither a program p nor code")}
		}
		return nil
	})
	return r, err
}

func name(s string, n int) string {
	if s == "" {
		return "vector " + strconv.Itoa(n)
	}
	return s
}

// judgeKernel runs a kernel vector and returns the differences.
func judgeKernel(it *Interpreter, l *Line) string {
	p, err := l.program()
	if err != nil {
		return err.Error()
	}
	if err := decode.Check(p.Insns, decode.CheckConfig{}); err != nil {
		return "refused at load, the kernel accepted it: " + err.Error()
	}
	if err := it.Load(p); err != nil {
		return err.Error()
	}
	for i, run := range l.Runs {
		in, err := ParseValue(run.In)
		if err != nil {
			return fmt.Sprintf("run %d: in: %v", i, err)
		}
		want := Outcome{}
		if want.Value, err = ParseValue(run.Out); err != nil {
			return fmt.Sprintf("run %d: out: %v", i, err)
		}
		want.Ret = uint64(run.Ret)
		got := it.Run(&in)
		if got.Fault == "" {
			got.Ret = uint64(uint32(got.Ret))
		}
		if d := Diff(&want, &got); d != "" {
			return fmt.Sprintf("run %d: %s", i, d)
		}
	}
	return ""
}

// judgeSimple runs a line of the public suite and returns the differences.
func judgeSimple(l *Line, cfg Config) string {
	insns, err := decodeHex(l.Code)
	if err != nil {
		return err.Error()
	}
	data, err := hex.DecodeString(l.Mem)
	if err != nil {
		return fmt.Sprintf("mem: %v", worded.Error(err))
	}
	got, err := RunPlain(l.Name, insns, data, cfg.Mode, cfg.Limit)
	if l.Error != "" {
		if err == nil {
			return fmt.Sprintf("want an error (%s), got %#x", l.Error, got)
		}
		return ""
	}
	if err != nil {
		return err.Error()
	}
	want, err := parseExpect(l.Expect)
	if err != nil {
		return err.Error()
	}
	if got != want {
		return fmt.Sprintf("want %#x, got %#x", want, got)
	}
	return ""
}

// parseExpect reads an expected r0: decimal, also negative, or 0x.
func parseExpect(s string) (uint64, error) {
	if strings.HasPrefix(s, "-") {
		v, err := strconv.ParseInt(s, 0, 64)
		return uint64(v), err
	}
	return strconv.ParseUint(s, 0, 64)
}

// Plugin returns the plugin protocol of the public suite: the program in hex on stdin, memory as an argument in hex, r0 in
// hex on stdout. White space in either is ignored.
func Plugin(memory string, stdin io.Reader, cfg Config, stdout io.Writer) error {
	text, err := io.ReadAll(io.LimitReader(stdin, maxLine))
	if err != nil {
		return err
	}
	insns, err := decodeHex(strings.Join(strings.Fields(string(text)), ""))
	if err != nil {
		return &InputError{Name: "standard input", Line: 1, Err: err}
	}
	data, err := hex.DecodeString(strings.Join(strings.Fields(memory), ""))
	if err != nil {
		return &InputError{Name: "memory argument", Line: 1, Err: worded.Error(err)}
	}
	if cfg.Limit == 0 {
		cfg.Limit = DefaultLimit
	}
	ret, err := RunPlain("plugin", insns, data, cfg.Mode, cfg.Limit)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(stdout, "%x\n", ret)
	return err
}
