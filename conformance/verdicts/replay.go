package verdicts

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/bpfrun/bpfrun/internal/verifier"
	"github.com/bpfrun/bpfrun/loader"
)

// Config configures Replay.
type Config struct {
	// Objects is the directory to which the paths of a recording are relative.
	Objects string
	// Target describes the kernel of a release.
	Target func(release string) (*loader.Target, error)
	// Open reads an object.
	Open func(path string) (*loader.Object, error)
	// Alter, if not nil, changes a copy of the kernel before it verifies a program: to measure what
	// a rule decides.
	Alter func(*verifier.Kernel)
	// Match, if not nil, selects lines.
	Match func(*Line) bool
	// Limit is the time limit of one verification; 0 means no limit.
	Limit time.Duration
	// Repeat, if not 0, is the number of times that programs with a recorded time are verified, to
	// measure Comparison.CPU.
	Repeat int
	// Each is called with every comparison.
	Each func(*Comparison) error
}

// Kind is the result of comparing a verdict with the kernel's.
type Kind uint8

// The results of a comparison.
const (
	Agree        Kind = iota
	FalseAccept       // accepted here, refused by the kernel
	FalseRefusal      // refused here, accepted by the kernel
	CannotSay         // unknown here
	NotJudged         // the kernel's verifier did not judge it
	Failed            // the program could not be prepared or verified here
)

var kindNames = [...]string{"agree", "false-accept", "false-refusal", "cannot-say", "not-judged", "failed"}

// String returns the name used in reports.
func (k Kind) String() string { return kindNames[k] }

// Comparison is the result for one program.
type Comparison struct {
	Line *Line
	Kind Kind
	// Ours is nil if Err is not.
	Ours *verifier.Verdict
	Err  error
	// Class and OurClass are the classes of the refusals' messages. SameText means that the
	// messages differ at most in numbers.
	Class, OurClass string
	SameText        bool
	Took            time.Duration
	// CPU is the shortest CPU time of a verification, including garbage collection; 0 if it was not
	// requested.
	CPU time.Duration
}

// SameClass reports whether both refusals have the same class of reason.
func (c *Comparison) SameClass() bool { return c.SameText || c.Class == c.OurClass }

// Replayer verifies the programs of lines and compares the verdicts. It caches what lines share.
type Replayer struct {
	cfg     Config
	targets map[string]*loader.Target
	kernels map[string]*verifier.Kernel
	path    string
	object  *loader.Object
	linked  map[string]*loader.Linked // by release
}

// NewReplayer returns a Replayer.
func NewReplayer(cfg Config) *Replayer {
	return &Replayer{cfg: cfg, targets: map[string]*loader.Target{}, kernels: map[string]*verifier.Kernel{}}
}

// Replay verifies the programs of a recording and compares the verdicts.
func Replay(ctx context.Context, path string, cfg Config) error {
	r := NewReplayer(cfg)
	return ReadFile(path, func(l *Line) error {
		if err := ctx.Err(); err != nil {
			return err
		}
		if cfg.Match != nil && !cfg.Match(l) {
			return nil
		}
		return cfg.Each(r.Compare(ctx, l))
	})
}

// Compare verifies one program.
func (r *Replayer) Compare(ctx context.Context, l *Line) *Comparison {
	c := &Comparison{Line: l, Kind: NotJudged}
	if l.Class != ByVerifier {
		return c
	}
	k, p, err := r.Program(l)
	if err != nil {
		c.Kind, c.Err = Failed, err
		return c
	}
	limited, cancel := ctx, func() {}
	if r.cfg.Limit > 0 {
		limited, cancel = context.WithTimeout(ctx, r.cfg.Limit)
	}
	start := time.Now()
	c.Ours, c.Err = verify(limited, k, p)
	c.Took = time.Since(start)
	for i := 0; i < r.cfg.Repeat && c.Err == nil && l.Usec != nil; i++ {
		before := cpuTime()
		_, c.Err = verify(limited, k, p)
		if took := cpuTime() - before; i == 0 || took < c.CPU {
			c.CPU = took
		}
	}
	cancel()
	if c.Err != nil {
		c.Kind = Failed
		return c
	}
	c.judge()
	return c
}

