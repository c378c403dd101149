package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/signal"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/bpfrun/bpfrun/btf"
	"github.com/bpfrun/bpfrun/conformance/record"
	"github.com/bpfrun/bpfrun/conformance/verdicts"
	"github.com/bpfrun/bpfrun/conformance/verdicts/border"
	"github.com/bpfrun/bpfrun/conformance/verdicts/sound"
	"github.com/bpfrun/bpfrun/internal/app/report"
	"github.com/bpfrun/bpfrun/internal/verifier"
	"github.com/bpfrun/bpfrun/internal/visible"
	"github.com/bpfrun/bpfrun/loader"
)

// verdictFlags are the flags of conformance verdicts.
type verdictFlags struct {
	dir, match, kind string
	releases         []string
	markdown, logs   bool
	limit            time.Duration
	inputs           int
	shortest         string
	speed            int
}

// conformanceVerdictsCommand is bpfrun conformance verdicts.
type conformanceVerdictsCommand struct {
	*console
	linker
	sim *machineFlags

	verdictFlags
}

func newConformanceVerdictsCommand(a *app) *cobra.Command {
	c := &conformanceVerdictsCommand{console: &a.console, linker: a.linker(), sim: &a.sim}
	cmd := &cobra.Command{
		Use:   "verdicts FILE.jsonl[.gz]... --objects DIR [--btf KERNEL...]",
		Short: "Verify programs and compare with the recorded verdicts of real kernels",
		Long: `Verify the programs of recordings (conformance record verdicts) for the kernel each was recorded on, and compare
verdicts, the class of the reason, and the number of instructions processed. A line is printed for each disagreement,
-v adds in what equal verdicts differ (error, message, instruction, counts of instructions and states), and a table of that.
Programs that never reached the kernel's verifier are skipped. Exit code 1 if any verdict differs.

--btf names kernels; the one with the recording's version is used, else one of the same release.`,
		Example: "  bpfrun conformance verdicts verdicts.jsonl.gz --objects . --btf 'kernels/*.btf'",
		Args:    atLeast(1),
		RunE:    func(_ *cobra.Command, args []string) error { return c.conformanceVerdicts(args) },
	}
	cmd.Flags().StringVar(&c.dir, "objects", "", "base directory for the objects' paths (default: the directory of each file)")
	cmd.Flags().StringVar(&c.match, "match", "", "regular expression: only programs whose OBJECT:NAME matches")
	cmd.Flags().StringVar(&c.kind, "kind", "", "print only one kind of disagreement: false-accept, false-refusal, cannot-say, failed")
	cmd.Flags().StringSliceVar(&c.releases, "kernel", nil, "only recordings of releases that begin so: 6.18")
	cmd.Flags().BoolVar(&c.markdown, "table", false, "print the table alone")
	cmd.Flags().DurationVar(&c.limit, "limit", time.Minute, "how long one verification may take")
	cmd.Flags().IntVar(&c.inputs, "inputs", 0, "also run accepted programs with `N` random inputs on both engines: none may fault, and no register may have a value that the verifier excludes")
	cmd.Flags().BoolVar(&c.logs, "logs", false, "compare the logs of levels 1 and 2 of programs recorded with record verdicts --log, line by line")
	cmd.Flags().IntVar(&c.speed, "speed", 0, "verify each timed program `N` times and compare its processor time with the kernel's (record verdicts --repeat)")
	cmd.Flags().StringVar(&c.shortest, "minimise", "", "write generated programs with another verdict, made as short as they stay so on the running kernel (root)")
	return cmd
}

