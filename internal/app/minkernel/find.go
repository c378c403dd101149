package minkernel

import (
	"context"
	"errors"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/bpfrun/bpfrun/internal/uapi"
	"github.com/bpfrun/bpfrun/internal/uapi/since"
	"github.com/bpfrun/bpfrun/loader"
)

// Config says how to look. The zero value asks all releases.
type Config struct {
	// Options are those of every load; all programs are loaded, the optional ones too.
	Options loader.LoadOptions
	// Also is asked about although its rules may be unknown, 0 for none.
	Also uapi.Release
	// Only are the programs to look at; all if it is empty.
	Only []string
	// Unchecked believes the bisection: releases that it skips are not asked.
	Unchecked bool
	// Progress, if not nil, is called after each program, by several goroutines at the same time.
	Progress func()
}

// Result is what the programs of an object need.
type Result struct {
	Object   string
	Columns  []Column // oldest first
	Programs []Program
}

// Program is what a program needs.
type Program struct {
	Name, Section string
	Type          uapi.ProgType
	// Optional programs are loaded only if the tool asks for them (SEC("?...")).
	Optional bool
	// Answers has one for each of Result.Columns.
	Answers []Answer
	// Oldest is the column of the oldest release that loads it, -1 if none does. From is the first
	// one from which on every release does.
	Oldest, From int
	// Held is what keeps the nearest release before Oldest from loading it, nil if none is older.
	Held *Hold
	// HeldAt is the column of Held, -1 if there is none.
	HeldAt int
	// Next is how much older the oldest release would be without Held, nil if that cannot be told.
	Next *Next
}

// Next is what a program needs apart from what holds it back.
type Next struct {
	Oldest int // column
	// ByRules means that no types of that release are at hand.
	ByRules bool
	Held    *Hold
}

// ErrNoKernels means that no kernel's types were given; without any nothing can be linked.
var ErrNoKernels = errors.New("no types of any kernel are at hand")

// Usable reports whether a kernel's types can say what an object needs: its release is known, and
// its BTF lists what the kernel has.
func Usable(obj *loader.Object, t *loader.Target) bool {
	return t.BTF != nil && t.Version != 0 && t.BTF.ByteOrder() == obj.ByteOrder && !t.Reduced()
}

// Find asks which releases load the programs of an object. Kernels that are not [Usable] are left
// out. The error is [ErrNoKernels], that of ctx, or a [loader.Error] about the options.
func Find(ctx context.Context, obj *loader.Object, kernels []*loader.Target, cfg Config) (*Result, error) {
	kernels = slices.DeleteFunc(slices.Clone(kernels), func(t *loader.Target) bool {
		return !Usable(obj, t)
	})
	if len(kernels) == 0 {
		return nil, ErrNoKernels
	}
	res := &Result{Object: obj.Name, Columns: columns(obj, kernels, cfg.Also)}
	all := newTargets(obj, cfg.Options)
	var numbers []int
	for n, p := range obj.Programs {
		if !cfg.Options.NoLoad[p.Name] && (len(cfg.Only) == 0 || slices.Contains(cfg.Only, p.Name)) {
			numbers = append(numbers, n)
		}
	}
	res.Programs = make([]Program, len(numbers))
	return res, inParallel(len(numbers), func(i int) error {
		n := numbers[i]
		p := obj.Programs[n]
		s := &search{targets: all, ctx: ctx, n: n, columns: res.Columns, answers: make([]Answer, len(res.Columns))}
		found, err := s.find(cfg.Unchecked)
		if err != nil {
			return err
		}
		found.Name, found.Section, found.Type, found.Optional = p.Name, p.Section, p.Type, !p.Autoload
		res.Programs[i] = *found
		if cfg.Progress != nil {
			cfg.Progress()
		}
		return nil
	})
}

