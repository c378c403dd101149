package main

import (
	"fmt"
	"io"

	"github.com/spf13/pflag"

	"github.com/bpfrun/bpfrun/internal/app/report"
	"github.com/bpfrun/bpfrun/internal/flame"
)

// runProfile are the flags of run about profiles, and the profile.
type runProfile struct {
	on    bool
	out   []string
	files map[string]string

	counts report.RunProfile
}

func (p *runProfile) add(fl *pflag.FlagSet) {
	fl.BoolVar(&p.on, "profile", false, "show which lines execute how many instructions; with -o html=FILE as a flame graph")
	listVar(fl, &p.out, "profile-out", "", "write the profile: pprof=`FILE` or speedscope=FILE; repeatable")
}

func (p *runProfile) wanted() bool { return p.on || len(p.out) > 0 }

// check checks the flags.
func (p *runProfile) check() error {
	const want = "pprof=FILE or speedscope=FILE"
	files, err := pairsOf("profile-out", p.out, want)
	if err != nil {
		return err
	}
	for kind, path := range files {
		if kind != "pprof" && kind != "speedscope" || path == "" {
			return usagef("--profile-out %s=%s: want %s", kind, path, want)
		}
		if err := checkWritable(path); err != nil {
			return usageError{fmt.Errorf("--profile-out %s=%s: %w", kind, path, err)}
		}
	}
	p.files = files
	return nil
}

// page is the profile for a page; nil without one.
func (p *runProfile) page() *report.RunProfile {
	if !p.wanted() {
		return nil
	}
	return &p.counts
}

// write writes the requested files.
func (p *runProfile) write() error {
	for kind, path := range p.files {
		if err := writeFile(path, func(w io.Writer) error {
			if kind == "pprof" {
				return flame.WritePprof(w, p.counts.Flames())
			}
			return flame.WriteSpeedscope(w, "bpfrun run", p.counts.Flames())
		}); err != nil {
			return usageError{fmt.Errorf("--profile-out %s=%s: %w", kind, path, err)}
		}
	}
	return nil
}
