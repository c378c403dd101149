package core

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/bpfrun/bpfrun/loader"
)

// Line is one line of a file of expectations: a relocation, or the hash of a program's code after
// CO-RE. Files from the libbpf harness (conformance/libbpf) and older recorders have additional
// fields; those that help to find the record are included.
type Line struct {
	Object  string `json:"object"`
	BTF     string `json:"btf"`
	Program string `json:"program,omitempty"` // ELF function
	// Relo is the index of the record in its section of .BTF.ext, Insn the instruction in the
	// function. One of them is enough.
	Relo *int `json:"relo,omitempty"`
	Insn *int `json:"insn,omitempty"`
	// Kind is libbpf's name of the kind; Spec or Local is the access in libbpf's notation.
	Kind  string `json:"kind,omitempty"`
	Spec  string `json:"spec,omitempty"`
	Local string `json:"local,omitempty"`
	// Old and New are numbers, or strings in hex; null if nothing was patched.
	Old     json.RawMessage `json:"old,omitempty"`
	New     json.RawMessage `json:"new,omitempty"`
	MemSize string          `json:"mem_size,omitempty"`
	Result  string          `json:"result,omitempty"` // ok, poison, error
	Core    string          `json:"core,omitempty"`
	// Status is libbpf's return value for the whole object. A line with Status describes no record.
	Status *int `json:"status,omitempty"`
}

// Kernel is a BTF that expectations refer to.
type Kernel struct {
	Name string // as in the lines; extensions such as .btf.xz are ignored
	Open func() (*loader.Target, error)
}

// Config locates objects and kernels.
type Config struct {
	Objects  string // directory
	Kernels  []Kernel
	Parallel int // goroutines, 0 for one
}

// Result counts lines.
type Result struct {
	Passed, Failed int
	// Deviations counts lines in which this engine deliberately differs from libbpf. They count as
	// neither passed nor failed.
	Deviations int
}

// Summary returns the last line of a report: "N passed, M failed".
func (r *Result) Summary() string { return fmt.Sprintf("%d passed, %d failed", r.Passed, r.Failed) }

// Check compares this engine's relocations with those of an expectation file, which may be
// compressed. It writes a line to w for each difference, in file order. The error is for input that
// cannot be read; lines whose objects or kernels are missing fail.
func Check(path string, cfg Config, w io.Writer) (Result, error) {
	var groups []*group
	byKey := map[[2]string]*group{}
	err := readLines(path, func(n int, l Line) error {
		if l.Object == "" || l.BTF == "" || l.Kind == "" && l.Core == "" && l.Result == "" && l.Status == nil {
			return fmt.Errorf("line %d is not an expectation: want object, btf and kind, core or result", n)
		}
		key := [2]string{l.Object, l.BTF}
		if byKey[key] == nil {
			byKey[key] = &group{object: l.Object, btf: l.BTF}
			groups = append(groups, byKey[key])
		}
		byKey[key].lines = append(byKey[key].lines, l)
		return nil
	})
	if err != nil {
		return Result{}, err
	}
	judgeAll(groups, cfg)
	var res Result
	for _, g := range groups {
		for i := range g.lines {
			switch what := g.verdicts[i]; {
			case g.lines[i].Status != nil:
			case what.deliberate != "":
				res.Deviations++
				fmt.Fprintf(w, "%s: deviates on purpose: %s\n", g.lines[i].id(), what.deliberate)
			case what.difference != "":
				res.Failed++
				fmt.Fprintf(w, "%s: %s\n", g.lines[i].id(), what.difference)
			default:
				res.Passed++
			}
		}
	}
	return res, nil
}

// id identifies a line in messages.
func (l *Line) id() string {
	id := l.Object + " on " + l.BTF
	if l.Program != "" {
		id += ": " + l.Program
	}
	switch {
	case l.Core != "":
		id += " core hash"
	case l.Insn != nil && *l.Insn >= 0:
		id += " insn " + strconv.Itoa(*l.Insn) + " " + l.Kind
	case l.Relo != nil:
		id += " relo " + strconv.Itoa(*l.Relo) + " " + l.Kind
	}
	return id
}

// group is the lines of one object and kernel.
type group struct {
	object, btf string
	lines       []Line
	verdicts    []verdict
}

// verdict is empty for a line that agrees.
type verdict struct{ difference, deliberate string }

func (g *group) fail(format string, args ...any) {
	g.verdicts = make([]verdict, len(g.lines))
	for i := range g.verdicts {
		g.verdicts[i].difference = fmt.Sprintf(format, args...)
	}
}

// judgeAll checks the groups kernel by kernel, so that only one kernel's types are in memory.
func judgeAll(groups []*group, cfg Config) {
	objects := newObjectFinder(cfg.Objects)
	byBTF := map[string][]*group{}
	var order []string
	for _, g := range groups {
		name := trimBTF(g.btf)
		if byBTF[name] == nil {
			order = append(order, name)
		}
		byBTF[name] = append(byBTF[name], g)
	}
	for _, name := range order {
		at := slices.IndexFunc(cfg.Kernels, func(k Kernel) bool { return trimBTF(k.Name) == name })
		var target *loader.Target
		err := fmt.Errorf("no BTF of this name was given")
		if at >= 0 {
			target, err = cfg.Kernels[at].Open()
		}
		queue := make(chan *group)
		var wg sync.WaitGroup
		for range max(cfg.Parallel, 1) {
			wg.Add(1)
			go func() {
				defer wg.Done()
				for g := range queue {
					if err != nil {
						g.fail("BTF: %v", err)
						continue
					}
					g.judge(objects, target)
				}
			}()
		}
		for _, g := range byBTF[name] {
			queue <- g
		}
		close(queue)
		wg.Wait()
	}
}

// trimBTF removes the directory and extensions from a BTF's name.
func trimBTF(name string) string {
	name = filepath.Base(name)
	for _, end := range []string{".xz", ".gz", ".zst", ".tar", ".btf"} {
		name = strings.TrimSuffix(name, end)
	}
	return name
}

// objectFinder opens each object once, by its path below a directory, or by its file name if that
// is unique.
type objectFinder struct {
	dir string

	mu     sync.Mutex
	opened map[string]func() (*loader.Object, error)
	byName map[string][]string
}

func newObjectFinder(dir string) *objectFinder {
	return &objectFinder{dir: dir, opened: map[string]func() (*loader.Object, error){}}
}

func (f *objectFinder) open(name string) (*loader.Object, error) {
	f.mu.Lock()
	once := f.opened[name]
	if once == nil {
		once = sync.OnceValues(func() (*loader.Object, error) {
			path, err := f.find(name)
			if err != nil {
				return nil, err
			}
			return loader.Open(path)
		})
		f.opened[name] = once
	}
	f.mu.Unlock()
	return once()
}

func (f *objectFinder) find(name string) (string, error) {
	path := filepath.Join(f.dir, filepath.FromSlash(name))
	_, err := os.Stat(path)
	if err == nil {
		return path, nil
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.byName == nil {
		f.byName = map[string][]string{}
		werr := filepath.WalkDir(f.dir, func(path string, d os.DirEntry, err error) error {
			if err == nil && d.Type().IsRegular() {
				f.byName[d.Name()] = append(f.byName[d.Name()], path)
			}
			return err
		})
		if werr != nil {
			return "", werr
		}
	}
	switch found := f.byName[filepath.Base(name)]; len(found) {
	case 0:
		return "", err
	case 1:
		return found[0], nil
	default:
		return "", fmt.Errorf("%d files below %s have this name", len(found), f.dir)
	}
}
