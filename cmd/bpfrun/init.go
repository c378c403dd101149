package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	pathpkg "path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/bpfrun/bpfrun/internal/app/pass"
	"github.com/bpfrun/bpfrun/internal/app/testrun"
	"github.com/bpfrun/bpfrun/internal/project"
	"github.com/bpfrun/bpfrun/internal/scenario"
	"github.com/bpfrun/bpfrun/internal/visible"
	"github.com/bpfrun/bpfrun/loader"
)

// initCommand is bpfrun init.
type initCommand struct {
	*console
	linker
	sim *machineFlags

	dir   string
	build string
}

func newInitCommand(a *app) *cobra.Command {
	c := &initCommand{console: &a.console, linker: a.linker(), sim: &a.sim}
	cmd := &cobra.Command{
		Use:   "init OBJECT [--btf KERNEL ...]",
		Short: "Write what a project needs to test an object: scenario, project file, CI workflow",
		Long: `Write the files with which a project tests an object: a scenario beside it, as bpfrun scenario new writes it; bpfrun.yaml with the object, the kernels of
--btf and the findings of a first run, which are silenced until somebody looks at them; and a workflow for GitHub Actions. Files that exist stay as they are.`,
		Example: "  bpfrun init build/xdp.bpf.o --btf 6.1 --btf 6.12 --build make\n  bpfrun test",
		Args:    oneObject,
		RunE:    func(_ *cobra.Command, args []string) error { return c.init(args[0]) },
	}
	cmd.Flags().StringVar(&c.dir, "dir", ".", "`DIRECTORY` of the project, for bpfrun.yaml and the workflow")
	cmd.Flags().StringVar(&c.build, "build", "", "the `COMMAND` that compiles the object, for bpfrun watch and CI")
	return cmd
}

func (c *initCommand) init(path string) error {
	obj, err := c.objects.open(path)
	if err != nil {
		return err
	}
	names := slices.Clone(c.kernels.btf)
	if len(names) == 0 {
		names = []string{"embedded"} // the same for everybody who has the file
		c.kernels.btf = names
	}
	sources, err := c.kernels.sources()
	if err != nil {
		return err
	}
	linked, err := c.linkOn(obj, sources[0])
	if err != nil {
		return err
	}
	opt, err := c.sim.scenarioOptions(c.objects, nil)
	if err != nil {
		return err
	}
	ctx, stop := c.interruptible(context.Background())
	defer stop()
	found, err := c.findings(ctx, linked, sources[0])
	if err != nil {
		return err
	}
	object, inside := c.inProject(path)
	if !inside {
		c.note("%s is outside of the project, so CI will not find it (--dir names the project's directory)", object)
	}
	beside := testrun.ScenarioBeside(path)
	opt.Verify = c.sim.verifiesEach(ctx)
	var text bytes.Buffer
	if err := scenario.Skeleton(ctx, &text, linked, filepath.Base(path), nil, opt); err != nil {
		return err
	}
	return errors.Join(
		c.create(filepath.Dir(beside), filepath.Base(beside), text.String()),
		c.create(c.dir, project.Name, c.projectText(object, names, found)),
		c.create(c.dir, filepath.Join(".github", "workflows", "bpfrun.yml"), c.workflow(pathpkg.Dir(object), names)),
	)
}

// inProject returns a path relative to the project's directory, and whether it is in there; one
// outside that was given from the root stays as it is.
func (c *initCommand) inProject(path string) (string, bool) {
	rel := pathFrom(c.dir, path)
	if dir, err := filepath.Abs(c.dir); err == nil && filepath.IsAbs(path) {
		if r, err := filepath.Rel(dir, path); err == nil && filepath.IsLocal(r) {
			rel = filepath.ToSlash(r)
		}
	}
	return rel, filepath.IsLocal(filepath.FromSlash(rel))
}

// findings runs the programs once and returns the kinds of findings, as --ignore takes them.
func (c *initCommand) findings(ctx context.Context, linked *loader.Linked, s btfSource) ([]string, error) {
	cfg, err := c.sim.config(false)
	if err != nil {
		return nil, err
	}
	doc, err := pass.Run(ctx, linked, s.Path, pass.Options{Machine: cfg, Unverified: c.sim.noVerify})
	if err != nil {
		return nil, passError(err)
	}
	var out []string
	for _, p := range doc.Programs {
		for _, r := range p.Runs {
			for _, f := range r.Findings {
				if text := f.Kind + ":" + f.Program; !slices.Contains(out, text) {
					out = append(out, text)
				}
			}
		}
	}
	slices.Sort(out)
	return out, nil
}

// create writes a file that does not exist in a directory or below it. Links that lead out of the
// directory are refused.
func (c *initCommand) create(dir, name, text string) error {
	path := filepath.Join(dir, name)
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return usageError{err}
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return usageError{err}
	}
	defer root.Close()
	if err := root.MkdirAll(filepath.Dir(name), 0o777); err != nil {
		return usageError{fmt.Errorf("%s: %w", path, err)}
	}
	f, err := root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
	if errors.Is(err, fs.ErrExist) {
		_, err := visible.Fprintf(c.stdout, "exists  %s\n", path)
		return err
	}
	if err != nil {
		return usageError{err}
	}
	_, err = f.WriteString(text)
	if err = errors.Join(err, f.Close()); err != nil {
		return usageError{err}
	}
	_, err = visible.Fprintf(c.stdout, "wrote   %s\n", path)
	return err
}

// projectText is the project file.
func (c *initCommand) projectText(object string, kernels, found []string) string {
	var b strings.Builder
	b.WriteString("# What the commands of bpfrun in this directory have in common (docs/project.md).\n")
	visible.Fprintf(&b, "kernels: [%s]\nobjects: [%s]\n", quotedList(kernels), quotedList([]string{object}))
	if c.build != "" {
		visible.Fprintf(&b, "build: %s\n", quotedList([]string{c.build}))
	}
	if len(found) > 0 {
		visible.Fprintf(&b, "flags:\n  # Found by the first run. Take away what has been mended, so that it is reported again.\n  ignore: [%s]\n", quotedList(found))
	}
	b.WriteString("# thresholds:\n#   coverage: 80%       # bpfrun test fails below\n#   insns-growth: 10%   # bpfrun diff fails above\n")
	return b.String()
}

// workflow runs the tests in CI.
func (c *initCommand) workflow(tests string, kernels []string) string {
	var b strings.Builder
	b.WriteString("name: bpfrun\non: [push, pull_request]\npermissions: {contents: read}\njobs:\n  test:\n    runs-on: ubuntu-latest\n    steps:\n      - uses: actions/checkout@v4\n")
	if c.build != "" {
		visible.Fprintf(&b, "      - run: %s\n", quotedList([]string{c.build}))
	}
	visible.Fprintf(&b, "      - uses: bpfrun/bpfrun@main\n        with:\n          tests: %s\n          kernels: |\n", quotedList([]string{tests}))
	for _, k := range kernels {
		visible.Fprintf(&b, "            %s\n", k)
	}
	return b.String()
}

// quotedList are texts as elements of a YAML list: plain where that is clear.
func quotedList(texts []string) string {
	out := make([]string, len(texts))
	for i, t := range texts {
		out[i] = t
		plain := t != "" && strings.IndexFunc(t, func(r rune) bool {
			return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("/._-", r))
		}) < 0 && (t[0] >= 'a' && t[0] <= 'z' || t[0] >= 'A' && t[0] <= 'Z')
		if !plain {
			out[i] = "'" + strings.ReplaceAll(visible.Text(t), "'", "''") + "'"
		}
	}
	return strings.Join(out, ", ")
}
