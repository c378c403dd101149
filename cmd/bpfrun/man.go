//go:build man

package main

import (
	"os"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"
)

// Only `make man` builds with this tag, which keeps the renderer of manual pages out of the
// released binary.
func init() {
	extraCommands = append(extraCommands, func(root *cobra.Command) *cobra.Command {
		return &cobra.Command{
			Use:    "man DIRECTORY",
			Short:  "Write a manual page for each command",
			Hidden: true,
			Args:   exactly(1),
			RunE: func(_ *cobra.Command, args []string) error {
				if err := os.MkdirAll(args[0], 0o755); err != nil {
					return err
				}
				root.DisableAutoGenTag = true // pages must not contain the build date
				return doc.GenManTree(root, &doc.GenManHeader{Title: "BPFRUN", Section: "1", Source: "bpfrun " + buildVersion(), Manual: "bpfrun"}, args[0])
			},
		}
	})
}