// inParallel does n things on all processors, and returns the first error.
func inParallel(n int, do func(i int) error) error {
	var next atomic.Int64
	var wait sync.WaitGroup
	errs := make([]error, n)
	for range min(n, runtime.GOMAXPROCS(0)) {
		wait.Go(func() {
			for i := int(next.Add(1)) - 1; i < n; i = int(next.Add(1)) - 1 {
				errs[i] = do(i)
			}
		})
	}
	wait.Wait()
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// search looks for the oldest release of one program.
type search struct {
	*targets
	ctx     context.Context
	n       int
	columns []Column
	answers []Answer
}

func (s *search) find(unchecked bool) (*Program, error) {
	last := len(s.columns) - 1
	newest, err := s.newest()
	if err != nil {
		return nil, err
	}
	if newest >= 0 {
		if _, err := s.bisect(newest, s.at); err != nil {
			return nil, err
		}
	}
	for i := range s.columns {
		if unchecked {
			break // the others are taken to be as their neighbours are
		}
		if _, err := s.at(i); err != nil {
			return nil, err
		}
	}
	p := &Program{Answers: s.answers, Oldest: -1, From: -1, HeldAt: -1}
	for i := last; i >= 0; i-- {
		if s.answers[i].Outcome == Loads {
			p.Oldest = i
		}
	}
	for i := last; i >= 0 && (s.answers[i].Outcome == Loads || s.answers[i].Outcome == NotAsked && i > p.Oldest); i-- {
		p.From = i
	}
	return p, s.explain(p)
}

// newest returns the newest release that loads the program, if it is the last one or one of those
// with types; else -1.
func (s *search) newest() (int, error) {
	for i := len(s.columns) - 1; i >= 0; i-- {
		if i < len(s.columns)-1 && len(s.columns[i].Kernels) == 0 {
			continue
		}
		a, err := s.at(i)
		if err != nil {
			return 0, err
		}
		if a.Outcome == Loads {
			return i, nil
		}
	}
	return -1, nil
}

// at asks a release, once.
func (s *search) at(i int) (*Answer, error) {
	a := &s.answers[i]
	if a.Outcome != NotAsked {
		return a, nil
	}
	got, err := s.column(i, &waiver{})
	if err != nil {
		return nil, err
	}
	*a = *got
	return a, nil
}

// bisect returns the oldest release that loads the program if all that follow one that does load
// it, too. hi is one that does.
func (s *search) bisect(hi int, at func(int) (*Answer, error)) (int, error) {
	for lo := -1; hi-lo > 1; {
		mid := (lo + hi) / 2
		a, err := at(mid)
		if err != nil {
			return 0, err
		}
		if a.Outcome == Loads {
			hi = mid
		} else {
			lo = mid
		}
	}
	return hi, nil
}

// column asks a release with all types of it that are at hand: the worst answer counts.
func (s *search) column(i int, w *waiver) (*Answer, error) {
	c := &s.columns[i]
	if len(c.Kernels) == 0 {
		return s.byRules(c, w)
	}
	var worst *Answer
	var types []string
	for _, t := range c.Kernels {
		a, err := s.ask(s.ctx, t, s.n, w)
		if err != nil {
			return nil, err
		}
		types = append(types, t.Name)
		// A kernel of another architecture than the program's says nothing, if there is one that
		// does.
		if worst == nil || worst.Outcome == Unknown || a.Outcome == Refused {
			worst = a
		}
	}
	if worst.Outcome == Loads {
		worst.Types = types
	}
	return worst, nil
}

// lastPatch stands for the newest update of a release.
const lastPatch = 255

// byRules asks a release without types of its own: its first version, and if that does not load the
// program, its updates.
func (s *search) byRules(c *Column, w *waiver) (*Answer, error) {
	at := func(patch int) (*Answer, error) {
		return s.between(s.ctx, c.older, c.newer, uint32(c.Release)<<8|uint32(patch), s.n, w)
	}
	first, err := at(0)
	if err != nil || first.Outcome != Refused || len(since.Updates(c.Release)) == 0 {
		return first, err
	}
	latest, err := at(lastPatch)
	if err != nil || latest.Outcome != Loads {
		return first, err
	}
	return s.firstUpdate(c.Release, latest, at)
}

// firstUpdate finds the update of a release from which on it loads the program.
func (s *search) firstUpdate(r uapi.Release, latest *Answer, at func(int) (*Answer, error)) (*Answer, error) {
	for _, patch := range since.Updates(r) {
		a, err := at(patch)
		if err != nil {
			return nil, err
		}
		if a.Outcome == Loads {
			a.Patch = patch
			return a, nil
		}
	}
	return latest, nil
}

// explain finds what holds the program back, and what would next.
func (s *search) explain(p *Program) error {
	if err := s.sinceUpdate(p); err != nil {
		return err
	}
	end := p.Oldest - 1
	if p.Oldest < 0 {
		end = len(s.columns) - 1 // nothing loads it: the newest release says why
	}
	for i := end; i >= 0; i-- {
		if a := &s.answers[i]; a.Outcome == Refused {
			p.HeldAt, p.Held = i, a.Hold
			break
		}
	}
	if p.Held == nil || p.Oldest < 0 {
		return nil
	}
	bad, good := &s.answers[p.HeldAt], &s.answers[p.Oldest]
	if err := s.blame(bad, good); err != nil {
		return err
	}
	// With the same types, what is not one of the verifier's rules is a row of a table: the release
	// that it is of is the difference.
	if p.Held.Kind == Refusal && p.HeldAt == p.Oldest-1 && bad.ByRules && good.ByRules && slices.Equal(bad.Types, good.Types) {
		p.Held.Since = s.columns[p.Oldest].Release
	}
	return s.next(p)
}

// sinceUpdate asks the oldest release that loads the program whether its first version does, by the
// rules of its updates.
func (s *search) sinceUpdate(p *Program) error {
	if p.Oldest < 0 || len(s.columns[p.Oldest].Kernels) == 0 {
		return nil
	}
	a, c := &s.answers[p.Oldest], &s.columns[p.Oldest]
	if len(since.Updates(c.Release)) == 0 {
		return nil
	}
	at := func(patch int) (*Answer, error) {
		return s.ask(s.ctx, s.as(a.target, uint32(c.Release)<<8|uint32(patch)), s.n, &waiver{})
	}
	first, err := at(0)
	if err != nil || first.Outcome != Refused {
		return err
	}
	with, err := s.firstUpdate(c.Release, a, at)
	if err == nil {
		a.Patch = with.Patch
	}
	return err
}

// maxTogether limits how many functions count as one thing that holds a program back.
const maxTogether = 8

// next finds the oldest release without what holds the program back. Functions that came with one
// release, such as those of an iterator, are one thing: who tests for one tests for all.
func (s *search) next(p *Program) error {
	w := &waiver{like: since.Of(s.answers[p.Oldest].target.Version)}
	held, ok := p.Held, true
	for range maxTogether {
		if w, ok = w.with(held); !ok {
			return nil
		}
		n, err := s.without(p.Oldest, w)
		if err != nil {
			return err
		}
		if p.Next = n; n.Held == nil || n.Oldest != p.Oldest || !n.Held.Guardable() || n.Held.Since != p.Held.Since {
			return nil
		}
		held = n.Held
	}
	return nil
}

// without finds the oldest release, at most one that loads the program, with a waiver.
func (s *search) without(loads int, w *waiver) (*Next, error) {
	answers := map[int]*Answer{loads: &s.answers[loads]}
	at := func(i int) (*Answer, error) {
		if answers[i] == nil {
			a, err := s.column(i, w)
			if err != nil {
				return nil, err
			}
			answers[i] = a
		}
		return answers[i], nil
	}
	oldest, err := s.bisect(loads, at)
	if err != nil {
		return nil, err
	}
	n := &Next{Oldest: oldest, ByRules: answers[oldest].ByRules}
	if oldest == 0 {
		return n, nil
	}
	a, err := at(oldest - 1)
	if err != nil || a.Hold == nil {
		return n, err
	}
	if err := s.blameWith(a, answers[oldest], w); err != nil {
		return nil, err
	}
	n.Held = a.Hold
	return n, nil
}
