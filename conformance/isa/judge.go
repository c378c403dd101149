package isa

import (
	"encoding/hex"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/bpfrun/bpfrun/conformance/result"
	"github.com/bpfrun/bpfrun/decode"
	"github.com/bpfrun/bpfrun/internal/worded"
)

// Config configures [Judge].
type Config struct {
	Mode  Mode   // the zero value does not fuse instructions; Modes[0] is the default elsewhere
	Limit uint64 // maximum number of instructions of a run; 0 means DefaultLimit
}

// Judge runs the vectors of a file, which may mix both forms of lines, and writes a line for each
// vector that fails. It returns an error if the file cannot be read; a failed vector is not an
// error.
func Judge(path string, cfg Config, w io.Writer) (*result.Result, error) {
	if cfg.Limit == 0 {
		cfg.Limit = DefaultLimit
	}
	it, err := NewInterpreter(cfg.Mode)
	if err != nil {
		return nil, err
	}
	defer it.Close()
	it.Limit = cfg.Limit
	r := &result.Result{}
	n := 0
	err = ReadFile(path, func(l Line) error {
		n++
		switch {
		case l.P != "":
			r.Add(w, name(l.ID, n), judgeKernel(it, &l))
		case l.Code != "":
			r.Add(w, name(l.Name, n), judgeSimple(&l, cfg))
		default:
			return &result.InputError{Name: path, Line: n, Err: fmt.Errorf("neither a program p nor code")}
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

// judgeKernel runs a kernel vector and describes the differences; "" means that it passed.
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

// judgeSimple runs a line of the public suite and describes the difference; "" means that it
// passed.
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

// parseExpect parses an expected r0: a decimal number, which may be negative, or hex with 0x.
func parseExpect(s string) (uint64, error) {
	if strings.HasPrefix(s, "-") {
		v, err := strconv.ParseInt(s, 0, 64)
		return uint64(v), err
	}
	return strconv.ParseUint(s, 0, 64)
}

// Plugin implements the plugin protocol of the public suite. It reads the program in hex from stdin
// and the memory in hex from its argument, and writes r0 in hex to stdout. It ignores white space
// in both inputs.
func Plugin(memory string, stdin io.Reader, cfg Config, stdout io.Writer) error {
	text, err := io.ReadAll(io.LimitReader(stdin, maxLine))
	if err != nil {
		return err
	}
	insns, err := decodeHex(strings.Join(strings.Fields(string(text)), ""))
	if err != nil {
		return &result.InputError{Name: "standard input", Line: 1, Err: err}
	}
	data, err := hex.DecodeString(strings.Join(strings.Fields(memory), ""))
	if err != nil {
		return &result.InputError{Name: "memory argument", Line: 1, Err: worded.Error(err)}
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
