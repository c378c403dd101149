package main

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/bpfrun/bpfrun/internal/project"
	"github.com/bpfrun/bpfrun/internal/shell"
)

// watchCommand is bpfrun watch.
type watchCommand struct {
	*console
	app *app

	build string
	also  []string
	runs  int

	known map[string]knownSources // by object
}

// Files are looked at this often, and a change is acted on when nothing changed for this long:
// compilers and editors write in steps. Looking at a thousand files takes a few milliseconds, so
// that no service of the operating system is needed, which differ, and miss files on network and
// container mounts.
const (
	watchEvery  = 250 * time.Millisecond
	watchSettle = 100 * time.Millisecond
	mostWatched = 20_000
)

func newWatchCommand(a *app) *cobra.Command {
	c := &watchCommand{console: &a.console, app: a}
	cmd := &cobra.Command{
		Use:   "watch [--build COMMAND] -- COMMAND [ARGUMENTS]",
		Short: "Run a command of bpfrun again when objects, scenarios or sources change",
		Long: `Run a command of bpfrun, and again whenever a file changes that it is about: the files and directories among its arguments,
the objects of bpfrun.yaml, the sources that objects were compiled from, and what --also and watch: in bpfrun.yaml name.

When a source changes, the project is compiled first: with --build, or with build: in bpfrun.yaml. If that fails, the command
does not run, and bpfrun waits for the next change. Ctrl-C ends it.`,
		Example: "  bpfrun watch -- test tests/\n  bpfrun watch --build make -- run build/xdp.bpf.o -p filter",
		Args:    atLeast(1),
		RunE:    func(cmd *cobra.Command, args []string) error { return c.watch(cmd.Root(), args) },
	}
	f := cmd.Flags()
	f.StringVar(&c.build, "build", "", "compile with this `COMMAND` of the shell first, and when a source changes (default: build: in bpfrun.yaml)")
	listVar(f, &c.also, "also", "", "also watch the files that `PATTERN` matches; repeatable")
	f.IntVar(&c.runs, "runs", 0, "end after `N` runs, with the exit code of the last one (default: never)")
	return cmd
}

func (c *watchCommand) watch(root *cobra.Command, args []string) error {
	inner, _, err := root.Find(args)
	if err != nil || inner == root && !strings.Contains(args[0], ".") || inner.Name() == "watch" {
		return usagef("watch runs commands of bpfrun: %s is none (bpfrun watch -- test)", args[0])
	}
	if c.runs < 0 {
		return usagef("--runs %d: want at least 1, or 0 for no limit", c.runs)
	}
	f, err := c.app.project.get()
	if err != nil {
		return err
	}
	dir := "."
	if f != nil && c.build == "" && f.Build != "" {
		if !f.Own() && os.Getenv(projectVariable) == "" {
			return usagef("%s belongs to another user, so that its build: is not run: %s=%s trusts it, --build names another command", f.Path, projectVariable, f.Path)
		}
		c.build, dir = f.Build, f.Dir()
	}
	self, err := os.Executable()
	if err != nil {
		return usageError{err}
	}
	ctx, stop := c.interruptible(context.Background())
	defer stop()
	now := c.files(f, args)
	built := c.compile(ctx, dir)
	for n := 1; ; n++ {
		if built {
			now = c.files(f, args) // what was compiled
			c.once(ctx, self, args)
		}
		if ctx.Err() != nil {
			return codeError{exitInterrupted, errors.New("interrupted")}
		}
		if n == c.runs {
			return nil
		}
		c.note("waiting for changes in %s", count(len(now), "file"))
		changed, err := c.wait(ctx, f, args, &now)
		if err != nil {
			return err
		}
		c.note("%s changed", join(changed[:min(len(changed), 3)]))
		built = true
		if slices.ContainsFunc(changed, isSource) {
			built = c.compile(ctx, dir)
		}
	}
}

// once runs the command.
func (c *watchCommand) once(ctx context.Context, self string, args []string) {
	words := []string{"bpfrun"}
	for _, a := range args {
		words = append(words, shell.Quote(a))
	}
	c.note("%s", strings.Join(words, " "))
	err := c.start(ctx, ".", self, args...)
	c.code = exitOK
	var ended *exec.ExitError
	switch {
	case errors.As(err, &ended):
		c.code = ended.ExitCode()
	case err != nil:
		c.warn("%v", err)
		c.code = exitUsage
	}
}

// compile runs the project's own command, and reports whether there is none or it succeeded.
func (c *watchCommand) compile(ctx context.Context, dir string) bool {
	if c.build == "" {
		return true
	}
	c.note("%s", c.build)
	sh := []string{"sh", "-c"}
	if runtime.GOOS == "windows" {
		sh = []string{"cmd", "/C"}
	}
	if err := c.start(ctx, dir, sh[0], sh[1], c.build); err != nil {
		c.warn("%s: %v", c.build, err)
		c.code = exitUsage
		return false
	}
	return true
}

