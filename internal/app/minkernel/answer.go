package minkernel

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/bpfrun/bpfrun/btf"
	"github.com/bpfrun/bpfrun/helpers/proto"
	"github.com/bpfrun/bpfrun/internal/progtype"
	"github.com/bpfrun/bpfrun/internal/uapi"
	"github.com/bpfrun/bpfrun/internal/uapi/since"
	"github.com/bpfrun/bpfrun/internal/verifier"
	"github.com/bpfrun/bpfrun/loader"
)

// Outcome is what a release does with a program.
type Outcome uint8

// Outcomes.
const (
	NotAsked Outcome = iota
	Loads
	Refused
	Unknown // the types of the release decide, and they are not at hand, or a rule is missing
)

// String returns the outcome as in JSON and reports.
func (o Outcome) String() string {
	return [...]string{"not asked", "loads", "refused", "unknown"}[o]
}

// Answer is what a release does with a program.
type Answer struct {
	Outcome Outcome
	// ByRules means that no types of the release are at hand: Types are of others.
	ByRules bool
	// Types names the kernels whose types were used.
	Types []string
	// Patch is the first update of the release that loads the program, 0 if its first version does
	// or no earlier update was asked about.
	Patch int
	// Hold is why it does not load.
	Hold *Hold
	// Why there is no answer.
	Why string

	target *loader.Target // the one that refused, or that loads
}

// targets makes and links the kernels that are asked, each once. It is safe for concurrent use.
type targets struct {
	mu    sync.Mutex
	obj   *loader.Object
	opts  loader.LoadOptions
	lent  map[lentKey]*loader.Target
	links map[*loader.Target]*link
}

func newTargets(obj *loader.Object, opts loader.LoadOptions) *targets {
	return &targets{obj: obj, opts: opts, lent: map[lentKey]*loader.Target{}, links: map[*loader.Target]*link{}}
}

type lentKey struct {
	of      *loader.Target
	version uint32
}

// link is the object on a kernel, and its programs alone where the object as a whole is refused.
type link struct {
	linked  *loader.Linked
	checker *verifier.Checker
	err     error
	alone   map[int]*link
}

// as returns a kernel that lends its types to a version.
func (s *targets) as(t *loader.Target, version uint32) *loader.Target {
	s.mu.Lock()
	defer s.mu.Unlock()
	key := lentKey{t, version}
	if s.lent[key] == nil {
		s.lent[key] = t.As(version)
	}
	return s.lent[key]
}

func (s *targets) load(t *loader.Target, only ...string) *link {
	opts := s.opts
	opts.Optional, opts.NoHints = true, true
	if len(only) > 0 {
		opts.Only = only
	}
	l := &link{alone: map[int]*link{}}
	if l.linked, l.err = s.obj.Load(t, opts); l.err == nil {
		l.checker = verifier.NewChecker(l.linked, verifier.Options{})
	}
	return l
}

// program links program n for a kernel. What refuses another program of the object does not refuse
// it.
func (s *targets) program(t *loader.Target, n int) (*link, *loader.LinkedProgram) {
	s.mu.Lock()
	defer s.mu.Unlock()
	l := s.links[t]
	if l == nil {
		l = s.load(t)
		s.links[t] = l
	}
	if l.err != nil {
		return l, nil
	}
	lp := l.linked.Programs[n]
	if l.linked.Err == nil || lp.Status != loader.StatusRefused || len(l.linked.Programs) == 1 {
		return l, lp
	}
	if l.alone[n] == nil {
		l.alone[n] = s.load(t, lp.Name)
	}
	if a := l.alone[n]; a.err == nil {
		return a, a.linked.Programs[n]
	}
	return l, lp
}

