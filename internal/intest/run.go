package intest

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/bpfrun/bpfrun/internal/exitcode"
	kobject "github.com/bpfrun/bpfrun/internal/kernel/object"
	"github.com/bpfrun/bpfrun/internal/machine"
	"github.com/bpfrun/bpfrun/internal/maps"
	"github.com/bpfrun/bpfrun/internal/progtype"
	"github.com/bpfrun/bpfrun/internal/uapi"
	"github.com/bpfrun/bpfrun/loader"
)

// The first stage's input: the largest packet that fits in a page with its headroom and tailroom,
// and for programs that take a socket buffer a zeroed context larger than any kernel's __sk_buff.
const (
	firstPacket  = 4096 - 256 - 320
	firstContext = 256
)

// Maps of the convention. They are zeroed after each test.
const (
	resultMap = "suite_result_map"
	mockMap   = "mock_skb_meta_map"
)

// Options configures how tests run.
type Options struct {
	// Config configures the machine; Mode and Verify are overwritten. Strict also makes a hook that
	// the target lacks a failure. Runners on one target may share Types.
	machine.Config
	Load loader.LoadOptions
	// Verify returns the machine's Verify function for a linked object. If it is nil, no program is
	// verified.
	Verify func(*loader.Linked) func(*loader.LinkedProgram) loader.Verified
	// Trace receives the instructions of the tests' programs; nil runs at full speed.
	Trace machine.Tracer
}

// Runner runs the tests of one object on one target, on a machine of its own. It is not safe for
// concurrent use. Close it after use.
type Runner struct {
	object *loader.Object
	target *loader.Target
	opt    Options
	tests  []*Test
	m      *machine.Machine
	base   *machine.Snapshot // the state before any test
}

// Step is one program of a test, whether it ran or could not.
type Step struct {
	Stage Stage // "" for a plain test
	Prog  string
	// Result is nil if the context could not be created.
	*machine.Result
	// Err explains why the program did not run.
	Err error
}

// Result is the outcome of a test.
type Result struct {
	Test   *Test
	Status Status
	// Exit is the exit code the test causes.
	Exit int
	// Failures describes what failed, one string for each failure.
	Failures []string
	// Skipped explains why the test has no verdict.
	Skipped string
	Parts   []PartResult
	// Logs are the log lines of the check that belong to none of its parts.
	Logs  []string
	Steps []Step
	// Way lists the last source lines that a failed test executed.
	Way   []Place
	Insns uint64
	Took  time.Duration
}

// PartResult is a part of a test with its formatted logs.
type PartResult struct {
	Name   string
	Status Status
	Logs   []string
}

// Open links an object for a target and creates the machine that its tests share.
func Open(obj *loader.Object, target *loader.Target, opt Options) (*Runner, error) {
	tests, err := Discover(obj)
	if err != nil {
		return nil, err
	}
	linked, err := obj.Load(target, opt.Load)
	if err != nil {
		return nil, err
	}
	cfg := opt.Config
	cfg.Mode, cfg.Uncovered, cfg.Unwatched = kobject.ModeScenario, true, true
	if opt.Verify != nil {
		cfg.Verify = opt.Verify(linked)
	}
	m, err := machine.New(linked, cfg)
	if err != nil {
		return nil, err
	}
	return &Runner{object: obj, target: target, opt: opt, tests: tests, m: m, base: m.Snapshot()}, nil
}

// Close releases the machine's memory.
func (r *Runner) Close() { r.m.Close() }

// Machine returns the machine. Its state is that after the last test.
func (r *Runner) Machine() *machine.Machine { return r.m }

// Tests returns the tests in the order in which they run.
func (r *Runner) Tests() []*Test { return r.tests }

// All runs every test: staged tests in order on one machine, plain tests each on a fresh one. The
// error is that of ctx.
func (r *Runner) All(ctx context.Context) ([]*Result, error) {
	var out []*Result
	for _, t := range r.tests {
		res, err := r.one(ctx, t, r.opt.Trace)
		if err != nil {
			return out, err
		}
		out = append(out, res)
	}
	return out, r.explain(ctx, out)
}

