package fuzz

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/bpfrun/bpfrun/internal/machine"
	"github.com/bpfrun/bpfrun/internal/machine/finding"
	"github.com/bpfrun/bpfrun/internal/progtype"
	"github.com/bpfrun/bpfrun/internal/scenario"
	"github.com/bpfrun/bpfrun/internal/scenario/grammar"
	"github.com/bpfrun/bpfrun/internal/subsys/hid/device"
	"github.com/bpfrun/bpfrun/internal/uapi"
	"github.com/bpfrun/bpfrun/loader"
)

// Other is what an object is compared with: another build of it, or another kernel.
type Other struct {
	// Name is what reports call it.
	Name   string
	Object *loader.Object
	Target *loader.Target
}

// Options say what is searched, and for how long.
type Options struct {
	// Scenario configures machines. Its Engine, Restores and Cover are not used.
	Scenario scenario.Options
	// Text is a scenario file with the seeds, Path its name. Without Text the seeds are default
	// runs of Programs, or of all programs.
	Text     []byte
	Path     string
	Programs []string
	// Without are programs that are not searched unless Programs names them, such as tests inside
	// of the object.
	Without []string
	Others  []Other
	// ObjectPath is the path of the object's file; empty for an object that has none. Flags are
	// those with which it was opened, as users write them.
	ObjectPath string
	Flags      []string
	// Time and Runs are the budget; 0 is no limit.
	Time time.Duration
	Runs uint64
	Seed uint64
	// Workers is the number of machines that search at the same time; 0 means one. One worker with
	// the same seed and the same budget in runs does the same each time.
	Workers int
	// Shard and Shards: of several machines that search the same object, this is the one with that
	// number, from 1.
	Shard, Shards int
	// Corpus is the directory with inputs that are kept, Merge are others that are added to it;
	// empty for none.
	Corpus string
	Merge  []string
	// Keep is the directory of findings and of the suite; empty for none.
	Keep   string
	Vary   map[Part]bool
	Ignore []finding.Ignore
	// Progress, if not nil, is called now and then; Note with what the user should know.
	Progress func(Progress)
	Note     func(text string)
}

// Progress is how far a search is.
type Progress struct {
	Runs             uint64
	Elapsed          time.Duration
	Reached, Known   int // branches
	Findings, Corpus int
}

// Fuzzer searches inputs of one object. Create it with [New].
type Fuzzer struct {
	opt    Options
	obj    *loader.Object
	target *loader.Target
	root   *grammar.Node // of the scenario with the seeds
	file   *scenario.File
	digest [sha256.Size]byte // of the object's file
	flags  string            // that the files need beside them
	order  []string          // runs that are searched
	skip   []Skipped
	varies map[string]bool // maps and variables that are input although programs write them
	space  space
	jumps  map[string][]jump
	plain  map[string][]int // numbers of instructions without copies, of programs that have any
	pairs  []pairing
	// balanced are programs and maps of which one deletes what the other stored.
	balanced map[string]bool

	runs atomic.Uint64
	// verify judges programs with the constants of a finding.
	verify func(*loader.Linked) func(*loader.LinkedProgram) loader.Verified
	// stateful means that the corpus has inputs with a state before the events.
	stateful atomic.Bool
	start    time.Time
	first    *side // for what needs one machine: seeds, merging, confirming

	mu       sync.Mutex
	reached  map[edge]bool
	branches map[edge]bool // of the object itself, in any call context
	defaults map[edge]bool // likewise
	corpus   []*entry
	seeded   int // seeds, those that wait too
	explored int // how many of the corpus had their comparisons solved
	hashes   map[string]bool
	needs    map[edge]string
	found    []*Finding
	seen     map[string]bool // keys of findings
	written  map[string]bool // maps and variables that a program was seen to write
	progRuns map[string]uint64
	lost     int         // findings that did not happen again
	waiting  []seed      // those for which there was no time before the search
	suite    []SuiteFile // that were written
}

// Skipped is a run that is not searched.
type Skipped struct{ Run, Why string }

// entry is an input that reached something new.
type entry struct {
	in    *Input
	edges []edge // what it reached first
	tried uint64 // inputs made from it
	insns uint64
	// asks means that it looks for an element that events before it may make; asked is how large
	// the corpus was when they were looked for.
	asks  bool
	asked int
	// paired means that whole calls were made of it.
	paired bool
}