// ask asks one kernel. The error is that of ctx, or what no kernel takes.
func (s *targets) ask(ctx context.Context, t *loader.Target, n int, w *waiver) (*Answer, error) {
	a := &Answer{ByRules: t.Lent, Types: []string{t.Name}, target: t}
	l, lp := s.program(t, n)
	switch {
	case errors.Is(l.err, loader.ErrByteOrder):
		a.Outcome, a.Why = Unknown, "the object and the kernel differ in byte order"
		return a, nil
	case l.err != nil:
		return nil, l.err
	case lp.Status == loader.StatusRefused && errors.Is(lp.Err, loader.ErrArch):
		a.Outcome, a.Why = Unknown, plain(lp.Err)
		return a, nil
	}
	if h := early(l.linked, lp, w); h != nil && !w.waives(h) {
		return a.refuse(h), nil
	}
	if !l.checker.Knows() {
		a.Outcome, a.Why = Unknown, l.checker.WhyNot()
		return a, nil
	}
	p, err := l.checker.Program(ctx, lp)
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case err != nil:
		a.Outcome, a.Why = Unknown, err.Error()
		return a, nil
	}
	w.apply(p, lp)
	v, err := verify(ctx, l.checker.Kernel(), p, w.of(l.checker.Kernel()))
	switch {
	case err != nil:
		return nil, err
	case v.Outcome == verifier.Accepted:
		a.Outcome = Loads
		return a, nil
	case v.Outcome == verifier.Unknown:
		a.Outcome, a.Why = Unknown, v.Missing
		return a, nil
	}
	return a.refuse(refusedBy(l.linked, lp, p, v)), nil
}

func (a *Answer) refuse(h *Hold) *Answer {
	a.Outcome, a.Hold = Refused, h
	if h.doubt != "" {
		a.Outcome, a.Why = Unknown, h.doubt
	}
	return a
}

// verify is the verdict of a kernel with some rules.
func verify(ctx context.Context, k *verifier.Kernel, p *verifier.Program, rules *since.Set) (*verifier.Verdict, error) {
	own := *k
	own.Rules = rules
	v, err := verifier.Verify(ctx, &own, p, verifier.Options{})
	if errors.Is(err, verifier.ErrProgram) {
		return &verifier.Verdict{Insn: -1, Missing: err.Error()}, nil
	}
	return v, err
}

// maxMisled limits how often a lender's types are corrected for one answer.
const maxMisled = 8

// between asks a version without types of its own by those of the kernels before and after it,
// either of which may be nil.
func (s *targets) between(ctx context.Context, older, newer *loader.Target, version uint32, n int, w *waiver) (*Answer, error) {
	ask := func(t *loader.Target, w *waiver) (*Answer, error) {
		if t == nil {
			return nil, nil
		}
		return s.ask(ctx, s.as(t, version), n, w)
	}
	if older != nil && newer != nil && !s.typed(s.as(newer, version), n, true) {
		older = nil
	}
	a, err := ask(older, w)
	if err != nil {
		return nil, err
	}
	b, err := ask(newer, w)
	if err != nil {
		return nil, err
	}
	// The older kernel's types lack a function that the rows say the release has: ask them about
	// the rest.
	for i, own := 0, w; i < maxMisled && a != nil && a.Outcome == Refused && a.Hold.Kind == Kfunc && a.Hold.types && inRows(a.Hold, version); i++ {
		own, _ = own.with(a.Hold)
		if a, err = ask(older, own); err != nil {
			return nil, err
		}
	}
	// The newer kernel's types have a helper or kfunc that the release lacks, and with the older
	// ones the program does without: its test for it fails.
	for i, own := 0, w; i < maxMisled && a != nil && b != nil && a.Outcome == Loads && b.Outcome == Refused && (b.Hold.Kind == Helper || b.Hold.Kind == Kfunc) && !inRows(b.Hold, version); i++ {
		var ok bool
		if own, ok = own.with(b.Hold); !ok {
			break
		}
		if b, err = ask(newer, own); err != nil {
			return nil, err
		}
	}
	switch {
	case a == nil && b == nil:
		return &Answer{Outcome: Unknown, ByRules: true, Why: "no types are at hand"}, nil
	case b == nil:
		return s.one(a, n), nil
	case a == nil:
		return s.one(b, n), nil
	}
	return both(a, b), nil
}

