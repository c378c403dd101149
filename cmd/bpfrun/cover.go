package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/bpfrun/bpfrun/internal/app/cover"
	"github.com/bpfrun/bpfrun/internal/app/report"
	"github.com/bpfrun/bpfrun/internal/exitcode"
	"github.com/bpfrun/bpfrun/internal/machine"
	"github.com/bpfrun/bpfrun/internal/visible"
)

// coverFlags are the flags of commands that collect coverage.
type coverFlags struct {
	on  bool
	out []string
	min string
}

func (f *coverFlags) add(fl *pflag.FlagSet) {
	fl.BoolVar(&f.on, "cover", false, "report which lines, branches, functions and instructions were executed; code that is dead on a kernel does not count")
	f.addOutputs(fl)
	fl.StringVar(&f.min, "cover-min", "", "fail if less than `PERCENT` of the lines were executed, such as 80%")
}

func (f *coverFlags) addOutputs(fl *pflag.FlagSet) {
	listVar(fl, &f.out, "cover-out", "", "write coverage: lcov=`FILE`, html=DIR or json=FILE (for bpfrun cover merge); repeatable")
}

// coverage collects coverage and writes the requested outputs.
type coverage struct {
	collector *cover.Collector
	out       map[string]string
	min       float64 // -1 for none
	silent    bool    // no table: the document contains the figures
}

// begin checks the flags. It returns nil if no coverage is requested.
func (f *coverFlags) begin() (*coverage, error) {
	if !f.on && len(f.out) == 0 && f.min == "" {
		return nil, nil
	}
	c := &coverage{collector: cover.NewCollector(), min: -1}
	var err error
	if c.out, err = coverOutputs(f.out); err != nil {
		return nil, err
	}
	if f.min != "" {
		if c.min, err = parseShare(f.min); err != nil {
			return nil, usagef("--cover-min %w", err)
		}
	}
	return c, nil
}

// parseShare reads a percentage from 0 to 100.
func parseShare(text string) (float64, error) {
	v, err := strconv.ParseFloat(strings.TrimSuffix(strings.TrimSpace(text), "%"), 64)
	if err != nil || !(v >= 0 && v <= 100) {
		return 0, fmt.Errorf("%q: want a percentage such as 80%%", text)
	}
	return v, nil
}

func coverOutputs(flags []string) (map[string]string, error) {
	const want = "lcov=FILE, html=DIR or json=FILE"
	files, err := pairsOf("cover-out", flags, want)
	if err != nil {
		return nil, err
	}
	for kind, path := range files {
		switch {
		case !slices.Contains([]string{"lcov", "html", "json"}, kind) || path == "":
			return nil, usagef("--cover-out %s=%s: want %s", kind, path, want)
		case kind == "html":
			if info, err := os.Stat(path); err == nil && !info.IsDir() {
				return nil, usagef("--cover-out html=%s: this is a file, want a directory", path)
			}
			continue
		}
		if err := checkWritable(path); err != nil {
			return nil, err
		}
	}
	return files, nil
}

// sink returns the collector for machines.
func (c *coverage) sink() machine.CoverSink {
	if c == nil {
		return nil
	}
	return c.collector
}

// totals returns the totals for reports.
func (c *coverage) totals() ([]report.Covered, error) {
	if c == nil {
		return nil, nil
	}
	p, err := c.collector.Profile()
	if err != nil {
		return nil, err
	}
	return coverTotals(p.Source("").Totals), nil
}

func coverTotals(t cover.Totals) []report.Covered {
	var out []report.Covered
	for _, x := range []struct {
		what string
		c    cover.Count
	}{{"lines", t.Lines}, {"branches", t.Branches}, {"functions", t.Functions}, {"instructions", t.Insns}} {
		r := report.Covered{What: x.what, Hit: x.c.Hit, All: x.c.All}
		if p, ok := x.c.Percent(); ok {
			r.Percent = fmt.Sprintf("%.1f%%", p)
		}
		out = append(out, r)
	}
	return out
}

// finish reports the coverage, writes the requested files, and checks the minimum.
func (c *coverage) finish(con *console, w io.Writer) error {
	if c == nil {
		return nil
	}
	p, err := c.collector.Profile()
	if err != nil {
		return codeError{exitExpectation, err}
	}
	if !con.quiet && !c.silent {
		if err := writeCover(w, p); err != nil {
			return err
		}
	}
	if err := writeCoverFiles(p, c.out); err != nil {
		return err
	}
	if c.min < 0 {
		return nil
	}
	lines := p.Source("").Totals.Lines
	if percent, ok := lines.Percent(); !ok || percent < c.min {
		visible.Fprintf(con.stderr, "bpfrun: coverage of lines is %s, --cover-min wants %g%%\n", lines, c.min)
		con.code = exitcode.Worse(con.code, exitExpectation)
	}
	return nil
}

