package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/bpfrun/bpfrun/internal/app/scenes"
	bpfexec "github.com/bpfrun/bpfrun/internal/exec"
	"github.com/bpfrun/bpfrun/internal/machine"
	"github.com/bpfrun/bpfrun/internal/visible"
	"github.com/bpfrun/bpfrun/loader"
)

// scene is the scenario that record writes.
type scene struct {
	c      *recordCommand
	linked *loader.Linked
	path   string // of the object, from the directory of the scenario
}

// scene opens the object of a scenario, before anything is read. It is nil if events are to be
// written.
func (c *recordCommand) scene() (*scene, error) {
	path := c.object
	if stem, ok := yamlStem(c.out); ok && path == "" {
		for _, end := range []string{".bpf.o", ".o"} {
			if _, err := os.Stat(stem + end); err == nil {
				path = stem + end
				break
			}
		}
		if path == "" {
			return nil, usagef("-o %s: a scenario is for an object, and neither %s.bpf.o nor %s.o is there: --object FILE names it", c.out, stem, stem)
		}
	}
	if path == "" {
		return nil, nil
	}
	obj, err := c.objects.open(path)
	if err != nil {
		return nil, err
	}
	linked, _, err := c.link(obj)
	if err != nil {
		return nil, err
	}
	return &scene{c, linked, pathFrom(filepath.Dir(c.out), path)}, nil
}

func yamlStem(out string) (string, bool) {
	for _, end := range []string{".yaml", ".yml"} {
		if stem, ok := strings.CutSuffix(out, end); ok {
			return stem, true
		}
	}
	return "", false
}

// write writes the scenario of a file of events.
func (s *scene) write(out io.Writer, events io.Reader) error {
	ev, err := bpfexec.ReadEvents(events)
	if err != nil {
		return err
	}
	cfg, err := s.c.sim.config(false)
	if err != nil {
		return err
	}
	cfg.CPUs = machine.MaxCPUs
	m, err := machine.New(s.linked, cfg)
	if err != nil {
		return err
	}
	defer m.Close()
	root, sum, err := scenes.Scenario(ev, m, s.path)
	if errors.Is(err, scenes.ErrNoRuns) {
		return usageError{fmt.Errorf("%s: %w: the events are at %s", s.linked.Object.Name, err, mostFirst(sum.Unheard, 8))}
	}
	if err != nil {
		return usageError{err}
	}
	if !s.c.quiet {
		visible.Fprintf(s.c.stderr, "bpfrun record: %s of %s in the scenario\n", count(sum.Runs, "run"), count(sum.Events, "event"))
		if len(sum.Unheard) > 0 {
			visible.Fprintf(s.c.stderr, "bpfrun record: no program is at %s\n", mostFirst(sum.Unheard, 8))
		}
		if len(sum.Left) > 0 {
			visible.Fprintf(s.c.stderr, "bpfrun record: no program there takes %s\n", mostFirst(sum.Left, 8))
		}
		if sum.Cut {
			visible.Fprintf(s.c.stderr, "bpfrun record: a scenario has at most %d runs: the events after them were left out\n", scenes.MaxRuns)
		}
	}
	if _, err := io.WriteString(out, "# Recorded by bpfrun record. Replay: bpfrun test FILE; add what each run must do as expect.\n"); err != nil {
		return err
	}
	_, err = out.Write(root.Print())
	return err
}

// mostFirst lists names, the most frequent first, at most n.
func mostFirst(counts map[string]int, n int) string {
	names := slices.SortedFunc(maps.Keys(counts), func(a, b string) int {
		return cmp.Or(counts[b]-counts[a], strings.Compare(a, b))
	})
	more := ""
	if len(names) > n {
		names, more = names[:n], fmt.Sprintf(" and %d more", len(names)-n)
	}
	return strings.Join(names, ", ") + more
}
