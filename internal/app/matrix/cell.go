package matrix

import (
	"errors"
	"fmt"
	"hash/fnv"
	"slices"
	"strings"
	"time"

	"github.com/bpfrun/bpfrun/internal/machine"
	"github.com/bpfrun/bpfrun/internal/offsets"
	"github.com/bpfrun/bpfrun/internal/subsys"
	"github.com/bpfrun/bpfrun/internal/verifier"
	"github.com/bpfrun/bpfrun/loader"
	"github.com/bpfrun/bpfrun/vm"
)

// Load reports whether the program would load on the kernel.
type Load string

// Values of [Load].
const (
	LoadOK    Load = "ok"
	LoadError Load = "error" // libbpf or the kernel would refuse the object or program
	// LoadRefused: the kernel's verifier refuses the program.
	LoadRefused Load = "refused"
	// LoadUnknown: the kernel's BTF does not list the hook, but the kernel may still have it. The
	// program ran with untyped arguments.
	LoadUnknown Load = "unknown-hook"
	LoadAbsent  Load = "absent" // the kernel lacks the hook, or a helper, map type, program type or kfunc that the program needs
)

// Outcome describes what running the program did.
type Outcome string

// Values of [Outcome].
const (
	RunOK           Outcome = "ok"
	RunDiffers      Outcome = "differs"       // the result differs from that on the reference kernel
	RunFault        Outcome = "fault"         // the program did what the kernel forbids
	RunNotSimulated Outcome = "not-simulated" // the program used something that is not simulated
	RunNone         Outcome = "n/a"           // the program was not run
)

// Relocations counts a program's CO-RE relocations. OK counts those that were resolved, Changed
// those of them whose value differs from the object's.
type Relocations struct {
	OK, Changed                                int
	PoisonedDead, PoisonedMay, PoisonedReached int
	Errors                                     int
}

// Cell is the result of one program on one kernel.
type Cell struct {
	Relocations Relocations
	// Baked counts the accesses at fixed offsets of kernel types, without a relocation, that the
	// run made. Found counts those in the program, which package offsets finds without running it.
	Baked, Found int

	Load   Load
	Result Outcome
	// Detail explains why the cell is not ok, in one or more lines. It is empty when there is
	// nothing to add.
	Detail string
	// Mismatch means that the object and the kernel differ in byte order. Such a cell is not a
	// failure.
	Mismatch bool
	// Refused means that libbpf or the kernel would refuse to load the program. It is also set
	// where Load is absent because the kernel lacks a helper, map type or kfunc.
	Refused bool
	// Disabled means that loading the program is disabled by its section name or by an option.
	Disabled bool

	// Verdict is the verdict of the kernel's verifier. It is nil when the program does not reach
	// the verifier, or when the verifier was not run.
	Verdict *verifier.Verdict

	// Follows means that the program's behaviour differs only because another program of the object
	// ran on just one of the two kernels. Detail names that program.
	Follows bool

	differs string // the part of Detail that lists the differences
}

// draft is a cell while its program is examined.
type draft struct {
	Cell
	fixed  []offsets.Access
	reads  map[int]bool // instructions that the run found to read at fixed offsets
	poison []*poisonNote
}

// Word returns the cell as one word, worst first: BREAK, error, refused, fault, not-simulated,
// absent, unknown-hook, differs, may-break, off, n/a, dead, changed, ok.
func (c *Cell) Word() string {
	r := &c.Relocations
	switch {
	case c.Mismatch:
		return "n/a"
	case c.Disabled:
		return "off"
	case r.PoisonedReached > 0:
		return "BREAK"
	case c.Load == LoadError:
		return "error"
	case c.Load == LoadRefused:
		return "refused"
	case c.Result == RunFault, c.Result == RunNotSimulated:
		return string(c.Result)
	case c.Load == LoadAbsent:
		return "absent"
	case c.Load == LoadUnknown:
		return string(LoadUnknown)
	case c.Result == RunDiffers:
		return "differs"
	case r.PoisonedMay > 0:
		return "may-break"
	case c.Result == RunNone:
		return "n/a"
	case r.PoisonedDead > 0:
		return "dead"
	case r.Changed > 0:
		return "changed"
	}
	return "ok"
}

func (c *Cell) explain(format string, args ...any) {
	if c.Detail != "" {
		c.Detail += "\n"
	}
	c.Detail += fmt.Sprintf(format, args...)
}