// writeCover writes a table of files.
func writeCover(w io.Writer, p *cover.Profile) error {
	s := p.Source("")
	t := tabwriter.NewWriter(w, 0, 8, 2, ' ', 0)
	visible.Fprintf(t, "\nCOVERAGE\tLINES\tBRANCHES\tFUNCTIONS\tINSTRUCTIONS\tDEAD\n")
	row := func(name string, x cover.Totals) {
		dead := "-"
		if n := x.Insns.Dead; n > 0 {
			dead = strconv.Itoa(n)
		}
		visible.Fprintf(t, "%s\t%s\t%s\t%s\t%s\t%s\n", name, x.Lines, x.Branches, x.Functions, x.Insns, dead)
	}
	for _, f := range s.Files {
		row(f.Path, f.Totals)
	}
	if len(s.Files) != 1 || len(s.Unmapped) > 0 {
		row("total", s.Totals)
	}
	if err := t.Flush(); err != nil {
		return err
	}
	if len(s.Unmapped) > 0 {
		_, err := visible.Fprintf(w, "without line information: %s\n", strings.Join(s.Unmapped, ", "))
		return err
	}
	return nil
}

func writeCoverFiles(p *cover.Profile, files map[string]string) error {
	for kind, path := range files {
		var err error
		switch kind {
		case "lcov":
			err = writeFile(path, p.WriteLCOV)
		case "json":
			err = writeFile(path, p.Write)
		case "html":
			err = p.WriteHTML(path, nil)
		}
		if err != nil {
			return usageError{fmt.Errorf("--cover-out %s=%s: %w", kind, path, err)}
		}
	}
	return nil
}

// coverMergeCommand is bpfrun cover merge.
type coverMergeCommand struct {
	*console

	flags   coverFlags
	reports reportFiles
}

func newCoverCommand(a *app) *cobra.Command {
	c := &coverMergeCommand{console: &a.console}
	cmd := &cobra.Command{
		Use:   "cover",
		Short: "Merge and show coverage that test --cover-out json=FILE wrote",
		Long: `Merge the coverage of several runs. bpfrun test --cover and bpfrun run --cover measure it, on unmodified objects;
--cover-out json=FILE saves it, to be merged across runs, scenario files, kernels and processes.`,
	}

	merge := &cobra.Command{
		Use:   "merge FILE.json...",
		Short: "Merge coverage files and write them in other formats",
		Long: `Add up the counts of files that --cover-out json=FILE wrote. Coverage of two versions of an object, or of two kernels with the
same name, is refused, and nothing is written.`,
		Example: "  bpfrun cover merge a.json b.json --cover-out json=all.json\n  bpfrun cover merge shard-*.json --cover-out html=coverage --cover-min 80%",
		Args:    cobra.MinimumNArgs(1),
		RunE:    func(_ *cobra.Command, args []string) error { return c.merge(args) },
	}
	fl := merge.Flags()
	c.flags.addOutputs(fl)
	c.reports.add(fl, "html")
	fl.StringVar(&c.flags.min, "cover-min", "", "fail if less than `PERCENT` of the lines were executed, such as 80%")
	cmd.AddCommand(merge)
	return cmd
}

func (m *coverMergeCommand) merge(files []string) error {
	m.flags.on = true
	if err := m.reports.check(); err != nil {
		return err
	}
	c, err := m.flags.begin()
	if err != nil {
		return err
	}
	all := cover.New()
	for _, name := range files {
		file, err := os.Open(name)
		if err != nil {
			return usageError{err}
		}
		p, err := cover.Read(file)
		file.Close()
		if err == nil {
			err = all.Merge(p)
		}
		if err != nil {
			var mismatch *cover.MismatchError
			if errors.As(err, &mismatch) {
				err = fmt.Errorf("%w; nothing was written", err)
			}
			return usageError{fmt.Errorf("%s: %w", filepath.Clean(name), err)}
		}
	}
	if err := m.reports.write("html", func(w io.Writer) error { return all.WritePage(w, nil) }); err != nil {
		return err
	}
	c.collector = cover.CollectorOf(all)
	c.silent = m.json
	if err := c.finish(m.console, m.stdout); err != nil || !m.json {
		return err
	}
	return report.WriteJSON(m.stdout, newCoverDocument(all, m.code))
}

// coverDocument is the JSON of cover merge: the coverage of each source file and the total.
type coverDocument struct {
	Schema   string      `json:"schema"`
	Exit     int         `json:"exit"`
	Files    []coverFile `json:"files"`
	Total    coverFile   `json:"total"`
	Unmapped []string    `json:"unmapped,omitempty"` // programs without line information
}

// coverFile is the coverage of a file. Dead instructions are unreachable on the kernels that ran,
// and do not count.
type coverFile struct {
	Path         string     `json:"path,omitempty"`
	Lines        coverCount `json:"lines"`
	Branches     coverCount `json:"branches"`
	Functions    coverCount `json:"functions"`
	Instructions coverCount `json:"instructions"`
	Dead         int        `json:"dead"`
}

type coverCount struct {
	Hit int `json:"hit"`
	All int `json:"all"`
}

func newCoverDocument(p *cover.Profile, exit int) *coverDocument {
	of := func(path string, t cover.Totals) coverFile {
		count := func(c cover.Count) coverCount { return coverCount{c.Hit, c.All} }
		return coverFile{path, count(t.Lines), count(t.Branches), count(t.Functions), count(t.Insns), t.Insns.Dead}
	}
	s := p.Source("")
	d := &coverDocument{Schema: report.Schema, Exit: exit, Files: []coverFile{}, Total: of("", s.Totals), Unmapped: s.Unmapped}
	for _, f := range s.Files {
		d.Files = append(d.Files, of(f.Path, f.Totals))
	}
	return d
}