// one runs a test.
func (r *Runner) one(ctx context.Context, t *Test, tr machine.Tracer) (*Result, error) {
	start := time.Now()
	res := &Result{Test: t}
	var err error
	if t.Plain != nil {
		r.m.Restore(r.base)
		err = r.plain(ctx, res, tr)
	} else {
		err = r.staged(ctx, res, tr)
		r.clear()
	}
	if err != nil {
		return nil, err
	}
	for i := range res.Steps {
		if s := res.Steps[i].Result; s != nil {
			res.Insns += s.Insns
		}
	}
	res.Took = time.Since(start)
	return res, nil
}

// worse sets the result's status if s is worse.
func (res *Result) worse(s Status) { res.Status = max(res.Status, s) }

// fail records a failure and its exit code.
func (res *Result) fail(s Status, exit int, format string, args ...any) {
	res.worse(s)
	res.Exit = exitcode.Worse(res.Exit, exit)
	res.Failures = append(res.Failures, fmt.Sprintf(format, args...))
}

// step runs a program. ok is false if the test ends with it.
func (r *Runner) step(ctx context.Context, res *Result, stage Stage, p *loader.Program, in machine.Input) (*machine.Result, bool, error) {
	got, err := r.m.Run(ctx, p.Name, in)
	if e := ctx.Err(); e != nil {
		return nil, false, e
	}
	who := p.Name
	if stage != "" {
		who = fmt.Sprintf("%s (%s)", stage, p.Name)
	}
	s := Step{Stage: stage, Prog: p.Name, Result: got, Err: err}
	if got != nil && !got.Ran {
		s.Err = r.m.ProgramError(p.Name)
	}
	res.Steps = append(res.Steps, s)
	switch {
	case err != nil:
		var errno uapi.Errno
		if errors.As(err, &errno) {
			res.fail(Errored, exitcode.Expectation, "%s: the kernel refuses to run it: %v", who, err)
		} else {
			res.fail(Errored, exitcode.Expectation, "%s: %v", who, err)
		}
	case got.Status == machine.StatusDisabled:
		res.worse(Skipped)
		res.Skipped = who + ": its section name disables loading"
	case got.Status == machine.StatusAbsent && !r.opt.Strict:
		res.worse(Skipped)
		res.Skipped = who + ": not on this kernel"
		if s.Err != nil {
			res.Skipped = firstLine(s.Err.Error())
		}
	case got.Status == machine.StatusAbsent:
		res.fail(Errored, exitcode.Load, "%s: %s", who, reason(got, s.Err))
	case got.Status.Exit() != exitcode.OK:
		res.fail(Errored, got.Status.Exit(), "%s: %s", who, reason(got, s.Err))
	case got.Fault != nil:
		res.fail(Errored, exitcode.Fault, "%s: %s", who, reason(got, s.Err))
	default:
		return got, true, nil
	}
	return got, false, nil
}

// reason explains why a program did not run to its end.
func reason(got *machine.Result, err error) string {
	f := got.Fault
	if f == nil {
		if err == nil {
			return string(got.Status)
		}
		return err.Error()
	}
	text := "fault: " + f.Error()
	if f.Source != "" {
		text += "\n" + place(f.Source, f.Line)
	}
	if f.Hint != "" {
		text += "\nhint: " + f.Hint
	}
	return text
}

func firstLine(s string) string {
	s, _, _ = strings.Cut(s, "\n")
	return s
}

// plain runs a plain test. Its program returns 0, the number of the line that failed, or a negative
// errno.
func (r *Runner) plain(ctx context.Context, res *Result, tr machine.Tracer) error {
	p := res.Test.Plain
	got, ok, err := r.step(ctx, res, "", p, machine.Input{Trace: tr})
	if err != nil || !ok {
		return err
	}
	ret := int32(uint32(got.Ret))
	switch {
	case ret == 0:
		res.worse(Passed)
	case ret < 0:
		res.fail(Failed, exitcode.Expectation, "returned %d (%v)", ret, uapi.Errno(-ret))
	default:
		text := fmt.Sprintf("returned %d", ret)
		if pl, ok := r.sourceLine(p.Name, uint32(ret)); ok {
			text += ": failed at\n" + pl.String()
		}
		res.fail(Failed, exitcode.Expectation, "%s", text)
	}
	return nil
}