// result is one object on one kernel: a cell and an outcome for each program. The outcome is nil if
// the program did not run.
type result struct {
	cells    []*Cell
	outcomes []*outcome
}

// runObject loads and runs an object on a target, for the first time if again is nil.
func (r *runner) runObject(o *loader.Object, t *target, again *rerun) *result {
	drafts, res := make([]draft, len(o.Programs)), &result{make([]*Cell, len(o.Programs)), make([]*outcome, len(o.Programs))}
	defer func() {
		for i := range drafts {
			c := drafts[i].Cell // without the rest of the draft
			res.cells[i] = &c
		}
	}()
	all := func(f func(c *draft)) *result {
		for i := range drafts {
			drafts[i].Result = RunNone
			f(&drafts[i])
		}
		return res
	}
	if t.err != nil {
		return all(func(c *draft) { c.Load, c.Detail = LoadError, t.err.Error() })
	}
	opts := r.cfg.Options
	opts.NoHints = opts.NoHints || again != nil
	linked, err := o.Load(t.t, opts)
	if err != nil {
		return all(func(c *draft) {
			c.Load, c.Detail, c.Mismatch = LoadError, shorten(err), errors.Is(err, loader.ErrByteOrder)
		})
	}
	var fixed []offsets.Access
	if again == nil {
		again = &rerun{verdicts: r.verdicts(linked)}
		fixed = offsets.Find(linked)
	}
	for i, lp := range linked.Programs {
		drafts[i].setKnown(linked, lp, again.verdicts[i])
		drafts[i].found(lp, fixed)
	}
	cfg := r.cfg.Machine
	cfg.Types, cfg.Uncovered = t.types, true
	cfg.Verify = func(lp *loader.LinkedProgram) loader.Verified {
		return again.verdicts[slices.Index(linked.Programs, lp)].Of(lp)
	}
	// The clock advances only between programs, so that the number of helper calls before a program
	// reads the time makes no difference.
	cfg.Clock.Frozen = true
	cfg.Simulates = subsys.AllKeys()
	m, err := machine.New(linked, cfg)
	if err != nil {
		return all(func(c *draft) {
			if (c.Load == LoadOK || c.Load == LoadUnknown) && !c.Disabled {
				c.Load = LoadError
				c.explain("%v", err)
			}
			c.finish()
		})
	}
	defer m.Close()
	simulated := r.simulations(m)
	left := len(again.wanted)
	// Optional programs run last, so that they do not affect the others.
	for _, optional := range []bool{false, true} {
		for i, lp := range linked.Programs {
			if lp.Autoload == optional || slices.Contains(again.without, i) || r.ctx.Err() != nil {
				continue
			}
			if s, ok := simulated[lp.Name]; ok && (drafts[i].Load == LoadOK || drafts[i].Load == LoadUnknown) && !drafts[i].Disabled {
				res.outcomes[i] = drafts[i].runSimulated(m, lp, s)
			} else {
				res.outcomes[i] = r.runProgram(m, i, lp, &drafts[i])
			}
			drafts[i].finish()
			if slices.Contains(again.wanted, i) {
				if left--; left == 0 {
					return res
				}
			}
		}
	}
	return res
}

// setKnown sets what is known before the run.
func (c *draft) setKnown(l *loader.Linked, lp *loader.LinkedProgram, v *verifier.Verdict) {
	c.Load, c.Result = LoadOK, RunNone
	c.Relocations.OK = len(lp.Relocs)
	for i := range lp.Relocs {
		switch r := &lp.Relocs[i]; {
		case r.Err != nil:
			c.Relocations.Errors++
			c.Relocations.OK--
		case r.Poisoned():
			c.Relocations.OK--
		case r.Changed():
			c.Relocations.Changed++
		}
	}
	switch lp.Status {
	case loader.StatusDisabled:
		c.Disabled = true
		c.explain("not loaded: disabled by its section name or by an option")
		return
	case loader.StatusAbsent:
		c.Load = LoadAbsent
	case loader.StatusUnknownHook:
		c.Load = LoadUnknown
	}
	switch {
	case lp.Status == loader.StatusRefused:
		c.refused(lp.Err)
	case lp.Err != nil:
		c.explain("%s", shorten(lp.Err))
	}
	c.verified(lp, v)
	c.countPoison(l, lp)
}