func (v *conformanceVerdictsCommand) conformanceVerdicts(paths []string) error {
	if v.json && v.speed > 0 {
		return usagef("conformance verdicts --speed has no --json: its table is for people")
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	sources, err := v.kernels.sources()
	if err != nil {
		return err
	}
	match, err := regexp.Compile(v.match)
	if err != nil {
		return usagef("--match: %w", err)
	}
	var short *json.Encoder
	if v.shortest != "" {
		w, err := createFile(v.shortest)
		if err != nil {
			return err
		}
		defer w.Close()
		short = json.NewEncoder(visible.JSON{W: w})
	}
	compared := verdicts.NewReport()
	runs := soundRuns{inputs: v.inputs}
	logs := logTotals{}
	out := &findings{console: v.console}
	for _, path := range paths {
		var replay *verdicts.Replayer
		cfg := verdicts.Config{
			Objects: v.dir, Open: v.objects.open, Limit: v.limit, Repeat: v.speed,
			Target: func(release string) (*loader.Target, error) { return v.releaseTarget(sources, release) },
			Match: func(l *verdicts.Line) bool {
				return match.MatchString(l.Key()) && (len(v.releases) == 0 || slices.ContainsFunc(v.releases, func(k string) bool {
					return l.Kernel == k || strings.HasPrefix(l.Kernel, k+".")
				}))
			},
			Each: func(c *verdicts.Comparison) error {
				compared.Add(c)
				if !v.markdown && c.Kind > verdicts.Agree && c.Kind != verdicts.NotJudged && (v.kind == "" || v.kind == c.Kind.String()) {
					visible.Fprintln(out, c)
				}
				if d := c.Differences(); d != "" && v.verbose && !v.markdown {
					visible.Fprintf(out, "differs %s [%s %s] %s\n", c.Line.Key(), c.Line.ProgType, c.Line.Kernel, d)
				}
				if short != nil {
					if err := v.minimise(ctx, out, short, c, v.limit, sources); err != nil {
						return err
					}
				}
				if v.logs && c.Line.Log != "" {
					if err := logs.add(ctx, out, replay, c.Line); err != nil {
						return err
					}
				}
				return v.runAccepted(ctx, out, &runs, replay, c, sources)
			},
		}
		if cfg.Objects == "" {
			cfg.Objects = filepath.Dir(path)
		}
		replay = verdicts.NewReplayer(cfg)
		if err := verdicts.Replay(ctx, path, cfg); err != nil {
			return codeError{exitCode(err), err}
		}
	}
	for _, agreement := range compared.Agreements() {
		if len(agreement.Disagreements) > 0 {
			v.code = exitExpectation
		}
	}
	if v.json {
		return v.document(compared, out, logs, runs)
	}
	compared.WriteTable(out)
	if v.verbose {
		visible.Fprintln(out)
		compared.WriteDetails(out)
	}
	if v.speed > 0 {
		compared.WriteSpeed(out)
	}
	if v.logs {
		visible.Fprintf(out, "logs: %d of %d equal, %d of %d lines\n", logs.same, logs.programs, logs.equal, logs.lines)
	}
	if v.inputs > 0 {
		visible.Fprintf(out, "%d accepted programs run with %d inputs each on both engines, %d not simulated, %d contradictions\n", runs.ran, v.inputs, runs.notRun, runs.bad)
		f := &runs.compared
		visible.Fprintf(out, "%d runs followed (%d only at the beginning): %d registers at %d instructions compared with the verifier's states\n", f.Runs, f.Stopped, f.Registers, f.Steps)
	}
	return nil
}

// document writes the results as JSON.
func (v *conformanceVerdictsCommand) document(r *verdicts.Report, found *findings, logs logTotals, runs soundRuns) error {
	doc := verdictsDocument{Schema: report.Schema, Exit: v.code, Kernels: []verdictCounts{}, Differences: found.entries()}
	for _, a := range r.Agreements() {
		doc.Kernels = append(doc.Kernels, verdictCounts{
			Kernel: a.Kernel, Judged: a.Judged, NotJudged: a.NotJudged, Agree: a.Agree, FalseAccepts: a.FalseAccept, FalseRefusals: a.FalseRefusal,
			CannotSay: a.CannotSay, Failed: a.Failed, BothRefuse: a.BothRefuse, SameClass: a.SameClass, SameText: a.SameText, BothAccept: a.BothAccept,
			Counted: a.Counted, SameCount: a.Exact, Within5: a.Within5, Within1_5: a.WithinHalf,
		})
	}
	if v.logs {
		doc.Logs = &logCounts{Programs: logs.programs, Same: logs.same, Lines: logs.lines, EqualLines: logs.equal}
	}
	if v.inputs > 0 {
		doc.Runs = &runCounts{Inputs: v.inputs, Run: runs.ran, NotSimulated: runs.notRun, Contradictions: runs.bad}
	}
	return report.WriteJSON(v.stdout, doc)
}

// minimise writes the shortest program found for which the running kernel and the verifier still
// disagree in the same way.
func (v *conformanceVerdictsCommand) minimise(ctx context.Context, out io.Writer, enc *json.Encoder, c *verdicts.Comparison, limit time.Duration, sources []btfSource) error {
	if c.Line.Generated == nil || c.Kind != verdicts.FalseAccept && c.Kind != verdicts.FalseRefusal && c.Kind != verdicts.CannotSay {
		return nil
	}
	replay := verdicts.NewReplayer(verdicts.Config{
		Limit: limit, Target: func(release string) (*loader.Target, error) { return v.releaseTarget(sources, release) },
	})
	var last *verdicts.Comparison
	best, err := verdicts.Minimise(c.Line, func(l *verdicts.Line) bool {
		l.Reset()
		if err := record.GeneratedVerdicts(ctx, l, record.VerdictConfig{Limit: limit}); err != nil {
			return false
		}
		now := replay.Compare(ctx, l)
		same := now.Kind == c.Kind && now.Line.Verdict == c.Line.Verdict && (c.Kind == verdicts.FalseAccept || verdicts.Shape(now.Ours.Message+now.Ours.Missing) == verdicts.Shape(c.Ours.Message+c.Ours.Missing))
		if same {
			last = now
		}
		return same
	})
	if err != nil {
		return err
	}
	if last != nil {
		visible.Fprintf(out, "shortest: %s\n%s\n", last, best.Generated.Text)
	}
	return enc.Encode(best)
}

// logTotals are the totals of compared logs.
type logTotals struct{ programs, same, lines, equal int }

// add compares the logs of a program, and prints the first line of each that differs.
func (n *logTotals) add(ctx context.Context, out io.Writer, r *verdicts.Replayer, l *verdicts.Line) error {
	logs, err := r.CompareLogs(ctx, l)
	if err != nil {
		return fmt.Errorf("%s: %w", l.Key(), err)
	}
	same := true
	for _, c := range logs {
		n.lines, n.equal = n.lines+c.Kernel, n.equal+c.Equal
		if !c.Same() {
			same = false
			visible.Fprintf(out, "other-log %s: %d of %d lines\n  kernel  %s\n  here    %s\n", l.Key(), c.Equal, c.Kernel, c.First, c.Instead)
		}
	}
	if n.programs++; same {
		n.same++
	}
	return nil
}

// soundRuns are the totals of runs of accepted programs.
type soundRuns struct {
	inputs, ran, notRun, bad int
	compared                 sound.Compared
}

// runAccepted runs a program that the kernel or the verifier accepts. It skips mutated programs of
// objects, because the machine runs objects unchanged.
func (v *conformanceVerdictsCommand) runAccepted(ctx context.Context, out io.Writer, runs *soundRuns, replay *verdicts.Replayer, c *verdicts.Comparison, sources []btfSource) error {
	l := c.Line
	accepted := l.Verdict == verdicts.Accepted || c.Ours != nil && c.Ours.Outcome == verifier.Accepted
	if runs.inputs == 0 || l.Patches != nil || !accepted {
		return nil
	}
	err := v.runInputs(ctx, replay, l, runs, sources)
	var bad *sound.Contradiction
	switch {
	case err == nil:
		runs.ran++
	case errors.Is(err, sound.ErrNotRun):
		runs.notRun++
		if v.verbose {
			visible.Fprintf(out, "not run: %s: %v\n", l.Key(), err)
		}
	case errors.As(err, &bad):
		runs.bad++
		v.code = exitExpectation
		visible.Fprintf(out, "contradiction: %v (kernel: %s)\n", bad, l.Verdict)
	default:
		return fmt.Errorf("%s: %w", l.Key(), err)
	}
	return nil
}

func (v *conformanceVerdictsCommand) runInputs(ctx context.Context, replay *verdicts.Replayer, l *verdicts.Line, runs *soundRuns, sources []btfSource) error {
	if l.Generated == nil {
		linked, err := replay.Linked(l)
		if err != nil {
			return err
		}
		if err := sound.RunLinked(ctx, linked, l.Program, l.Key(), v.sim.seed, runs.inputs); err != nil {
			return err
		}
		return sound.Follow(ctx, linked, l.Program, l.Key(), v.sim.seed, runs.inputs, &runs.compared)
	}
	target, err := v.releaseTarget(sources, l.Kernel)
	if err != nil {
		return err
	}
	if err := sound.Run(ctx, l, target, v.sim.seed, runs.inputs); err != nil {
		return err
	}
	return sound.FollowGenerated(ctx, l, target, v.sim.seed, runs.inputs, &runs.compared)
}

// releaseTarget returns a target for the kernel of a recording, using the types of the nearest
// available kernel.
func (c *conformanceVerdictsCommand) releaseTarget(sources []btfSource, release string) (*loader.Target, error) {
	_, version, ok := loader.ParseRelease(release)
	if !ok {
		return nil, usagef("%q is not a release of a kernel", release)
	}
	best := -1
	for i, s := range sources {
		_, v, ok := loader.ParseRelease(s.Name)
		switch {
		case ok && v == version:
			best = i
		case ok && v>>8 == version>>8 && best < 0:
			best = i
		}
		if ok && v == version {
			break
		}
	}
	if best < 0 {
		return nil, usagef("no kernel of release %s among --btf", release)
	}
	t, err := c.kernels.target(sources[best])
	if err == nil {
		if version&0xff != 0 || t.Version>>8 != version>>8 { // Debian's names have no patch level: keep that of the types
			loader.WithVersion(version)(t)
		}
		t.Release = release
	}
	return t, err
}

// recordVerdictFlags are the flags of conformance record verdicts.
type recordVerdictFlags struct {
	output, root string
	generated    []string
	border       uint64
	first        uint64
	mutations    int
	where, log   bool
	repeat       int
	limit        time.Duration
}

// recordVerdictsCommand is bpfrun conformance record verdicts.
type recordVerdictsCommand struct {
	*console
	objects *objectFlags
	sim     *machineFlags

	recordVerdictFlags
}

func newRecordVerdictsCommand(a *app) *cobra.Command {
	c := &recordVerdictsCommand{console: &a.console, objects: &a.objects, sim: &a.sim}
	cmd := &cobra.Command{
		Use:     "verdicts [OBJECT|DIR]... -o FILE.jsonl[.gz]",
		Example: "  sudo bpfrun conformance record verdicts objects -o verdicts.jsonl.gz",
		Short:   "Record the running kernel's verdict on every program of objects, for conformance verdicts",
		Long: `Load every program of objects by itself into this machine's kernel, after relocation by bpfrun's own loader and with
its maps created, and record what the verifier reports: verdict, error, messages, instructions processed, states. Nothing is run,
attached or pinned; loads are paced. Needs root.

Failures before the verifier decides have their own classes: core (a poisoned relocation is reached), map (a map could
not be created), env (the kernel lacks a hook, function or type, or does not permit the load), loader, time.`,
		RunE: func(_ *cobra.Command, args []string) error { return c.recordVerdicts(args) },
	}
	cmd.Flags().StringVarP(&c.output, "output", "o", "", "`FILE` to write, compressed if the name ends in .gz (default: standard output)")
	cmd.Flags().StringVar(&c.root, "objects", ".", "base directory for paths in the recording")
	cmd.Flags().StringSliceVar(&c.generated, "generated", nil, "recordings whose generated programs to ask about again")
	cmd.Flags().Uint64Var(&c.border, "border", 0, "ask about this many generated programs near the border of acceptance, determined by --seed")
	cmd.Flags().Uint64Var(&c.first, "first", 0, "number of the first generated program")
	cmd.Flags().IntVar(&c.mutations, "mutations", 0, "ask about `N` mutations of each program, determined by --seed, instead of the program")
	cmd.Flags().BoolVar(&c.where, "where", true, "load refused programs again for the instruction at fault")
	cmd.Flags().BoolVar(&c.log, "log", false, "load what was judged again and keep the logs of level 2, with statistics, and of level 1")
	cmd.Flags().IntVar(&c.repeat, "repeat", 0, "load accepted programs `N` times more, for the shortest time the verifier takes")
	cmd.Flags().DurationVar(&c.limit, "limit", 20*time.Second, "interrupt loads that take longer; 0: never")
	return cmd
}

func (c *recordVerdictsCommand) recordVerdicts(args []string) error {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	paths, err := objectPaths(args)
	if err != nil {
		return err
	}
	if len(paths) == 0 && len(c.generated) == 0 && c.border == 0 {
		return usagef("record verdicts: want objects, directories of objects, --border or --generated")
	}
	w, err := c.createVectors(c.output)
	if err != nil {
		return err
	}
	enc := json.NewEncoder(visible.JSON{W: w})
	enc.SetEscapeHTML(false)
	count := map[string]int{}
	emit := func(l *verdicts.Line) error {
		count[l.Verdict]++
		return enc.Encode(l)
	}
	ask := func(l *verdicts.Line) error {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := record.GeneratedVerdicts(ctx, l, record.VerdictConfig{Where: c.where, Limit: c.limit, Repeat: c.repeat, Log: c.log}); err != nil {
			return err
		}
		return emit(l)
	}
	for n := c.first; n < c.first+c.border && err == nil; n++ {
		err = ask(border.Program(c.sim.seed, n))
	}
	for _, path := range c.generated {
		if err == nil {
			err = verdicts.ReadFile(path, func(l *verdicts.Line) error {
				if l.Generated == nil {
					return nil
				}
				l.Reset()
				return ask(l)
			})
		}
	}
	if err == nil {
		err = c.recordObjectVerdicts(ctx, paths, emit) // last: programs of objects have crashed kernels
	}
	c.note("Linux %s: %d accepted, %d refused, %d skipped", record.Release(), count[verdicts.Accepted], count[verdicts.Refused], count[verdicts.Skipped])
	return errors.Join(err, w.Close())
}

func (c *recordVerdictsCommand) recordObjectVerdicts(ctx context.Context, paths []string, emit func(*verdicts.Line) error) error {
	if len(paths) == 0 {
		return nil
	}
	spec, err := btf.LoadHost()
	if err != nil {
		return codeError{exitNotSimulated, fmt.Errorf("record verdicts: the running kernel's types: %w", err)}
	}
	target := loader.NewTarget("linux-"+record.Release(), spec, loader.WithKallsyms(record.ReadKallsyms()))
	for _, path := range paths {
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		obj, err := c.objects.open(path)
		if err != nil {
			c.note("skipping %s: %v", path, err)
			continue
		}
		name, err := filepath.Rel(c.root, path)
		if err != nil {
			name = path
		}
		sum := sha256.Sum256(data)
		cfg := record.VerdictConfig{Limit: c.limit, Where: c.where, Repeat: c.repeat, Log: c.log, Mutations: c.mutations, Seed: c.sim.seed, Name: filepath.ToSlash(name), SHA256: hex.EncodeToString(sum[:])}
		if err := record.Verdicts(ctx, obj, target, cfg, emit); err != nil {
			if ctx.Err() != nil || runtime.GOOS != "linux" {
				return codeError{exitNotSimulated, err}
			}
			c.note("skipping %s: %v", path, err)
		}
	}
	return nil
}

// objectPaths lists objects: files as given, and all *.o files below directories.
func objectPaths(args []string) ([]string, error) {
	var out []string
	for _, arg := range args {
		err := filepath.WalkDir(arg, func(path string, d fs.DirEntry, err error) error {
			if err == nil && !d.IsDir() && (path == arg || strings.HasSuffix(path, ".o")) {
				out = append(out, path)
			}
			return err
		})
		if err != nil {
			return nil, usageError{err}
		}
	}
	return out, nil
}