// verify turns a panic into an error, so that one program cannot abort a comparison of thousands.
func verify(ctx context.Context, k *verifier.Kernel, p *verifier.Program) (v *verifier.Verdict, err error) {
	defer func() {
		if e := recover(); e != nil {
			v, err = nil, fmt.Errorf("panic: %v%s", e, panicPlace())
		}
	}()
	return verifier.Verify(ctx, k, p, verifier.Options{})
}

func (c *Comparison) judge() {
	accepted := c.Line.Verdict == Accepted
	switch {
	case c.Ours.Outcome == verifier.Unknown:
		c.Kind = CannotSay
	case c.Ours.Outcome == verifier.Accepted && !accepted:
		c.Kind = FalseAccept
	case c.Ours.Outcome == verifier.Refused && accepted:
		c.Kind = FalseRefusal
	default:
		c.Kind = Agree
	}
	if !accepted {
		c.Class = ClassOf(c.Line.Reason)
	}
	if c.Ours.Outcome == verifier.Refused {
		c.OurClass = ClassOf(c.Ours.Message)
		c.SameText = !accepted && Shape(c.Line.Reason) == Shape(c.Ours.Message)
	}
}

func (r *Replayer) target(release string) (*loader.Target, *verifier.Kernel, error) {
	if t := r.targets[release]; t != nil {
		return t, r.kernels[release], nil
	}
	t, err := r.cfg.Target(release)
	if err != nil {
		return nil, nil, err
	}
	r.targets[release], r.kernels[release] = t, verifier.KernelOf(t)
	return t, r.kernels[release], nil
}

// errChanged means that the object differs from the recorded one.
var errChanged = errors.New("the object has changed since it was recorded")

// Program returns a line's program, and the kernel that verifies it.
func (r *Replayer) Program(l *Line) (*verifier.Kernel, *verifier.Program, error) {
	t, k, err := r.target(l.Kernel)
	if err != nil {
		return nil, nil, err
	}
	if l.CPUs != 0 || r.cfg.Alter != nil {
		with := *k
		if l.CPUs != 0 {
			with.CPUs = l.CPUs
		}
		if r.cfg.Alter != nil {
			r.cfg.Alter(&with)
		}
		k = &with
	}
	if l.Generated != nil {
		p, err := l.Generated.verifierProgram(l)
		return k, p, err
	}
	linked, err := r.link(l, t)
	if err != nil {
		return nil, nil, err
	}
	lp, ok := linked.Program(l.Program)
	if !ok {
		return nil, nil, fmt.Errorf("no program %q in %s", l.Program, l.Object)
	}
	p, err := verifier.FromLinked(linked, lp)
	if err == nil {
		p.Insns, err = Apply(p.Insns, l.Patches)
	}
	return k, p, err
}

// Linked returns the line's object with all its programs, linked for the recorded kernel.
func (r *Replayer) Linked(l *Line) (*loader.Linked, error) {
	t, _, err := r.target(l.Kernel)
	if err != nil {
		return nil, err
	}
	return r.link(l, t)
}

func (r *Replayer) link(l *Line, t *loader.Target) (*loader.Linked, error) {
	if err := r.openObject(l); err != nil {
		return nil, err
	}
	if linked := r.linked[l.Kernel]; linked != nil {
		return linked, nil
	}
	var only []string
	for _, p := range r.object.Programs {
		only = append(only, p.Name)
	}
	linked, err := r.object.Load(t, loader.LoadOptions{Only: only, MapSizes: Unsized(r.object)})
	if err == nil {
		r.linked[l.Kernel] = linked
	}
	return linked, err
}

func (r *Replayer) openObject(l *Line) error {
	if r.path == l.Object && r.object != nil {
		return nil
	}
	path := filepath.Join(r.cfg.Objects, filepath.FromSlash(l.Object))
	if l.SHA256 != "" {
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		if sum := sha256.Sum256(data); !strings.EqualFold(hex.EncodeToString(sum[:]), l.SHA256) {
			return fmt.Errorf("%s: %w", path, errChanged)
		}
	}
	obj, err := r.cfg.Open(path)
	if err != nil {
		return err
	}
	r.path, r.object, r.linked = l.Object, obj, map[string]*loader.Linked{}
	return nil
}