// lacks reports whether err means that the kernel does not have something.
func lacks(err error) bool {
	return errors.Is(err, loader.ErrUnknownToTarget) || errors.Is(err, loader.ErrNoHook) || errors.Is(err, loader.ErrExtern)
}

// poisonNote is a missing field with the worst verdict on the instructions that access it.
type poisonNote struct {
	verdict loader.Verdict
	insns   []int
	text    string // after the verdict
}

// countPoison checks the program's poisoned instructions. The program is refused if the analysis
// classifies one as BREAK.
func (c *draft) countPoison(l *loader.Linked, lp *loader.LinkedProgram) {
	for _, v := range c.Verdict.PoisonVerdicts(lp) {
		if v.Reloc == nil {
			continue
		}
		switch v.Verdict {
		case loader.Dead:
			c.Relocations.PoisonedDead++
			continue
		case loader.MayBreak:
			c.Relocations.PoisonedMay++
		case loader.Break:
			c.Relocations.PoisonedReached++
			c.Load = LoadError
		}
		c.notePoison(l, lp, v)
	}
}

func (c *draft) notePoison(l *loader.Linked, lp *loader.LinkedProgram, v loader.PoisonVerdict) {
	field := v.Reloc.Local.Field()
	if lp.Status == loader.StatusRefused && strings.HasPrefix(field, "pt_regs.") {
		return // the error already explains that the registers belong to another architecture
	}
	for _, n := range c.poison {
		if n.verdict == v.Verdict && strings.HasPrefix(n.text, field+" ") {
			n.insns = append(n.insns, v.Insn)
			return
		}
	}
	text := field + " is missing"
	if line, ok := lp.LineAt(v.Insn); ok {
		text += fmt.Sprintf(" at %s:%d", baseName(line.File), line.Line)
	}
	if hint := l.Explain(v.Reloc); hint != "" {
		text += ": " + strings.ReplaceAll(hint, "\n", "; ")
	}
	c.poison = append(c.poison, &poisonNote{v.Verdict, []int{v.Insn}, text})
}

// reached changes the verdict on a poisoned instruction to BREAK, since the run executed it.
func (c *draft) reached(l *loader.Linked, lp *loader.LinkedProgram, insn int) {
	for _, v := range c.Verdict.PoisonVerdicts(lp) {
		if v.Insn != insn || v.Reloc == nil || v.Verdict == loader.Break {
			continue
		}
		if v.Verdict == loader.MayBreak {
			c.Relocations.PoisonedMay--
		} else {
			c.Relocations.PoisonedDead--
		}
		c.Relocations.PoisonedReached++
		for i, n := range c.poison {
			if n.verdict == v.Verdict && slices.Contains(n.insns, insn) {
				if n.insns = slices.DeleteFunc(n.insns, func(x int) bool { return x == insn }); len(n.insns) == 0 {
					c.poison = slices.Delete(c.poison, i, i+1)
				}
				break
			}
		}
		v.Verdict = loader.Break
		c.notePoison(l, lp, v)
	}
}

// finish completes Detail: missing fields first, worst first, then everything else.
func (c *draft) finish() {
	c.notReached()
	slices.SortStableFunc(c.poison, func(a, b *poisonNote) int { return int(b.verdict) - int(a.verdict) })
	var lines []string
	for _, n := range c.poison {
		lines = append(lines, n.verdict.String()+": "+n.text)
	}
	if c.Detail != "" {
		lines = append(lines, c.Detail)
	}
	c.Detail, c.poison = strings.Join(lines, "\n"), nil
}

func baseName(path string) string { return path[strings.LastIndexByte(path, '/')+1:] }

// shorten removes the location from a loader error, since the row already names it, and the text of
// the source line.
func shorten(err error) string {
	var e *loader.Error
	if !errors.As(err, &e) {
		return err.Error()
	}
	c := *e
	c.Object, c.Section, c.Program = "", "", ""
	c.Source, _, _ = strings.Cut(c.Source, " ")
	c.Source = baseName(c.Source)
	return c.Error()
}

