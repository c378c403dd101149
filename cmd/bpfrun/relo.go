package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/bpfrun/bpfrun/loader"
	"github.com/bpfrun/bpfrun/report"
)

func (a *app) reloCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "relo OBJECT [--btf KERNEL]",
		Short: "List every CO-RE relocation: access, old and new value, source line, what exists instead",
		Args:  cobra.MinimumNArgs(1),
		RunE:  func(_ *cobra.Command, args []string) error { return a.relo(args) },
	}
}

func (a *app) relo(paths []string) error {
	color, err := useColor(a.color, a.stdout)
	if err != nil {
		return err
	}
	sources, err := a.btfSources()
	if err != nil {
		return err
	}
	all := report.ReloDocuments{Schema: report.Schema}
	for _, path := range paths {
		obj, err := a.openObject(path)
		if err != nil {
			return err
		}
		for i, s := range sources {
			a.progress(len(sources), i, s.name)
			linked, err := a.linkOn(obj, s)
			if err != nil {
				return err
			}
			doc := report.NewReloDocument(linked, s.source)
			for _, p := range doc.Programs {
				for _, r := range p.Relocations {
					if r.Result == "error" || r.Verdict == loader.Break.String() {
						doc.Exit = exitLoad
					}
				}
			}
			all.Results = append(all.Results, doc)
			all.Exit = worse(all.Exit, doc.Exit)
			if a.jsonOut {
				continue
			}
			if len(all.Results) > 1 {
				fmt.Fprintln(a.stdout)
			}
			if err := report.WriteRelo(a.stdout, doc, color); err != nil {
				return err
			}
		}
	}
	a.code = all.Exit
	switch {
	case !a.jsonOut:
		return nil
	case len(all.Results) == 1:
		return report.WriteJSON(a.stdout, all.Results[0])
	}
	return report.WriteJSON(a.stdout, all)
}

// link links an object for the one target that is named.
func (a *app) link(obj *loader.Object) (*loader.Linked, string, error) {
	sources, err := a.btfSources()
	if err != nil {
		return nil, "", err
	}
	if len(sources) != 1 {
		return nil, "", usagef("--btf names %d kernels; this command takes one", len(sources))
	}
	linked, err := a.linkOn(obj, sources[0])
	return linked, sources[0].source, err
}
