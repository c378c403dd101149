package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/bpfrun/bpfrun/internal/app/matrix"
	"github.com/bpfrun/bpfrun/internal/app/report"
	"github.com/bpfrun/bpfrun/loader"
)

// matrixOptions are the flags of the matrix command.
type matrixOptions struct {
	base     string
	reports  reportFiles
	markdown bool
	parallel int
}

// matrixInsns is the instruction limit of one run in a matrix, which runs each program on each
// kernel.
const matrixInsns = 10_000_000

// matrixCommand is bpfrun matrix.
type matrixCommand struct {
	*console
	linker
	sim *machineFlags

	matrixOptions
	tell sync.Map // paths of kernels that notes were about
}

func newMatrixCommand(a *app) *cobra.Command {
	c := &matrixCommand{console: &a.console, linker: a.linker(), sim: &a.sim}
	cmd := &cobra.Command{
		Use:   "matrix OBJECT... --btf 'KERNELS'",
		Short: "Run objects on many kernels and show where they break or behave differently",
		Long: `Run every program of every object on every kernel that accepts it, each on a fresh machine, and
compare the results with those of the first kernel or of --base.

Cells, the worst first:
  BREAK          a missing field is reached: the kernel refuses the program
  error          the object would not load
  refused        the kernel's verifier refuses the program (bpfrun verify tells more; --no-verify runs it)
  fault          the program did what the kernel forbids
  not-simulated  it used something bpfrun does not simulate
  absent         the kernel lacks the hook, or a helper, map type or function the program needs
  ? hook         BTF does not list the function or tracepoint, so the kernel may not have it; the program
                 ran with untyped arguments and is not compared (unknown-hook in JSON; settle it with --kallsyms)
  differs        return value, maps, events or packet differ from the base kernel's
  may-break      a missing field may be reached, depending on input
  dead           same result; missing fields are in dead code only
  changed        same result; fields moved and CO-RE adjusted the code
  ok             same result

A kernel whose verifier bpfrun does not know, such as one before 5.10, has no verdicts: a note says why (unverified of the
kernel in JSON), and its programs run.

Exit codes: 3 for a BREAK or a program that would not load, and for an object none of whose programs has its hook on a
kernel; 4 for a fault; 5 for not-simulated; 1 for differs. absent, unknown-hook and may-break count (as 3) only with --strict.
Optional programs (SEC("?...")) run after the others, are marked, and count only with --optional.

Runs end after 10,000,000 instructions unless --max-insns sets another limit, so that one runaway program does not hold up
all kernels.`,
		Example: "  bpfrun matrix prog.o --btf 'kernels/*.btf'\n  bpfrun matrix *.o --btf kernels/ --base 6.1.0 -o md=matrix.md",
		Args:    atLeast(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if !cmd.Flags().Changed("max-insns") {
				c.sim.maxInsns = matrixInsns
			}
			return c.matrix(args)
		},
	}
	f := cmd.Flags()
	f.StringVar(&c.base, "base", "", "`KERNEL` to compare with, by name or part of a name (default: the first)")
	c.reports.add(f, "html", "md", "github")
	f.BoolVar(&c.markdown, "md", false, "print Markdown instead of the table")
	f.IntVarP(&c.parallel, "jobs", "j", 0, "run `N` jobs in parallel (default: one per CPU)")
	return cmd
}

func (c *matrixCommand) matrix(paths []string) error {
	if c.json && c.markdown {
		return usagef("--json and --md both claim standard output; use -o md=FILE")
	}
	if c.parallel < 0 {
		return usagef("--jobs %d: want at least 1, or 0 for one per CPU", c.parallel)
	}
	if err := c.reports.check(); err != nil {
		return err
	}
	table, err := c.table()
	if err != nil {
		return err
	}
	cfg, err := c.sim.config(false)
	if err != nil {
		return err
	}
	sources, err := c.kernels.sources()
	if err != nil {
		return err
	}
	objects, err := c.matrixObjects(paths)
	if err != nil {
		return err
	}
	if err := c.sim.checkIgnored(objects...); err != nil {
		return err
	}
	kernels := c.matrixKernels(sources)
	base, err := findBase(kernels, c.base)
	if err != nil {
		return err
	}
	opts, err := c.objects.loadOptions()
	if err != nil {
		return err
	}
	opts.Optional = true
	ctx, stop := c.interruptible(context.Background())
	defer stop()
	watch := c.progress("objects on kernels", len(objects)*len(kernels))
	defer watch.end()
	kept := c.kernels.results()
	m, err := matrix.Run(ctx, objects, kernels, matrix.Config{
		Cache: matrixCache(kept),
		Base:  base, Options: opts, CPU: c.sim.cpu, Parallel: c.parallel, Progress: watch.set, Unverified: c.sim.noVerify,
		Machine: cfg,
	})
	watch.end()
	if err != nil {
		return codeError{exitInterrupted, fmt.Errorf("interrupted: %w", err)}
	}
	if kept != nil {
		kept.Trim()
	}
	doc := report.NewMatrixDocument(m)
	doc.Exit = report.MatrixExit(m, c.sim.strict, c.objects.optional)
	if c.reports.wants("github") {
		doc.Paths = map[string]map[string]string{}
		for i, o := range objects {
			doc.Paths[o.Name] = filesOf(o, paths[i])
		}
	}
	c.code = doc.Exit
	for kind, write := range map[string]func(io.Writer, *report.MatrixDocument) error{
		"md": report.WriteMatrixMarkdown, "html": report.WriteMatrixHTML, "github": report.WriteMatrixAnnotations,
	} {
		if err := c.reports.write(kind, func(w io.Writer) error { return write(w, doc) }); err != nil {
			return err
		}
	}
	switch {
	case c.json:
		return report.WriteJSON(c.stdout, doc)
	case c.markdown:
		return report.WriteMatrixMarkdown(c.stdout, doc)
	}
	return report.WriteMatrix(c.stdout, doc, report.MatrixOptions{
		TableOptions: table, Width: terminalWidth(c.stdout),
	})
}