// New prepares a search: it makes the seeds and finds out what is input. Close releases the
// machines.
func New(ctx context.Context, obj *loader.Object, target *loader.Target, opt Options) (*Fuzzer, error) {
	f := &Fuzzer{
		opt: opt, obj: obj, target: target, varies: map[string]bool{}, reached: map[edge]bool{}, branches: map[edge]bool{}, defaults: map[edge]bool{}, hashes: map[string]bool{}, needs: map[edge]string{},
		seen: map[string]bool{}, written: map[string]bool{}, progRuns: map[string]uint64{}, plain: map[string][]int{}, balanced: map[string]bool{},
	}
	if f.opt.Workers == 0 {
		f.opt.Workers = 1
	}
	if f.opt.Vary == nil {
		f.opt.Vary, _ = Varied(nil, nil)
	}
	if opt.ObjectPath != "" {
		if data, err := os.ReadFile(opt.ObjectPath); err == nil {
			f.digest = sha256.Sum256(data)
		}
	}
	if err := f.seeds(ctx); err != nil {
		return nil, err
	}
	if err := f.choose(); err != nil {
		return nil, err
	}
	f.flags = f.given()
	return f, nil
}

// Close releases the machines.
func (f *Fuzzer) Close() {
	if f.first != nil {
		f.first.close()
	}
}

func (f *Fuzzer) note(format string, args ...any) {
	if f.opt.Note != nil {
		f.opt.Note(fmt.Sprintf(format, args...))
	}
}

// choose opens the first machine and decides which runs are searched and what is input.
func (f *Fuzzer) choose() error {
	s, err := f.open("", f.obj, f.target, f.file)
	if err != nil {
		return err
	}
	f.first = s
	f.verify, f.opt.Scenario.Verify = f.opt.Scenario.Verify, nil // its verdicts are known now
	m := s.fast.Machine()
	for _, run := range f.file.Runs {
		if len(f.opt.Programs) > 0 && !slices.Contains(f.opt.Programs, run.Prog) {
			continue
		}
		if slices.Contains(f.without(), run.Prog) {
			continue
		}
		if st, err := m.ProgramStatus(run.Prog); st != machine.StatusOK && st != machine.StatusUnknownHook {
			f.skip = append(f.skip, Skipped{run.Name, because(st, err)})
			continue
		}
		if _, err := s.fast.Start(run); err != nil && deviceOf(run) == nil {
			f.skip = append(f.skip, Skipped{run.Name, err.Error()})
			continue
		}
		f.order = append(f.order, run.Name)
	}
	f.skipWithoutRuns(m)
	for _, lp := range m.Linked().Programs {
		if list := lp.Plain(); list != nil {
			f.plain[lp.Name] = list
		}
	}
	f.jumps = f.jumpsOf(m)
	f.pairs = f.pairings(m.Linked())
	f.space = f.findSpace(s)
	return nil
}

// because says why a program cannot run.
func because(st machine.Status, err error) string {
	why := string(st)
	if err != nil {
		text, _, _ := strings.Cut(err.Error(), "\n")
		why += ": " + text
	}
	return why
}

// skipWithoutRuns notes the programs that have no default run.
func (f *Fuzzer) skipWithoutRuns(m *machine.Machine) {
	if f.opt.Text != nil {
		return // the file chooses
	}
	var together []string // the device's programs, which its run calls
	if slices.ContainsFunc(f.file.Runs, func(r *scenario.Run) bool { return deviceOf(r) != nil }) {
		together = device.Programs(m.Linked())
	}
	for _, name := range m.Names() {
		if slices.Contains(together, name) {
			continue
		}
		has := slices.ContainsFunc(f.file.Runs, func(r *scenario.Run) bool { return r.Prog == name })
		if has || len(f.opt.Programs) > 0 && !slices.Contains(f.opt.Programs, name) {
			continue
		}
		st, err := m.ProgramStatus(name)
		why := because(st, err)
		if st == machine.StatusOK {
			why = "it has no run of its own"
		}
		f.skip = append(f.skip, Skipped{name, why})
	}
}

// ErrNothing means that no program of the object can be searched.
type ErrNothing struct{ Skipped []Skipped }

func (e *ErrNothing) Error() string {
	if len(e.Skipped) == 0 {
		return "no program can be searched: schedulers, queueing disciplines and what the kernel lacks have no runs of their own"
	}
	return fmt.Sprintf("no program can be searched (%s: %s)", e.Skipped[0].Run, e.Skipped[0].Why)
}

