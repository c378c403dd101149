package main

import (
	"fmt"
	"io"
	"slices"

	"github.com/spf13/pflag"

	"github.com/bpfrun/bpfrun/internal/app/pass"
	"github.com/bpfrun/bpfrun/internal/verifier/profile"
)

// profileFlags are the flags of verify about profiles, and the profiles.
type profileFlags struct {
	on   bool
	out  []string
	many bool // several objects or kernels are verified

	files    map[string]string
	profiles []*profile.Profile
}

// profileFormats are the files that --profile-out writes, in this order.
var profileFormats = []string{"html", "pprof", "source", "speedscope"}

func (f *profileFlags) add(fl *pflag.FlagSet) {
	fl.BoolVar(&f.on, "profile", false, "show what costs how many processed instructions and states, and what to change")
	fl.StringArrayVar(&f.out, "profile-out", nil, "write the profile: html=`FILE` (heat map), source=FILE (annotated source; source=-: to standard output, in place of the table), pprof=FILE or speedscope=FILE; repeatable")
}

func (f *profileFlags) wanted() bool { return f.on || len(f.out) > 0 }

// check checks the flags.
func (f *profileFlags) check() error {
	const want = "html=FILE, source=FILE, pprof=FILE or speedscope=FILE"
	files, err := pairsOf("profile-out", f.out, want)
	if err != nil {
		return err
	}
	for kind, path := range files {
		if !slices.Contains(profileFormats, kind) || path == "" {
			return usagef("--profile-out %s=%s: want %s", kind, path, want)
		}
		if path == "-" {
			if kind != "source" {
				return usagef("--profile-out %s=-: want a file (only source=- is standard output)", kind)
			}
			continue
		}
		if err := checkWritable(path); err != nil {
			return usageError{fmt.Errorf("--profile-out %s=%s: %w", kind, path, err)}
		}
	}
	f.files = files
	return nil
}

// toStdout reports whether the annotated source takes the place of the table.
func (f *profileFlags) toStdout() bool { return f.files["source"] == "-" }

// of makes the profile of a verification.
func (f *profileFlags) of(j *pass.Judged, names profile.Names) *profile.Profile {
	r := profile.New(j.Kernel, j.Input, j.Verdict, j.Costs, names)
	if f.many {
		r.Program = fmt.Sprintf("%s of %s on %s", j.Program.Name, j.Linked.Object.Name, j.Linked.Target.Name)
	}
	f.profiles = append(f.profiles, r)
	return r
}

// write writes the requested files.
func (f *profileFlags) write(stdout io.Writer) error {
	for _, kind := range profileFormats {
		path := f.files[kind]
		if path == "" {
			continue
		}
		var err error
		switch kind {
		case "html":
			err = writeFile(path, func(w io.Writer) error { return profile.WriteHTML(w, "What verification costs", f.profiles, nil) })
		case "source":
			annotated := func(w io.Writer) error {
				for _, p := range f.profiles {
					if err := p.WriteAnnotated(w, nil); err != nil {
						return err
					}
				}
				return nil
			}
			if f.toStdout() {
				err = annotated(stdout)
			} else {
				err = writeText(path, annotated)
			}
		case "pprof":
			if len(f.profiles) > 0 {
				err = writeFile(path, func(w io.Writer) error { return profile.WritePprof(w, f.profiles) })
			}
		case "speedscope":
			err = writeFile(path, func(w io.Writer) error { return profile.WriteSpeedscope(w, f.profiles) })
		}
		if err != nil {
			return usageError{fmt.Errorf("--profile-out %s=%s: %w", kind, path, err)}
		}
	}
	return nil
}
