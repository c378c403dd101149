package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/bpfrun/bpfrun/loader"
	"github.com/bpfrun/bpfrun/report"
	"github.com/bpfrun/bpfrun/verifier"
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
				ctx, stop := a.interruptible(context.Background())
				defer stop()
				if err := a.addVerdicts(ctx, doc, linked); err != nil {
					return err
				}
			}
			if a.jsonOut {
				return report.WriteJSON(a.stdout, doc)
			}
			return report.WriteInfo(a.stdout, doc, color)
		},
	}
}

// addVerdicts adds what the target's verifier says of every program.
func (a *app) addVerdicts(ctx context.Context, doc *report.InfoDocument, l *loader.Linked) error {
	judge := verifier.NewJudge(l, verifier.Options{})
	if a.noVerify || !judge.Knows() {
		return nil
	}
	for _, lp := range l.Programs {
		v, err := judge.Verdict(ctx, lp)
		if err != nil {
			return codeError{exitInterrupted, fmt.Errorf("interrupted while %s was verified", lp.Name)}
		}
		doc.AddVerdict(lp, v)
	}
	return nil
}