// Run searches until the budget is spent or ctx ends, which is no error, and writes findings and
// suite. After an error there is a report too, if the search had begun.
func (f *Fuzzer) Run(ctx context.Context) (*Report, error) {
	if len(f.order) == 0 {
		return nil, &ErrNothing{f.skip}
	}
	f.start = time.Now()
	first, cancel := context.WithCancel(ctx)
	if f.opt.Time > 0 {
		first, cancel = context.WithDeadline(ctx, f.start.Add(f.opt.Time/seedShare))
	}
	err := f.begin(first)
	cancel()
	if err != nil && first.Err() == nil {
		return nil, err
	}
	if n := len(f.waiting); n > 0 && ctx.Err() == nil {
		f.note("%d of %d seeds wait: the search begins with those for which a fourth of the time was enough, and runs the others between its inputs", n, f.seeded)
	}
	limited, cancel := context.WithCancel(ctx)
	defer cancel()
	if f.opt.Time > 0 {
		limited, cancel = context.WithDeadline(ctx, f.start.Add(f.opt.Time))
		defer cancel()
	}
	var wait sync.WaitGroup
	errs := make([]error, f.opt.Workers)
	for i := range f.opt.Workers {
		w := f.worker(i)
		wait.Go(func() {
			if errs[i] = w.work(limited); errs[i] != nil {
				cancel()
			}
			w.close()
		})
	}
	stop := f.watch()
	wait.Wait()
	stop()
	searched := time.Since(f.start)
	if n := len(f.waiting); n > 0 && ctx.Err() == nil && !f.spent() {
		f.note("%d of %d seeds did not run: there was no time for them", n, f.seeded)
	}
	err = errors.Join(append(errs, f.finish(context.WithoutCancel(ctx), ctx.Err() != nil))...)
	return f.report(searched.Seconds()), err
}

// watch calls Progress twice a second until the returned function is called.
func (f *Fuzzer) watch() (stop func()) {
	if f.opt.Progress == nil {
		return func() {}
	}
	end := make(chan struct{})
	var wait sync.WaitGroup
	wait.Go(func() {
		tick := time.NewTicker(500 * time.Millisecond)
		defer tick.Stop()
		for {
			select {
			case <-end:
				return
			case <-tick.C:
				f.opt.Progress(f.progress())
			}
		}
	})
	return func() { close(end); wait.Wait() }
}

func (f *Fuzzer) progress() Progress {
	f.mu.Lock()
	defer f.mu.Unlock()
	p := Progress{Runs: f.runs.Load(), Elapsed: time.Since(f.start), Findings: len(f.found), Corpus: len(f.corpus)}
	for _, name := range f.programs() {
		reachable, reached, _ := f.count(name)
		p.Known, p.Reached = p.Known+reachable, p.Reached+reached
	}
	return p
}

// programs lists the programs that are searched, in the order of the object, and those they reach
// by tail calls.
func (f *Fuzzer) programs() []string {
	want := map[string]bool{}
	for _, name := range f.order {
		want[f.first.runs[name].Prog] = true
	}
	for e := range f.reached {
		want[e.prog] = true
	}
	return slices.DeleteFunc(f.first.fast.Machine().Names(), func(name string) bool { return !want[name] })
}

