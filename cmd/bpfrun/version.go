package main

import (
	"runtime/debug"

	"github.com/spf13/cobra"

	"github.com/bpfrun/bpfrun/btf/embedded"
	"github.com/bpfrun/bpfrun/internal/app/report"
	"github.com/bpfrun/bpfrun/internal/visible"
)

// version is set by release builds (-X main.version=1.2.3). Other builds use the version recorded
// by the Go command.
var version string

// buildVersion returns the release, else the module version and the commit of the build, else
// "(devel)".
func buildVersion() string {
	if version != "" {
		return version
	}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "(devel)"
	}
	v := info.Main.Version
	if v == "" || v == "(devel)" {
		v = "(devel)"
		for _, s := range info.Settings {
			if s.Key == "vcs.revision" {
				v += " " + s.Value
			}
		}
	}
	return v
}

// version prints the output of bpfrun version and --version.
func (c *console) version() error {
	if c.json {
		return report.WriteJSON(c.stdout, report.VersionDocument{Schema: report.Schema, Version: buildVersion(), Embedded: embedded.Name})
	}
	_, err := visible.Fprintf(c.stdout, "bpfrun %s\nembedded kernel %s\n", buildVersion(), embedded.Name)
	return err
}

func newVersionCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use:     "version",
		Short:   "Print the version of bpfrun and of the embedded kernel's types; with -v also the kernels found by name",
		Example: "  bpfrun version\n  bpfrun version -v",
		Args:    cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			if err := a.console.version(); err != nil || a.console.json || !a.console.verbose {
				return err
			}
			for _, k := range a.kernels.kernelPath().List() {
				if _, err := visible.Fprintf(a.console.stdout, "kernel %s (%s)\n", k.Name, k.Place.Title); err != nil {
					return err
				}
			}
			return nil
		},
	}
}
