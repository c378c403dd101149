package main

import (
	"io"

	"github.com/spf13/cobra"

	"github.com/bpfrun/bpfrun/internal/app/report"
	"github.com/bpfrun/bpfrun/internal/packet"
)

// topics are help texts that belong to no command: bpfrun help NAME. They are generated on demand.
var topics = []struct {
	name, short string
	write       func(w io.Writer, root *cobra.Command) error
}{
	{"flags", "Flags of several commands", writeFlags},
	{"json", "The JSON Schema of what --json prints", func(w io.Writer, _ *cobra.Command) error { return report.WriteJSONSchema(w, published()) }},
	{"packets", "Packet expressions: layers, fields, payload, truncation", func(w io.Writer, _ *cobra.Command) error { return packet.WriteReference(w) }},
}

// topicCommands returns commands that cannot run and only have a help text.
func topicCommands(c *console) []*cobra.Command {
	var out []*cobra.Command
	for _, t := range topics {
		cmd := &cobra.Command{Use: t.name, Short: t.short}
		cmd.SetHelpFunc(func(cmd *cobra.Command, _ []string) {
			if err := t.write(cmd.OutOrStdout(), cmd.Root()); err != nil {
				c.code = exitUsage
				cmd.PrintErrf("bpfrun: %v\n", err)
			}
		})
		out = append(out, cmd)
	}
	return out
}