// staged runs a staged test.
func (r *Runner) staged(ctx context.Context, res *Result, tr machine.Tracer) error {
	in := firstInput(res.Test)
	in.Trace = tr
	var code uint64
	for _, stage := range stages {
		p := res.Test.Stages[stage]
		if p == nil {
			continue
		}
		got, ok, err := r.step(ctx, res, stage, p, in)
		if err != nil {
			return err
		}
		if !ok {
			r.report(res)
			return nil
		}
		code = got.Ret & 0xffffffff
		in = r.nextInput(stage, in, got)
		if stage == Check {
			break
		}
		// Return values below 100 are packet verdicts.
		if s := codes[code]; code >= 100 && (s == Failed || s == Errored) {
			res.fail(s, exitcode.Expectation, "%s (%s) returned %d (%s)", stage, p.Name, code, s)
			r.report(res)
			return nil
		}
	}
	r.report(res)
	r.judge(res, code)
	return nil
}

// judge sets the status from the check's return value.
func (r *Runner) judge(res *Result, code uint64) {
	switch s, known := codes[code]; {
	case !known:
		res.fail(Errored, exitcode.Expectation, "check returned %d, which is not a status (1 or 101 is a pass)", code)
	case s == Passed:
		res.worse(Passed)
	case s == Skipped:
		res.worse(Skipped)
		res.Skipped = "check returned skip"
		if len(res.Logs) > 0 {
			res.Skipped = res.Logs[0]
		}
	default:
		res.fail(s, exitcode.Expectation, "check returned %d (%s)", code, s)
	}
	if res.Status > Skipped {
		res.Skipped = ""
	}
}

// usesSkb reports whether programs of a type take the zeroed 256-byte context of the tests.
func usesSkb(t uapi.ProgType) bool { return progtype.Of(t).Takes.Has(progtype.TakesSkb) }

// report decodes what the check wrote to suite_result_map.
func (r *Runner) report(res *Result) {
	value, ok := r.firstElement(resultMap)
	if !ok {
		return
	}
	rep, err := DecodeReport(value)
	if err != nil {
		res.fail(Errored, exitcode.Expectation, "%v", err)
	}
	for _, l := range rep.Logs {
		res.Logs = append(res.Logs, l.text(r.cString))
	}
	switch {
	case rep.Rest == 0 && value[0] != 0:
		res.fail(Errored, exitcode.Expectation, "%s contains no report: it begins with % x", resultMap, value[:min(len(value), 8)])
	case rep.Rest >= 0:
		res.Logs = append(res.Logs, fmt.Sprintf("(%s holds something else from byte %d on)", resultMap, rep.Rest))
	}
	for _, p := range rep.Parts {
		pr := PartResult{Name: p.Name, Status: p.Status}
		for _, l := range p.Logs {
			pr.Logs = append(pr.Logs, l.text(r.cString))
		}
		res.Parts = append(res.Parts, pr)
		switch p.Status {
		case Failed:
			res.fail(Failed, exitcode.Expectation, "%s", pr.String())
		case Errored:
			res.fail(Errored, exitcode.Expectation, "%s (code %d)", pr.String(), p.Code)
		}
	}
}

// String returns "name: fail" followed by the logs.
func (p *PartResult) String() string {
	return strings.Join(append([]string{p.Name + ": " + p.Status.String()}, p.Logs...), "\n")
}

// maxString limits the length in bytes of a string that a log reads from simulated memory.
const maxString = 512

func (r *Runner) cString(addr uint64) (string, bool) {
	var text string
	var ok bool
	r.m.Quietly(func() {
		b, _, f := r.m.Memory().ReadCString(addr, maxString)
		text, ok = string(b), f == nil
	})
	return text, ok
}

// firstElement reads element 0 of an array map as user space does.
func (r *Runner) firstElement(name string) ([]byte, bool) {
	m, ok := r.m.MapByName(name)
	if !ok {
		return nil, false
	}
	value, errno := maps.UserLookup(m, make([]byte, m.Spec().KeySize), nil, 0)
	return value, errno == 0
}

// clear zeroes the maps of the convention.
func (r *Runner) clear() {
	for _, name := range [...]string{resultMap, mockMap} {
		if m, ok := r.m.MapByName(name); ok {
			// A map that user space cannot write keeps its contents, as on a kernel.
			_ = maps.UserUpdate(m, make([]byte, m.Spec().KeySize), make([]byte, maps.UserValueSize(m)), 0)
		}
	}
}
