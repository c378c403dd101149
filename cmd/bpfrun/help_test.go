package main

import (
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"github.com/stretchr/testify/assert"
)

// Every flag that all commands take is in one group of the help, and no command's help describes it
// again.
func TestFlagsOfAllCommandsAreDescribedOnce(t *testing.T) {
	root := newApp(nil, nil).rootCommand()
	grouped := map[string]int{}
	for _, g := range flagGroups {
		for _, f := range g.flags {
			grouped[f]++
		}
	}
	root.PersistentFlags().VisitAll(func(f *pflag.Flag) { assert.Equal(t, 1, grouped[f.Name], "--%s", f.Name) })
	var walk func(cmd *cobra.Command)
	walk = func(cmd *cobra.Command) {
		if cmd.IsAvailableCommand() {
			help := cmd.UsageString()
			root.PersistentFlags().VisitAll(func(f *pflag.Flag) {
				assert.NotContains(t, strings.ReplaceAll(help, "\n", " "), f.Usage, "%s describes --%s", cmd.CommandPath(), f.Name)
			})
		}
		for _, c := range cmd.Commands() {
			walk(c)
		}
	}
	walk(root)
}

func TestGroupedCommandsExist(t *testing.T) {
	root := newApp(nil, nil).rootCommand()
	var names []string
	for _, c := range root.Commands() {
		names = append(names, c.Name())
	}
	for _, g := range commandGroups {
		for _, n := range g.commands {
			assert.True(t, slices.Contains(names, n), n)
		}
	}
}