// matrixObjects opens the objects. An object that does not open ends the command: it has no
// programs to show as rows.
func (c *matrixCommand) matrixObjects(paths []string) ([]*loader.Object, error) {
	objects := make([]*loader.Object, len(paths))
	for i, path := range paths {
		var err error
		if objects[i], err = c.objects.open(path); err != nil {
			return nil, err
		}
	}
	return objects, nil
}

// filesOf maps the base names of an object and its sources to paths, which are relative to the
// working directory if the file is in it.
func filesOf(o *loader.Object, objectPath string) map[string]string {
	files := map[string]string{o.Name: filepath.ToSlash(filepath.Clean(objectPath))}
	if o.Ext == nil {
		return files
	}
	here, _ := os.Getwd()
	for _, sec := range o.Ext.Lines {
		for _, l := range sec.All() {
			name := path.Base(l.File)
			if files[name] != "" {
				continue
			}
			file := path.Clean(l.File)
			if rel, err := filepath.Rel(here, file); err == nil && filepath.IsAbs(file) && filepath.IsLocal(rel) {
				file = filepath.ToSlash(rel)
			}
			files[name] = file
		}
	}
	return files
}

// matrixKernels returns the columns. Duplicate names are replaced by paths.
func (c *matrixCommand) matrixKernels(sources []btfSource) []matrix.Kernel {
	count := map[string]int{}
	for _, s := range sources {
		count[s.Name]++
	}
	kernels := make([]matrix.Kernel, len(sources))
	for i, s := range sources {
		kernels[i] = matrix.Kernel{Name: s.Name, Source: s.Path, Open: func() (*loader.Target, error) { return c.open(s) }, Key: func() string { return c.key(s) }}
		if count[s.Name] > 1 {
			kernels[i].Name = s.Path
		}
	}
	return kernels
}

// open opens a kernel, and notes whether there was something to tell about it.
func (c *matrixCommand) open(s btfSource) (*loader.Target, error) {
	before := c.said.Load()
	t, err := c.kernels.target(s)
	if c.said.Load() != before { // perhaps about another kernel
		c.tell.Store(s.Path, true)
	}
	return t, err
}

// key identifies a kernel that need not be opened. One that there is something to tell about is
// opened each time.
func (c *matrixCommand) key(s btfSource) string {
	if _, tell := c.tell.Load(s.Path); tell {
		return ""
	}
	return c.kernels.sourceKey(s, time.Now())
}

// findBase finds the kernel given by --base: by full name or path, else as the only name that
// contains the string.
func findBase(kernels []matrix.Kernel, text string) (int, error) {
	if text == "" {
		return 0, nil
	}
	var found []int
	for i, k := range kernels {
		if k.Name == text || k.Source == text {
			return i, nil
		}
		if strings.Contains(k.Name, text) {
			found = append(found, i)
		}
	}
	if len(found) == 1 {
		return found[0], nil
	}
	var names []string
	for _, k := range kernels {
		names = append(names, k.Name)
	}
	if len(found) == 0 {
		return 0, usagef("--base %s: no such kernel among %s", text, join(names))
	}
	return 0, usagef("--base %s: matches %d kernels (%s)", text, len(found), join(names))
}

// terminalWidth returns the number of columns of a terminal, 0 for anything else.
func terminalWidth(w io.Writer) int {
	if !isTerminal(w) {
		return 0
	}
	width, _, err := term.GetSize(int(fileOf(w).Fd()))
	if err != nil {
		return 0
	}
	return width
}
