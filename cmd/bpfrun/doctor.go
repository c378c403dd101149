package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/bpfrun/bpfrun/btf/embedded"
	"github.com/bpfrun/bpfrun/internal/app/report"
	"github.com/bpfrun/bpfrun/internal/kernels"
	"github.com/bpfrun/bpfrun/internal/machine"
	"github.com/bpfrun/bpfrun/internal/project"
)

// doctorCommand is bpfrun doctor.
type doctorCommand struct {
	*console
	app *app
}

func newDoctorCommand(a *app) *cobra.Command {
	c := &doctorCommand{console: &a.console, app: a}
	return &cobra.Command{
		Use:   "doctor",
		Short: "Check what bpfrun finds and what works on this system",
		Long: `Check what bpfrun finds and what works on this system: which engine runs programs, whether bpfrun exec can supervise a tool (by
running one), the types of the running kernel, the kernels found by name, the caches, the project file and its objects, and the compiler.

Exit code: 1 if something that is there does not work; 0 otherwise.`,
		Example: "  bpfrun doctor",
		Args:    cobra.NoArgs,
		RunE:    func(*cobra.Command, []string) error { return c.doctor() },
	}
}

func (c *doctorCommand) doctor() error {
	doc := &report.DoctorDocument{Schema: report.Schema, Checks: []report.DoctorCheck{}}
	doc.Add("bpfrun", report.DoctorOK, "%s, %s/%s", buildVersion(), runtime.GOOS, runtime.GOARCH)
	if machine.NativeCode() {
		doc.Add("engine", report.DoctorOK, "native code")
	} else {
		doc.Add("engine", report.DoctorNote, "the interpreter: there is no native code on %s/%s", runtime.GOOS, runtime.GOARCH)
	}
	c.supervises(doc)
	c.kernels(doc)
	c.caches(doc)
	c.projects(doc)
	if path, err := exec.LookPath("clang"); err == nil {
		doc.Add("clang", report.DoctorOK, "%s", path)
	} else {
		doc.Add("clang", report.DoctorNote, "not found: only needed to compile objects")
	}
	if doc.Problems() > 0 {
		doc.Exit = exitExpectation
	}
	c.code = doc.Exit
	if c.json {
		return report.WriteJSON(c.stdout, doc)
	}
	table, err := c.table()
	if err != nil {
		return err
	}
	return report.WriteDoctor(c.stdout, doc, table)
}

// supervises runs a tool that does nothing under bpfrun exec: no list of what that needs is as
// good.
func (c *doctorCommand) supervises(doc *report.DoctorDocument) {
	self, err := os.Executable()
	tool, missing := exec.LookPath("true")
	if err != nil || missing != nil {
		doc.Add("exec", report.DoctorNote, "not tried: there is no program true to run")
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	cmd := exec.CommandContext(ctx, self, "exec", "-q", "--btf", "embedded", "--", tool)
	cmd.Env = append(os.Environ(), projectVariable+"=off")
	out, err := cmd.CombinedOutput()
	if err == nil {
		doc.Add("exec", report.DoctorOK, "a tool ran under supervision")
		return
	}
	why := strings.TrimSpace(string(out))
	if why == "" {
		why = err.Error()
	}
	doc.Add("exec", report.DoctorNote, "cannot run tools here: %s", strings.TrimPrefix(why, "bpfrun: "))
}

// kernels tells which kernels have names.
func (c *doctorCommand) kernels(doc *report.DoctorDocument) {
	switch info, err := os.Stat(kernels.HostBTF); {
	case err != nil:
		doc.Add("host kernel", report.DoctorNote, "no types in %s: commands without --btf use the embedded kernel", kernels.HostBTF)
	default:
		if _, err := c.app.kernels.target(btfSource{Source: kernels.HostSource()}); err != nil {
			doc.Add("host kernel", report.DoctorBad, "%s (%d bytes): %v", kernels.HostBTF, info.Size(), err)
		} else {
			doc.Add("host kernel", report.DoctorOK, "%s, %d bytes of types", kernels.HostBTF, info.Size())
		}
	}
	doc.Add("embedded kernel", report.DoctorOK, "%s", embedded.Name)
	places, order := map[string]int{}, []string{}
	list := c.app.kernels.kernelPath().List()
	for _, k := range list {
		if places[k.Place.Title] == 0 {
			order = append(order, k.Place.Title)
		}
		places[k.Place.Title]++
	}
	if len(list) == 0 {
		doc.Add("kernels by name", report.DoctorNote, "none: bpfrun kernels add FILE, or %s=DIRECTORY", kernels.Variable)
		return
	}
	var parts []string
	for _, title := range order {
		parts = append(parts, fmt.Sprintf("%d in %s", places[title], title))
	}
	doc.Add("kernels by name", report.DoctorOK, "%s", strings.Join(parts, ", "))
}

// caches tells where the caches are, whether they can be used, and their size.
func (c *doctorCommand) caches(doc *report.DoctorDocument) {
	types := kernels.Cache()
	if types == nil {
		doc.Add("caches", report.DoctorNote, "off: compressed types are unpacked, and results computed, each time")
		return
	}
	if err := types.Refusal(); err != nil {
		doc.Add("caches", report.DoctorBad, "%v", err)
		return
	}
	for _, x := range []struct{ what, dir string }{{"cache of types", kernels.TypesDir()}, {"cache of results", kernels.CacheDir("results")}} {
		n, size := 0, int64(0)
		entries, err := os.ReadDir(x.dir)
		for _, e := range entries {
			if info, err := e.Info(); err == nil && info.Mode().IsRegular() {
				n, size = n+1, size+info.Size()
			}
		}
		if err != nil {
			doc.Add(x.what, report.DoctorNote, "%s: empty", x.dir)
			continue
		}
		doc.Add(x.what, report.DoctorOK, "%s: %s, %.1f MiB", x.dir, count(n, "file"), float64(size)/(1<<20))
	}
}

// projects reads the project file and looks for what it names.
func (c *doctorCommand) projects(doc *report.DoctorDocument) {
	f, err := c.app.project.get()
	switch {
	case err != nil:
		doc.Add("project", report.DoctorBad, "%v", err)
		return
	case f == nil:
		doc.Add("project", report.DoctorNote, "no %s here or above (bpfrun init OBJECT writes one)", project.Name)
		return
	}
	doc.Add("project", report.DoctorOK, "%s", f.Path)
	objects, err := project.Match(f.Objects, true)
	if err != nil {
		doc.Add("objects", report.DoctorBad, "%v", err)
	}
	for _, path := range objects {
		if obj, err := c.app.objects.open(path); err != nil {
			doc.Add("object", report.DoctorBad, "%s: %v", filepath.Clean(path), err)
		} else {
			doc.Add("object", report.DoctorOK, "%s: %s", filepath.Clean(path), count(len(obj.Programs), "program"))
		}
	}
	c.app.kernels.project = nil
	for _, k := range f.Kernels {
		c.app.kernels.project = append(c.app.kernels.project, k.Text)
	}
	if len(f.Kernels) == 0 {
		return
	}
	if sources, err := c.app.kernels.sources(); err != nil {
		doc.Add("kernels", report.DoctorBad, "%v", err)
	} else {
		doc.Add("kernels", report.DoctorOK, "%s", count(len(sources), "kernel"))
	}
}
