package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/bpfrun/bpfrun/internal/app/report"
	"github.com/bpfrun/bpfrun/internal/verifier"
	"github.com/bpfrun/bpfrun/loader"
)

// infoCommand is bpfrun info.
type infoCommand struct {
	*console
	linker
	sim *machineFlags
}

func newInfoCommand(a *app) *cobra.Command {
	c := &infoCommand{console: &a.console, linker: a.linker(), sim: &a.sim}
	return &cobra.Command{
		Use:   "info OBJECT [--btf KERNEL]",
		Short: "Show the contents of an object, and with --btf what the kernel lacks",
		Example: `  bpfrun info prog.o
  bpfrun info prog.o --btf kernel.btf`,
		Args: oneObject,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(c.kernels.btf) == 0 {
				if err := noKernelFlags(cmd); err != nil {
					return err
				}
			}
			obj, err := c.objects.open(args[0])
			if err != nil {
				return err
			}
			color, err := useColor(c.color, c.stdout)
			if err != nil {
				return err
			}
			doc := report.NewInfoDocument(obj)
			if len(c.kernels.btf) > 0 {
				linked, source, err := c.link(obj)
				if err != nil {
					return err
				}
				doc.AddTarget(linked, source)
				ctx, stop := c.interruptible(context.Background())
				defer stop()
				if err := c.addVerdicts(ctx, doc, linked); err != nil {
					return err
				}
			}
			if c.json {
				return report.WriteJSON(c.stdout, doc)
			}
			return report.WriteInfo(c.stdout, doc, color)
		},
	}
}

// addVerdicts adds the verdicts on all programs: those of the target's verifier, or without it
// those of the loader's checks.
func (c *infoCommand) addVerdicts(ctx context.Context, doc *report.InfoDocument, l *loader.Linked) error {
	checker := verifier.NewChecker(l, verifier.Options{})
	for _, lp := range l.Programs {
		if c.sim.noVerify || !checker.Knows() {
			doc.AddVerdict(lp, nil)
			continue
		}
		v, err := checker.Verdict(ctx, lp)
		if err != nil {
			return codeError{exitInterrupted, fmt.Errorf("interrupted while verifying %s", lp.Name)}
		}
		doc.AddVerdict(lp, v)
	}
	return nil
}