// runProgram runs one program and returns its outcome, nil if it did not run to its end.
func (r *runner) runProgram(m *machine.Machine, n int, lp *loader.LinkedProgram, c *draft) *outcome {
	if c.Load != LoadOK && c.Load != LoadUnknown || c.Disabled {
		return nil
	}
	r.level(m, lp, n)
	res, err := m.Run(r.ctx, lp.Name, machine.Input{CPU: r.cfg.CPU})
	if err != nil {
		c.Result = RunNotSimulated
		c.explain("%v", err)
		return nil
	}
	c.validate(lp.Name, m.Validate(res))
	switch res.Status {
	case machine.StatusUnknownHook:
		// Results computed from untyped arguments cannot be compared with other kernels.
		c.Load, c.Result = LoadUnknown, RunOK
	case machine.StatusOK:
		c.Result = RunOK
		return newOutcome(m, res)
	case machine.StatusFault:
		c.Result = RunFault
		c.explain("%s", faultText(res.Fault))
	case machine.StatusNotSimulated:
		c.Result = RunNotSimulated
		if res.Fault != nil {
			c.explain("%s", faultText(res.Fault))
		} else if err := m.ProgramError(lp.Name); err != nil {
			c.explain("%v", err)
		}
	case machine.StatusAbsent:
		c.Load = LoadAbsent
		c.explain("%v", m.ProgramError(lp.Name))
	case machine.StatusRefused:
		c.Load = LoadError
		if res.Fault != nil && res.Fault.Kind == vm.Poison {
			c.reached(m.Linked(), lp, res.Fault.Insn)
		} else if res.Fault != nil {
			c.explain("%s", faultText(res.Fault))
		} else if err := m.ProgramError(lp.Name); err != nil {
			c.explain("%v", err)
		}
	}
	return nil
}

// interval is the simulated time between the starts of an object's programs, in nanoseconds.
const interval = uint64(time.Second)

// frames is the depth of the call stacks that programs see.
const frames = 4

// level removes differences between kernels that are not the kernels' own: the n-th program always
// starts at the same time, whatever ran before it, and with the same call stack, whose addresses
// would otherwise depend on the numbering of functions.
func (r *runner) level(m *machine.Machine, lp *loader.LinkedProgram, n int) {
	k := m.Kernel()
	began := uint64(r.boot()) + uint64(n)*interval
	if now := k.Clock().Boot(); now < began {
		k.Clock().Advance(began - now)
	}
	h := fnv.New32a()
	h.Write([]byte(lp.Hook))
	kern, user := make([]uint64, frames), make([]uint64, frames)
	for i := range kern {
		kern[i] = 0xffffffffc0de0000 + uint64(h.Sum32()&0xfff)*uint64(i+1)<<4
		user[i] = 0x400000 + uint64(i)<<8
	}
	k.SetStack(false, kern)
	k.SetStack(true, user)
}

func faultText(f *machine.Fault) string {
	text := f.Error()
	if f.Source != "" {
		text += " at " + baseName(f.Source)
	}
	return text
}

// found records the program's accesses at fixed offsets. A copy of a whole object is none, as in
// runs ([machine.Validation]).
func (c *draft) found(lp *loader.LinkedProgram, all []offsets.Access) {
	for i := range all {
		if all[i].Program == lp.Name && !all[i].Whole {
			c.fixed = append(c.fixed, all[i])
		}
	}
	c.Found = len(c.fixed)
}

// notReached reports the accesses at fixed offsets that the run did not reach.
func (c *draft) notReached() {
	for i := range c.fixed {
		a := &c.fixed[i]
		if c.reads[a.Insn] {
			continue
		}
		text := fmt.Sprintf("%s at the fixed offset %d", a.Type, a.Offset)
		if a.Hit != "" {
			text += ", here " + a.Hit
		}
		if a.Source != "" {
			text += " at " + a.Source
		}
		c.explain("baked, not run: %s", text)
	}
}

// validate records what the reads of a program's run of kernel memory showed: fields at fixed
// offsets, and reads that hit a field other than the intended one. The run includes the programs
// that it tail called.
func (c *draft) validate(program string, v machine.Validation) {
	c.Baked = v.Baked
	c.reads = map[int]bool{}
	seen := map[string]bool{}
	for _, f := range v.Findings {
		if f.Kind != machine.Baked && f.Kind != machine.Differs {
			continue
		}
		at := ""
		if f.Source != "" {
			at = " at " + f.Source
		}
		if f.Program != program {
			at += " in " + f.Program
		} else if f.Kind == machine.Baked {
			c.reads[f.Insn] = true
		}
		if !seen[f.Text] {
			seen[f.Text] = true
			c.explain("%s: %s%s", f.Kind, f.Text, at)
		}
	}
}
