package main

import (
	"github.com/spf13/cobra"

	"github.com/bpfrun/bpfrun/report"
)

func (a *app) infoCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "info OBJECT [--btf KERNEL]",
		Short: "Show what is in an object, and with --btf what that kernel lacks of it",
		Args:  oneObject,
		RunE: func(_ *cobra.Command, args []string) error {
			obj, err := a.openObject(args[0])
			if err != nil {
				return err
			}
			color, err := useColor(a.color, a.stdout)
			if err != nil {
				return err
			}
			doc := report.NewInfoDocument(obj)
			if len(a.btf) > 0 {
				linked, source, err := a.link(obj)
				if err != nil {
					return err
				}
				doc.AddTarget(linked, source)
			}
			if a.jsonOut {
				return report.WriteJSON(a.stdout, doc)
			}
			return report.WriteInfo(a.stdout, doc, color)
		},
	}
}
