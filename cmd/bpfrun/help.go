package main

import (
	"cmp"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/bpfrun/bpfrun/internal/nearest"
	"github.com/bpfrun/bpfrun/internal/visible"
)

// flagGroups group the global flags by topic. bpfrun help flags describes them; the help of a
// command only names them.
var flagGroups = []struct {
	name, title string
	flags       []string
}{
	{"kernel", "The kernel to simulate", []string{"btf", "module-btf", "kernel-version", "kconfig", "kallsyms", "no-cache"}},
	{"object", "How the object is opened and loaded", []string{"loader", "type", "map-size", "inner-map", "extern", "global", "attach", "attach-prog", "no-load", "optional", "light-skeleton"}},
	{"run", "The simulated machine", []string{"seed", "clock", "cpu", "cpus", "max-insns", "engine", "strict", "ignore", "no-verify"}},
	{"output", "What is printed", []string{"json", "color", "quiet", "verbose"}},
}

// commandGroups order the commands in the help of bpfrun; those without a group come last.
var commandGroups = []struct {
	title    string
	commands []string
}{
	{"Run and test", []string{"run", "test", "fuzz", "race", "cover", "debug", "dap", "bench", "play"}},
	{"Run tools", []string{"exec", "fire", "record"}},
	{"Look at objects on kernels", []string{"matrix", "verify", "require", "diff", "relo", "info", "disasm"}},
	{"Kernel types", []string{"btf", "kernels"}},
	{"Scenario files", []string{"scenario"}},
	{"A project", []string{"init", "watch", "doctor"}},
}

// usage prints the usage of a command. Global flags are only named, not described again.
func usage(cmd *cobra.Command) error {
	var b strings.Builder
	b.WriteString("Usage:\n")
	if cmd.Runnable() && (cmd == cmd.Root() || !cmd.HasAvailableSubCommands()) {
		visible.Fprintf(&b, "  %s\n", cmd.UseLine())
	}
	if cmd.HasAvailableSubCommands() {
		visible.Fprintf(&b, "  %s COMMAND\n", cmd.CommandPath())
	}
	if cmd.HasExample() {
		visible.Fprintf(&b, "\nExamples:\n%s\n", visible.Lines(cmd.Example))
	}
	writeCommands(&b, cmd)
	if own := ownFlags(cmd); own.HasAvailableFlags() {
		visible.Fprintf(&b, "\nFlags:\n%s", visible.Lines(own.FlagUsages()))
	}
	b.WriteString("\nGlobal flags (bpfrun help flags describes them):\n")
	for _, g := range flagGroups {
		used := slices.DeleteFunc(slices.Clone(g.flags), func(name string) bool {
			return cmd.Runnable() && !usesFlag(cmd, name)
		})
		if len(used) > 0 {
			visible.Fprintf(&b, "  %-8s --%s\n", g.name, strings.Join(used, " --"))
		}
	}
	_, err := io.WriteString(cmd.OutOrStderr(), b.String())
	return err
}

// ownFlags returns the flags of a command without the global ones.
func ownFlags(cmd *cobra.Command) *pflag.FlagSet {
	own := pflag.NewFlagSet(cmd.Name(), pflag.ContinueOnError)
	shared := cmd.Root().PersistentFlags()
	cmd.LocalFlags().VisitAll(func(f *pflag.Flag) {
		if shared.Lookup(f.Name) != f {
			own.AddFlag(f)
		}
	})
	return own
}

// writeCommands lists the subcommands of a command.
func writeCommands(b *strings.Builder, cmd *cobra.Command) {
	if !cmd.HasAvailableSubCommands() && !cmd.HasHelpSubCommands() {
		return
	}
	width := 0
	left := map[string]*cobra.Command{}
	var order []string
	for _, c := range cmd.Commands() {
		if c.IsAvailableCommand() || c.IsAdditionalHelpTopicCommand() && !c.Hidden {
			left[c.Name()] = c
			order = append(order, c.Name())
			width = max(width, len(c.Name()))
		}
	}
	list := func(title string, names []string) {
		if names = slices.DeleteFunc(slices.Clone(names), func(n string) bool { return left[n] == nil }); len(names) == 0 {
			return
		}
		visible.Fprintf(b, "\n%s:\n", title)
		for _, n := range names {
			visible.Fprintf(b, "  %-*s  %s\n", width, n, left[n].Short)
			delete(left, n)
		}
	}
	other := "Commands"
	if cmd == cmd.Root() {
		other = "More"
		for _, g := range commandGroups {
			list(g.title, g.commands)
		}
	}
	var texts []string
	for _, n := range order {
		if c := left[n]; c != nil && c.IsAdditionalHelpTopicCommand() {
			texts = append(texts, n)
		}
	}
	list(other, slices.DeleteFunc(order, func(n string) bool { return slices.Contains(texts, n) }))
	list("Help texts (bpfrun help NAME)", texts)
}

// writeFlags writes the text of bpfrun help flags.
func writeFlags(w io.Writer, root *cobra.Command) error {
	var b strings.Builder
	b.WriteString("Flags of several commands. The help of a command names those that it uses; it refuses the others.\n")
	for _, g := range flagGroups {
		set := pflag.NewFlagSet(g.name, pflag.ContinueOnError)
		set.SortFlags = false
		for _, name := range g.flags {
			set.AddFlag(root.PersistentFlags().Lookup(name))
		}
		visible.Fprintf(&b, "\n%s:\n%s", g.title, visible.Lines(set.FlagUsages()))
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// noSubcommand refuses an unknown subcommand of a command group.
func noSubcommand(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	names := commandNames(cmd)
	hint := "there are " + strings.Join(names, ", ")
	if near := nearest.Names(args[0], names, 2); len(near) > 0 {
		hint = "nearest: " + strings.Join(near, ", ")
	}
	return usagef("%s has no command %s (%s)", cmd.CommandPath(), cmp.Or(args[0], `""`), hint)
}

func commandNames(cmd *cobra.Command) []string {
	var names []string
	for _, c := range cmd.Commands() {
		if c.IsAvailableCommand() {
			names = append(names, c.Name())
		}
	}
	return names
}

// refuseUnknownTopics makes bpfrun help NAME an error if there is no command or help text of that
// name; cobra would print the help of bpfrun.
func refuseUnknownTopics(root *cobra.Command) {
	root.InitDefaultHelpCmd()
	i := slices.IndexFunc(root.Commands(), func(c *cobra.Command) bool { return c.Name() == "help" })
	help := root.Commands()[i]
	show := help.Run
	help.Run = nil
	help.RunE = func(cmd *cobra.Command, args []string) error {
		if target, rest, err := root.Find(args); err != nil || len(rest) > 0 {
			names := commandNames(target)
			for _, t := range topics {
				if target == root {
					names = append(names, t.name)
				}
			}
			hint := "see " + target.CommandPath() + " --help"
			if near := nearest.Names(rest[0], names, edits(rest[0])); len(near) > 0 {
				hint = "nearest: " + strings.Join(near, ", ")
			}
			return usagef("help: %s has no command or help text %s (%s)", target.CommandPath(), rest[0], hint)
		}
		show(cmd, args)
		return nil
	}
}
