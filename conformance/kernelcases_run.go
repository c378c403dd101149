package conformance

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	stdmaps "maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/bpfrun/bpfrun/conformance/result"
	kobject "github.com/bpfrun/bpfrun/internal/kernel/object"
	"github.com/bpfrun/bpfrun/internal/machine"
	"github.com/bpfrun/bpfrun/internal/maps"
	"github.com/bpfrun/bpfrun/internal/uapi"
	"github.com/bpfrun/bpfrun/loader"
)

// CasesConfig configures the replay of recorded cases.
type CasesConfig struct {
	// Objects is the directory that contains the objects, each perhaps compressed, with .gz after
	// its name.
	Objects string
	// Target returns the target for cases recorded on a kernel release ("6.18.44").
	Target func(release string) (*loader.Target, error)
	// Open opens an object; nil means [loader.Open].
	Open func(path string) (*loader.Object, error)
	// MaxInsns limits the number of instructions that a run executes; 0 means the machine's
	// default.
	MaxInsns uint64
	Seed     uint64
	// Engine, EagerLoops and OnDifference are passed to machine.Config.
	Engine       machine.Engine
	EagerLoops   bool
	OnDifference func(text string)
	// Verbose also writes a line for each case that is not compared.
	Verbose bool
}

// CasesResult counts the cases of a file by outcome.
type CasesResult struct {
	result.Result
	// Refused counts the cases that the recorded kernel refused to load; they are not compared.
	Refused int
}

// recordedCPUs is the number of CPUs of the machines on which cases are recorded.
const recordedCPUs = 2

// Cases runs the cases of a file and writes a line to w for each difference. It returns an error if
// an input is unusable; failed cases are counted in the result.
func Cases(ctx context.Context, path string, cfg CasesConfig, w io.Writer) (*CasesResult, error) {
	file, err := ReadCases(path)
	if err != nil {
		return nil, err
	}
	r, err := newCaseRunner(file, cfg)
	if err != nil {
		return nil, err
	}
	return r.judgeAll(ctx, w)
}

// judgeAll runs every case of the file.
func (r *caseRunner) judgeAll(ctx context.Context, w io.Writer) (*CasesResult, error) {
	res := &CasesResult{}
	for i := range r.file.Cases {
		c := &r.file.Cases[i]
		if c.Expect.LoadError != "" {
			res.Refused++
			if r.cfg.Verbose {
				fmt.Fprintf(w, "%s: not judged: the kernel refuses to load it (%s)\n", c.Name, c.Expect.LoadError)
			}
			continue
		}
		diffs, err := r.judge(ctx, c)
		if err != nil {
			return res, err
		}
		if len(diffs) == 0 {
			res.Passed++
			continue
		}
		res.Failed++
		res.Failures = append(res.Failures, result.Failure{ID: c.Name, What: strings.Join(diffs, "; ")})
		for _, d := range diffs {
			fmt.Fprintf(w, "%s: %s\n", c.Name, d)
		}
	}
	return res, nil
}

// caseRunner runs the cases of one file.
type caseRunner struct {
	file   *CaseFile
	cfg    CasesConfig
	object *loader.Object
	target *loader.Target
	types  *kobject.Types
}

func newCaseRunner(file *CaseFile, cfg CasesConfig) (*caseRunner, error) {
	open := cfg.Open
	if open == nil {
		open = func(path string) (*loader.Object, error) { return loader.Open(path) }
	}
	obj, err := openObject(filepath.Join(cfg.Objects, filepath.FromSlash(file.Object)), open)
	if err != nil {
		return nil, err
	}
	target, err := cfg.Target(file.Kernel)
	if err != nil {
		return nil, err
	}
	return &caseRunner{file: file, cfg: cfg, object: obj, target: target, types: kobject.NewTypes()}, nil
}

// openObject opens an object, or one that is there only compressed, with .gz after its name.
func openObject(path string, open func(path string) (*loader.Object, error)) (*loader.Object, error) {
	obj, missing := open(path)
	if _, err := os.Stat(path); missing == nil || !errors.Is(err, os.ErrNotExist) { // open may word a missing file in its own way
		return obj, missing
	}
	data, err := readFile(path + ".gz")
	if errors.Is(err, os.ErrNotExist) {
		return nil, missing
	}
	if err != nil {
		return nil, err
	}
	return loader.OpenBytes(filepath.Base(path), data)
}

// outcome holds the results of the runs of a case.
type outcome struct {
	m       *machine.Machine
	ringbuf map[string][]HexBytes
	perf    map[string][]HexBytes
	trace   []string
}

// judge runs a case on a new machine and returns the differences from the record.
func (r *caseRunner) judge(ctx context.Context, c *Case) ([]string, error) {
	m, err := r.machine(c)
	if err != nil {
		var bad *result.InputError
		if errors.As(err, &bad) {
			return nil, err
		}
		return []string{"load: " + err.Error()}, nil
	}
	defer m.Close()
	j := &caseJudge{c: c, file: r.file, skip: skipped(c.EnvDependent)}
	if err := r.prepare(m, c); err != nil {
		return []string{"set-up: " + err.Error()}, nil
	}
	out := &outcome{m: m, ringbuf: map[string][]HexBytes{}, perf: map[string][]HexBytes{}}
	for i := range c.Runs {
		res, err := r.run(ctx, m, &c.Runs[i], out)
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if i < len(c.Expect.Runs) {
			j.run(i, res, err, &c.Expect.Runs[i])
		}
		if err != nil && !isErrno(err) || res != nil && !res.Ran {
			return j.diffs, nil
		}
	}
	late, err := m.Settle(ctx, time.Duration(c.SettleMS)*time.Millisecond)
	if err != nil {
		return nil, err
	}
	out.take(late.Events, late.Trace)
	if late.Fault != nil {
		j.diff("callback: fault: %s", faultText(late.Fault))
	}
	j.state(out)
	return j.diffs, nil
}

