package matrix

import (
	"context"
	"hash/maphash"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/bpfrun/bpfrun/internal/machine"
	"github.com/bpfrun/bpfrun/loader"
)

// Kernel is one column: a target that is opened when it is needed.
type Kernel struct {
	// Name is unique in the matrix.
	Name string
	// Source describes where its BTF comes from.
	Source string
	// Open opens the target. It is called from any goroutine, at most twice.
	Open func() (*loader.Target, error)
	// Key says all that Open's result depends on, but for the target's name; "" is unknown. A kernel
	// whose key is another one's is not opened, and with a cache, one whose key is known from an
	// earlier run only for objects that did not run on it. It may be nil.
	Key func() string
}

// Config describes how to run a matrix. The zero value is usable.
type Config struct {
	// Base is the index of the reference kernel.
	Base int
	// Machine is the configuration of every machine. Types is replaced by a cache for each target.
	Machine machine.Config
	// Options apply to every load.
	Options loader.LoadOptions
	// CPU is the number of the CPU that programs run on.
	CPU int
	// Parallel is the number of machines that run at the same time; 0 means one per processor.
	Parallel int
	// Unverified skips the kernels' verifiers: programs that they would refuse run.
	Unverified bool
	// Cache keeps results between runs. It may be nil.
	Cache *Cache
	// Progress is called after each object on each kernel, never concurrently. It may be nil.
	Progress func(done, total int)
}

// Matrix is the result: one row for each program, with one cell for each kernel.
type Matrix struct {
	Targets []Target
	Base    int
	Rows    []Row
}

// Target is a column of the result.
type Target struct {
	Name, Source string
	// Facts describe the kernel; nil when it could not be opened.
	Facts *Facts
	// Err is why the kernel could not be opened.
	Err error
	// Unverified is why there are no verdicts of the kernel's verifier, though they were asked for.
	Unverified string
}

// Facts describe a target.
type Facts struct {
	Release, Version, VersionKnown, Arch string
	BigEndian                            bool
	PointerSize, Types                   int
}

// Row is one program.
type Row struct {
	Object, Program, Hook string
	// Optional means that tools load the program only on request: its section name begins with "?".
	Optional bool
	// Cells of equal content may be one: they are not to be changed.
	Cells []*Cell
}

// Run runs every program of every object on every kernel. Each object runs on a machine of its own
// for each kernel. Its programs run once, in file order, and share maps and global variables. Run
// returns only the error of ctx; failures of an object or a kernel are recorded in the cells.
func Run(ctx context.Context, objects []*loader.Object, kernels []Kernel, cfg Config) (*Matrix, error) {
	r := newRunner(ctx, objects, kernels, cfg)
	r.run()
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	m := r.matrix()
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	r.session.save()
	return m, nil
}

func newRunner(ctx context.Context, objects []*loader.Object, kernels []Kernel, cfg Config) *runner {
	if cfg.Parallel <= 0 {
		cfg.Parallel = runtime.GOMAXPROCS(0)
	}
	r := &runner{session: newSession(cfg.Cache, objects, &cfg), ctx: ctx, cfg: cfg, objects: objects, total: len(objects) * len(kernels), targets: make([]target, len(kernels)), kept: newDistinct(), seed: maphash.MakeSeed(), distinctKernels: map[identity]*target{}, byKey: map[string]*target{}, made: map[experiment]*result{}}
	r.results = make([][]*result, len(objects))
	for i := range objects {
		r.results[i] = make([]*result, len(kernels))
	}
	for i := range kernels {
		r.targets[i] = target{kernel: kernels[i], index: i, left: len(objects)}
	}
	return r
}

// runner distributes the jobs and collects their results.
type runner struct {
	ctx     context.Context
	session *session
	cfg     Config
	objects []*loader.Object
	targets []target
	results [][]*result // by object, then kernel; nil for kernels that are equal to another one

	kept *distinct
	seed maphash.Seed // of identities

	mu              sync.Mutex
	distinctKernels map[identity]*target
	byKey           map[string]*target // those of which facts and identity are known
	made            map[experiment]*result
	waiting         []int // kernels on which all objects ran, before they did on the base
	done            int
	total           int
}

// job is one object on one kernel. With object -1 it opens the kernel.
type job struct{ object, kernel int }