// typed reports whether the types of the kernel can matter to a program: it has relocations or
// symbols for them, or its hook is looked up in them. kfuncs says whether those count of which rows
// know the release.
func (s *targets) typed(t *loader.Target, n int, kfuncs bool) bool {
	l, lp := s.program(t, n)
	if l.err != nil || len(lp.Relocs) > 0 {
		return true
	}
	switch row := progtype.Of(lp.Type); row.TargetOf(lp.Attach) {
	case progtype.Function, progtype.LSMHook, progtype.Iterator, progtype.OpsMember:
		return true
	case progtype.RawEvent:
		if row.Target != progtype.RawEvent { // a raw tracepoint is looked up when the program is attached
			return true
		}
	case progtype.NoTarget, progtype.Probe, progtype.Functions, progtype.Tracepoint, progtype.OtherProgram:
	}
	for _, r := range lp.Refs {
		switch r.Kind {
		case loader.RefKsym, loader.RefKsymBTF:
			return true
		case loader.RefKfunc:
			if _, ok := proto.LookupKfunc(btf.EssentialName(r.Name)); kfuncs || !ok {
				return true
			}
		case loader.RefNone, loader.RefMap, loader.RefMapValue, loader.RefFunc, loader.RefInsnArray:
		}
	}
	return false
}

// inRows reports whether the version has the helper or kfunc of a hold.
func inRows(h *Hold, version uint32) bool {
	release := uapi.ReleaseOf(version)
	if h.Kind == Helper {
		row, ok := proto.Lookup(h.helper)
		return ok && row.In(release)
	}
	row, ok := proto.LookupKfunc(h.Name)
	return ok && row.In(release)
}

// both combines what the types of the kernels before and after a release say about it.
func both(a, b *Answer) *Answer {
	out := *b
	out.Types = append(append([]string{}, a.Types...), b.Types...)
	switch {
	case a.Outcome == Refused && b.Outcome == Refused && a.Hold.ofTypes() && b.Hold.ofTypes() && !a.Hold.same(b.Hold):
		out.Outcome = Unknown
		out.Why = fmt.Sprintf("types decide: those of %s refuse it for another reason than those of %s: %s; %s", a.Types[0], b.Types[0], a.Hold.Text(), b.Hold.Text())
	case a.Outcome == b.Outcome:
	case a.Outcome == Unknown || b.Outcome == Unknown:
		if a.Outcome == Unknown {
			out.Why = a.Why
		}
		out.Outcome = Unknown
	default:
		refused, loads := a, b
		if b.Outcome == Refused {
			refused, loads = b, a
		}
		out.Outcome, out.Hold = Unknown, refused.Hold
		out.Why = fmt.Sprintf("types decide: with those of %s it loads, with those of %s it does not: %s", loads.Types[0], refused.Types[0], refused.Hold.Text())
	}
	return &out
}

// ofTypes reports whether it may depend on types: no row of the release explains it.
func (h *Hold) ofTypes() bool { return h.types || h.Kind == Refusal }

// one is the answer if only the types of one other kernel are at hand. They say nothing about a
// release that may lack what they have, or have what they lack.
func (s *targets) one(a *Answer, n int) *Answer {
	why := ""
	switch {
	case a.Outcome == Refused && a.Hold.types:
		why = fmt.Sprintf("types decide, and only those of %s are at hand: %s", a.Types[0], a.Hold.Text())
	case a.Outcome == Loads && s.typed(a.target, n, false):
		why = fmt.Sprintf("the rules allow it, but it needs types, and only those of %s are at hand", a.Types[0])
	default:
		return a
	}
	out := *a
	out.Outcome, out.Why = Unknown, why
	return &out
}

// Text names what is missing in a few words: "helper bpf_loop", "verifier: invalid read from
// stack".
func (h *Hold) Text() string {
	switch h.Kind {
	case Refusal, Rule, Instruction, Object:
		return fmt.Sprintf("%s: %s", h.Kind, h.Name)
	}
	return fmt.Sprintf("%s %s", h.Kind, h.Name)
}