// start runs a program in a directory, whose output is this command's.
func (c *watchCommand) start(ctx context.Context, dir, name string, args ...string) error {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = dir, c.stdout, c.stderr
	if f := fileOf(c.stdout); f != nil {
		cmd.Stdout = f // so that it sees the terminal
	}
	if f := fileOf(c.stderr); f != nil {
		cmd.Stderr = f
	}
	return cmd.Run()
}

// wait waits until files differ from those in *now, which it updates, and returns which.
func (c *watchCommand) wait(ctx context.Context, f *project.File, args []string, now *map[string]stamp) ([]string, error) {
	for {
		select {
		case <-ctx.Done():
			return nil, codeError{exitInterrupted, errors.New("interrupted")}
		case <-time.After(watchEvery):
		}
		next := c.files(f, args)
		changed := different(*now, next)
		if len(changed) == 0 {
			continue
		}
		for settled := false; !settled && ctx.Err() == nil; {
			time.Sleep(watchSettle)
			again := c.files(f, args)
			settled, next = len(different(next, again)) == 0, again
		}
		changed = different(*now, next)
		*now = next
		if len(changed) > 0 {
			return changed, nil
		}
	}
}

// stamp tells versions of a file apart.
type stamp struct {
	changed time.Time
	size    int64
}

// different returns the files that were added, removed or changed, in order.
func different(a, b map[string]stamp) []string {
	var out []string
	for path, s := range b {
		if a[path] != s {
			out = append(out, path)
		}
	}
	for path := range a {
		if _, ok := b[path]; !ok {
			out = append(out, path)
		}
	}
	slices.Sort(out)
	return out
}

// sourceTypes are the extensions of sources of BPF programs and of what they include.
var sourceTypes = []string{".c", ".h", ".rs", ".cc", ".cpp", ".hpp"}

// isSource reports whether the project has to be compiled again when a file changes.
func isSource(path string) bool { return slices.Contains(sourceTypes, filepath.Ext(path)) }

// files returns what is watched.
func (c *watchCommand) files(f *project.File, args []string) map[string]stamp {
	out := map[string]stamp{}
	here, _ := os.Getwd() // compilers record absolute paths: each file once, by its short name
	add := func(path string) {
		if rel, err := filepath.Rel(here, path); filepath.IsAbs(path) && err == nil && filepath.IsLocal(rel) {
			path = rel
		}
		if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() && len(out) < mostWatched {
			out[filepath.Clean(path)] = stamp{info.ModTime(), info.Size()}
		}
	}
	named := false
	for _, a := range args[1:] {
		_, value, isPair := strings.Cut(a, "=")
		if !isPair {
			value = a
		}
		info, err := os.Stat(value)
		if err != nil || strings.HasPrefix(a, "-") && !isPair || isPair && strings.HasPrefix(a, "html") {
			continue
		}
		named = true
		if info.IsDir() {
			watchedBelow(value, add)
		} else {
			add(value)
		}
	}
	if !named && args[0] == "test" {
		watchedBelow(".", add)
	}
	patterns := []project.Value{}
	for _, p := range c.also {
		patterns = append(patterns, project.Value{Text: p})
	}
	if f != nil {
		add(f.Path)
		patterns = append(append(patterns, f.Objects...), f.Watch...)
	}
	matched, _ := project.Match(patterns, false)
	for _, path := range matched {
		add(path)
	}
	for path := range out {
		if filepath.Ext(path) == ".o" {
			c.sources(path, add)
		}
	}
	return out
}

// watchedBelow calls add for the objects, scenarios and sources in a directory and below it.
func watchedBelow(dir string, add func(path string)) {
	left := mostWatched
	_ = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		left--
		switch {
		case left < 0:
			return filepath.SkipAll
		case err != nil:
			return nil
		case d.IsDir() && path != dir && strings.HasPrefix(d.Name(), "."):
			return filepath.SkipDir
		case d.Type().IsRegular() && (isSource(path) || slices.Contains([]string{".o", ".yaml", ".yml"}, filepath.Ext(path))):
			add(path)
		}
		return nil
	})
}

// sources calls add for the sources of an object, as far as its line information names files that
// are here.
func (c *watchCommand) sources(path string, add func(path string)) {
	if c.known == nil {
		c.known = map[string]knownSources{}
	}
	info, err := os.Stat(path)
	if err != nil {
		return
	}
	now := stamp{info.ModTime(), info.Size()}
	k, ok := c.known[path]
	if !ok || k.of != now {
		k = knownSources{of: now}
		if obj, err := c.app.objects.open(path); err == nil && obj.Ext != nil {
			seen := map[string]bool{}
			for _, sec := range obj.Ext.Lines {
				for _, l := range sec.All() {
					if !seen[l.File] {
						seen[l.File] = true
						k.files = append(k.files, l.File)
					}
				}
			}
		}
		c.known[path] = k
	}
	for _, file := range k.files {
		add(file)
		if !filepath.IsAbs(file) {
			add(filepath.Join(filepath.Dir(path), file))
		}
	}
}

// knownSources are the sources of a version of an object.
type knownSources struct {
	of    stamp
	files []string
}