// jobs lists the jobs kernel by kernel, the base first, so that a kernel's types are in memory only
// while they are used. Each kernel is opened ahead of its objects, so that workers do not wait long
// for BTF to be parsed.
func (r *runner) jobs() []job {
	order := make([]int, 0, len(r.targets))
	if r.hasBase() {
		order = append(order, r.cfg.Base)
	}
	for k := range r.targets {
		if k != r.cfg.Base {
			order = append(order, k)
		}
	}
	var out []job
	for i, k := range order {
		if i == 0 {
			for _, ahead := range order[:min(r.cfg.Parallel, len(order))] {
				out = append(out, job{-1, ahead})
			}
		}
		for o := range r.objects {
			out = append(out, job{o, k})
		}
		if next := i + r.cfg.Parallel; next < len(order) {
			out = append(out, job{-1, order[next]})
		}
	}
	return out
}

func (r *runner) hasBase() bool { return r.cfg.Base >= 0 && r.cfg.Base < len(r.targets) }

func (r *runner) run() {
	queue := make(chan job)
	var wg sync.WaitGroup
	for range r.cfg.Parallel {
		wg.Add(1)
		go func() {
			defer wg.Done()
			for j := range queue {
				r.do(j)
			}
		}()
	}
	for _, j := range r.jobs() {
		if r.ctx.Err() != nil {
			break
		}
		queue <- j
	}
	close(queue)
	wg.Wait()
	for i := range r.targets {
		r.targets[i].close()
	}
}

// boot returns the time since boot at which a machine's first program starts.
func (r *runner) boot() time.Duration {
	if r.cfg.Machine.Boot != 0 {
		return r.cfg.Machine.Boot
	}
	return time.Hour
}

func (r *runner) do(j job) {
	t := &r.targets[j.kernel]
	r.identify(t)
	if j.object < 0 {
		return
	}
	if t.twin == nil {
		r.results[j.object][j.kernel] = r.runOrRecall(r.objects[j.object], t, nil)
	}
	for _, k := range r.finish(t) {
		r.tryWhileOpen(k)
		r.targets[k].close()
	}
}

// finish notes that an object ran on a kernel, and returns the kernels that only trials still need:
// none before all objects ran on the base, which stays open.
func (r *runner) finish(t *target) []int {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.done++
	if r.cfg.Progress != nil {
		r.cfg.Progress(r.done, r.total)
	}
	if t.left--; t.left > 0 || t.twin != nil {
		return nil
	}
	if !r.hasBase() {
		t.close()
		return nil
	}
	r.waiting = append(r.waiting, t.index)
	base := r.targets[r.cfg.Base].first()
	if base.left > 0 {
		return nil
	}
	ready := slices.DeleteFunc(r.waiting, func(k int) bool { return k == base.index })
	r.waiting = nil
	return ready
}

// runOrRecall returns what an object does on a kernel, from an earlier run if it is known.
func (r *runner) runOrRecall(o *loader.Object, t *target, again *rerun) *result {
	key := resultKey{t.id, again.key()}
	if res := r.session.known(o, key); res != nil {
		return res
	}
	t.open()
	res := r.kept.result(r.runObject(o, t, again))
	if r.ctx.Err() == nil && t.err == nil && r.sure(t) {
		r.session.add(o, key, res)
	}
	return res
}

// result returns what an object did on a kernel.
func (r *runner) result(object, kernel int) *result {
	return r.results[object][r.targets[kernel].first().index]
}

func (r *runner) matrix() *Matrix {
	m := &Matrix{Base: r.cfg.Base}
	for i := range r.targets {
		t := &r.targets[i]
		m.Targets = append(m.Targets, Target{Name: t.kernel.Name, Source: t.kernel.Source, Facts: t.facts, Err: t.err})
		if t.facts != nil && !r.cfg.Unverified {
			m.Targets[i].Unverified = t.facts.whyUnverified(t.kernel.Name)
		}
	}
	names := objectNames(r.objects)
	for i, o := range r.objects {
		for p, prog := range o.Programs {
			row := Row{Object: names[i], Program: prog.Name, Hook: prog.Hook, Optional: !prog.Autoload, Cells: make([]*Cell, len(r.targets))}
			for k := range r.targets {
				row.Cells[k] = r.result(i, k).cells[p]
			}
			compareRow(&row, r.outcomes(i, p), r.cfg.Base, m.Targets)
			for k := range row.Cells {
				if c := row.Cells[k]; c != r.result(i, k).cells[p] {
					row.Cells[k] = r.kept.cell(c)
				}
			}
			m.Rows = append(m.Rows, row)
		}
	}
	r.follow(m)
	return m
}

// objectNames returns the objects' names, each with as much of its path as makes it unique.
func objectNames(objects []*loader.Object) []string {
	count := map[string]int{}
	for _, o := range objects {
		count[o.Name]++
	}
	out := make([]string, len(objects))
	for i, o := range objects {
		out[i] = o.Name
		if count[o.Name] > 1 {
			out[i] = strings.TrimPrefix(o.Path, "./")
		}
	}
	return out
}