// machine links the programs of a case and creates a machine for them.
func (r *caseRunner) machine(c *Case) (*machine.Machine, error) {
	opts := loader.LoadOptions{Globals: map[string]string{}}
	for _, run := range c.Runs {
		p, ok := r.object.Program(run.Prog)
		if !ok {
			return nil, &result.InputError{Name: r.file.Object, Line: 1, Err: fmt.Errorf("case %s: no program %q in the object", c.Name, run.Prog)}
		}
		if !p.Autoload {
			opts.Only = append(opts.Only, run.Prog)
		}
	}
	if len(opts.Only) > 0 {
		for _, p := range r.object.Programs {
			if p.Autoload {
				opts.Only = append(opts.Only, p.Name)
			}
		}
	}
	linked, err := r.object.Load(r.target, opts)
	if err != nil {
		return nil, err
	}
	return machine.New(linked, machine.Config{
		Seed: r.cfg.Seed, CPUs: recordedCPUs, MaxInsns: r.cfg.MaxInsns, Types: r.types, Uncovered: true, Consume: maps.ConsumeNever,
		Engine: r.cfg.Engine, EagerLoops: r.cfg.EagerLoops, OnDifference: r.cfg.OnDifference,
	})
}

// prepare applies the setup that user space did before the runs.
func (r *caseRunner) prepare(m *machine.Machine, c *Case) error {
	names := make([]string, 0, len(c.Globals))
	for n := range c.Globals {
		names = append(names, n)
	}
	slices.Sort(names)
	for _, n := range names {
		present, err := m.ReadVariable(n)
		if err != nil {
			return err
		}
		data, err := Preset(c.Globals[n], len(present))
		if err != nil {
			return fmt.Errorf("global %s: %w", n, err)
		}
		if err := m.WriteVariable(n, data); err != nil {
			return err
		}
	}
	for _, s := range c.UserRingbuf {
		b, ok := m.MapByName(s.Map)
		if !ok {
			return fmt.Errorf("no map %q", s.Map)
		}
		ring, ok := b.(maps.UserRing)
		if !ok {
			return fmt.Errorf("map %s of type %v takes no samples", s.Map, b.Spec().Type)
		}
		if errno := ring.Push(s.Sample); errno != 0 {
			return fmt.Errorf("sample for map %s: %w", s.Map, errno)
		}
	}
	return r.prepareMaps(m, c)
}

// prepareMaps stores the initial map elements of a case.
func (r *caseRunner) prepareMaps(m *machine.Machine, c *Case) error {
	for _, name := range slices.Sorted(stdmaps.Keys(c.Maps)) {
		b, ok := m.MapByName(name)
		if !ok {
			return fmt.Errorf("no map %q", name)
		}
		for _, e := range c.Maps[name] {
			if errno := maps.UserUpdate(b, e.Key, e.Value, 0); errno != 0 {
				return fmt.Errorf("element %s of map %s: %w", e.Key, name, errno)
			}
		}
	}
	return nil
}

// Preset parses the initial value of a global variable of n bytes: hex, or "fill:5a".
func Preset(text string, n int) ([]byte, error) {
	fill, ok := strings.CutPrefix(text, "fill:")
	var h HexBytes
	if err := h.UnmarshalJSON([]byte(`"` + strings.TrimPrefix(text, "fill:") + `"`)); err != nil {
		return nil, fmt.Errorf("%q: want hex digits or fill:XX", text)
	}
	if !ok {
		return h, nil
	}
	if len(h) != 1 {
		return nil, fmt.Errorf("fill:%s: want one byte", fill)
	}
	return bytes.Repeat(h, n), nil
}

// run performs one BPF_PROG_TEST_RUN. The error is that of the system call.
func (r *caseRunner) run(ctx context.Context, m *machine.Machine, run *CaseRun, out *outcome) (*machine.Result, error) {
	p, _ := r.object.Program(run.Prog)
	if errno := testRunErrno(p, run); errno != 0 {
		return nil, errno
	}
	in := machine.Input{CPU: run.CPU, Packet: run.Data, Context: run.Ctx}
	in.Net.TestRun = true
	var res *machine.Result
	var err error
	for range max(run.Repeat, 1) {
		if res, err = m.Run(ctx, run.Prog, in); err != nil {
			return nil, err
		}
		out.take(res.Events, res.Trace)
	}
	if !res.Ran {
		return res, m.ProgramError(run.Prog)
	}
	return res, nil
}

func (o *outcome) take(events []machine.Event, trace []string) {
	for _, e := range events {
		if e.Kind == "perf" {
			o.perf[e.Map] = append(o.perf[e.Map], e.Data)
		} else {
			o.ringbuf[e.Map] = append(o.ringbuf[e.Map], e.Data)
		}
	}
	o.trace = append(o.trace, trace...)
}

func isErrno(err error) bool {
	var e uapi.Errno
	return errors.As(err, &e)
}
