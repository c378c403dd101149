package main

import (
	"fmt"
	"runtime/debug"

	"github.com/spf13/cobra"

	"github.com/bpfrun/bpfrun/btf/embedded"
)

func versionCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print the version of bpfrun and of the embedded kernel's types",
		Args:  cobra.NoArgs,
		Run: func(*cobra.Command, []string) {
			version := "(devel)"
			if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" {
				version = info.Main.Version
			}
			fmt.Fprintf(a.stdout, "bpfrun %s\nembedded kernel %s\n", version, embedded.Name)
		},
	}
}
