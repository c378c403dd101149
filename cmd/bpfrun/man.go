//go:build man

package main

import (
	"os"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"
)

// Only `make man` builds with this tag: the renderer of manual pages has no place in the binary that users install.
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
				root.DisableAutoGenTag = true // pages do not depend on the day they were made
				return doc.GenManTree(root, &doc.GenManHeader{Title: "BPFRUN", Section: "1", Source: "bpfrun " + buildVersion(), Manual: "bpfrun"}, args[0])
			},
		}
	})
}