// begin runs the seeds, the inputs of the corpus and those of the findings.
func (f *Fuzzer) begin(ctx context.Context) error {
	w := f.worker(-1)
	w.main = f.first
	defer func() { w.main = nil; w.close() }()
	var all []seed
	for _, in := range f.startInputs() {
		all = append(all, seed{in, true})
	}
	kept, err := f.loadCorpus()
	if err != nil {
		return err
	}
	for _, in := range append(f.typeSeeds(), kept...) {
		all = append(all, seed{in, false})
	}
	f.seeded = len(all)
	for i, s := range all {
		err := ctx.Err()
		if err == nil {
			err = w.sow(ctx, s)
		}
		if err != nil && ctx.Err() != nil {
			f.waiting = all[i:]
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// seedShare: of the time of a search, one part in so many at most is for the seeds before it
// begins. Those that are left run between its inputs.
const seedShare = 4

// seed is an input that a search begins with. whole means that it is the scenario's own: what it
// reaches is reached by default.
type seed struct {
	in    *Input
	whole bool
}

// sow runs a seed.
func (w *worker) sow(ctx context.Context, s seed) error {
	if !s.whole {
		return w.try(ctx, s.in)
	}
	list, err := w.sides()
	if err != nil {
		return err
	}
	rec, err := list[0].examine(ctx, s.in, -1, nil)
	if err != nil {
		return err
	}
	w.f.mu.Lock()
	for _, e := range rec.edges {
		w.f.defaults[w.f.branch(e)] = true
	}
	w.f.mu.Unlock()
	if err := w.compare(ctx, s.in, rec, list); err != nil {
		return err
	}
	return w.judge(ctx, s.in, rec, list)
}

// nextSeed takes one of the seeds for which there was no time before the search.
func (f *Fuzzer) nextSeed() (seed, bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.waiting) == 0 {
		return seed{}, false
	}
	s := f.waiting[0]
	f.waiting = f.waiting[1:]
	return s, true
}

// startInputs are the runs of the scenario as they are: each by itself, and its sequence.
func (f *Fuzzer) startInputs() []*Input {
	var out []*Input
	var sequence Input
	for _, run := range f.file.Sequence {
		if slices.Contains(f.order, run.Name) && len(sequence.Events) < maxEvents {
			sequence.Events = append(sequence.Events, Event{Run: run.Name})
		}
	}
	for _, name := range f.order {
		out = append(out, &Input{Events: []Event{{Run: name}}})
	}
	if len(sequence.Events) > 1 {
		out = append(out, &sequence)
	}
	return out
}

// typeSeeds are further inputs for what the types of programs take: packets of many protocols,
// reports of each id.
func (f *Fuzzer) typeSeeds() []*Input {
	var out []*Input
	for _, name := range f.order {
		for _, r := range f.space.runs[name].reports {
			if !f.opt.Vary[Ctx] {
				break
			}
			out = append(out, &Input{Events: []Event{{Run: name, Ctx: slices.Clone(r)}}})
		}
		lp := f.first.program(f.first.runs[name])
		if !f.opt.Vary[Packet] || !progtype.Of(lp.Type).Takes.Has(progtype.TakesPacket) {
			continue
		}
		for _, p := range seedPackets() {
			out = append(out, &Input{Events: []Event{{Run: name, Packet: slices.Clone(p)}}})
		}
	}
	return out
}

// spent reports whether the budget in runs is spent.
func (f *Fuzzer) spent() bool { return f.opt.Runs > 0 && f.runs.Load() >= f.opt.Runs }

// learn adds what an input reached, and returns what is new.
func (f *Fuzzer) learn(rec *record) (fresh []edge) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, e := range rec.edges {
		if !f.reached[e] {
			f.reached[e] = true
			fresh = append(fresh, e)
		}
	}
	for _, e := range fresh {
		b := f.branch(e)
		f.branches[b] = true
		delete(f.needs, b)
	}
	return fresh
}

// learnOther adds what an input reached in another build, and reports whether that is new.
func (f *Fuzzer) learnOther(s *side, rec *record) (fresh bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, e := range rec.edges {
		if e = s.edgeOf(e); !f.reached[e] {
			f.reached[e], fresh = true, true
		}
	}
	return fresh
}

// keep adds an input to the corpus.
func (f *Fuzzer) keep(in *Input, fresh []edge, insns uint64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(in.Maps)+len(in.Globals)+len(in.Fields)+len(in.Texts)+len(in.Links) > 0 {
		f.stateful.Store(true)
	}
	f.corpus = append(f.corpus, &entry{in: in, edges: fresh, insns: insns})
}

// wrote notes maps and variables that programs change: they are no input from then on.
func (f *Fuzzer) wrote(rec *record) {
	for _, res := range rec.results {
		for _, c := range res.Changes {
			f.mu.Lock()
			def, ok := f.first.fast.Machine().Linked().Map(c.Map)
			switch {
			case !ok:
				f.innerWritten(&c)
			case def.DataKind == loader.DataNone:
				if !keyed(def.Type) || c.Old == nil || c.New == nil {
					f.written[c.Map] = true
				}
			default:
				for _, v := range def.Vars {
					if end := v.Off + v.Size; int(end) <= len(c.New) && (len(c.Old) < int(end) || string(c.Old[v.Off:end]) != string(c.New[v.Off:end])) {
						f.written[v.Name] = true
					}
				}
			}
			f.mu.Unlock()
		}
	}
}

// sharing lists, for each run, the runs whose programs refer to a map that it refers to.
func sharing(s *side, order []string) map[string][]string {
	refs := map[string]map[string]bool{}
	for _, name := range order {
		set := map[string]bool{}
		for _, ref := range s.program(s.runs[name]).Refs {
			if ref.Map != nil && ref.Map.DataKind != loader.DataRodata && ref.Map.DataKind != loader.DataKconfig && ref.Map.Type != uapi.MapTypeRingbuf {
				set[ref.Map.Name] = true
			}
		}
		refs[name] = set
	}
	out := map[string][]string{}
	for _, a := range order {
		for _, b := range order {
			for name := range maps.Keys(refs[a]) {
				if refs[b][name] {
					out[a] = append(out[a], b)
					break
				}
			}
		}
	}
	return out
}
