package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/internal/testing/rewrite"
)

// TestCommandReference: docs/commands.md is what the commands say of themselves; -update writes it.
func TestCommandReference(t *testing.T) {
	page := filepath.Join("..", "..", "docs", "commands.md")
	want := commandReference(newApp(&bytes.Buffer{}, &bytes.Buffer{}).rootCommand())
	if *rewrite.Flag {
		require.NoError(t, os.WriteFile(page, []byte(want), 0o644))
	}
	have, err := os.ReadFile(page)
	require.NoError(t, err)
	assert.True(t, want == string(have), "docs/commands.md is stale: go test ./cmd/bpfrun -run CommandReference -update")
}

// TestCommandReferenceIsWhole: each command and each flag that help shows is on the page.
func TestCommandReferenceIsWhole(t *testing.T) {
	root := newApp(&bytes.Buffer{}, &bytes.Buffer{}).rootCommand()
	page := commandReference(root)
	commands, flags := 0, 0
	var visit func(cmd *cobra.Command)
	visit = func(cmd *cobra.Command) {
		if cmd.Hidden {
			return
		}
		commands++
		assert.True(t, cmd.HasExample() || cmd.HasSubCommands() || !cmd.Runnable() || cmd.Name() == "help", "%s has no example", cmd.CommandPath())
		assert.True(t, strings.Contains(page, "\n## "+invocation(cmd)+"\n"), cmd.CommandPath())
		cmd.Flags().VisitAll(func(f *pflag.Flag) {
			if !f.Hidden {
				flags++
				assert.Regexp(t, "[`,] ?--"+f.Name+"[` ]", page, "%s", cmd.CommandPath())
			}
		})
		for _, c := range cmd.Commands() {
			visit(c)
		}
	}
	visit(root)
	assert.Greater(t, commands, 40)
	assert.Greater(t, flags, 150)
}

// commandReference is the page of all commands.
func commandReference(root *cobra.Command) string {
	root.InitDefaultHelpCmd()
	var b strings.Builder
	b.WriteString("# Commands\n\nLook up a command, its flags and examples. On the terminal:\n\n```sh\nbpfrun help matrix\nbpfrun help flags     # those of all commands\n```\n\nThis page is what `bpfrun COMMAND --help` prints, of all commands. The commands of the debugger are in [debugger.md](debugger.md#commands). This page is generated; a test fails when it is stale.\n")
	var list []*cobra.Command
	var visit func(cmd *cobra.Command)
	visit = func(cmd *cobra.Command) {
		if cmd.Hidden {
			return
		}
		list = append(list, cmd)
		for _, c := range cmd.Commands() {
			visit(c)
		}
	}
	visit(root)
	b.WriteString("\n| command | |\n|---|---|\n")
	for _, cmd := range list[1:] {
		fmt.Fprintf(&b, "| [`%s`](#%s) | %s |\n", invocation(cmd), strings.ReplaceAll(invocation(cmd), " ", "-"), cell(cmd.Short))
	}
	b.WriteString("\n## Flags of all commands\n")
	for _, g := range flagGroups {
		fmt.Fprintf(&b, "\n### %s\n\n", g.title)
		set := pflag.NewFlagSet(g.name, pflag.ContinueOnError)
		set.SortFlags = false
		for _, name := range g.flags {
			set.AddFlag(root.PersistentFlags().Lookup(name))
		}
		flagTable(&b, set)
	}
	for _, cmd := range list {
		section(&b, cmd)
	}
	return b.String()
}

// invocation is what shows a command's text: of texts that are no command, help.
func invocation(cmd *cobra.Command) string {
	if cmd.IsAdditionalHelpTopicCommand() {
		return cmd.Root().Name() + " help " + cmd.Name()
	}
	return cmd.CommandPath()
}

func section(b *strings.Builder, cmd *cobra.Command) {
	fmt.Fprintf(b, "\n## %s\n\n", invocation(cmd))
	text := cmd.Long
	if text == "" {
		text = cmd.Short + "."
	}
	for _, paragraph := range strings.Split(strings.Trim(text, "\n"), "\n\n") {
		prose(b, paragraph)
	}
	if cmd.Runnable() {
		fmt.Fprintf(b, "```\n%s\n```\n", cmd.UseLine())
	}
	if cmd.HasExample() {
		fmt.Fprintf(b, "\n```sh\n%s\n```\n", unindented(cmd.Example))
	}
	if own := ownFlags(cmd); own.HasAvailableFlags() {
		n := 0
		own.VisitAll(func(f *pflag.Flag) {
			if !f.Hidden {
				n++
			}
		})
		fmt.Fprintf(b, "\n<details><summary>%d flags</summary>\n\n", n)
		flagTable(b, own)
		b.WriteString("\n</details>\n")
	}
}

// prose writes a paragraph of a help text: lines that are indented or in columns stay as they are.
func prose(b *strings.Builder, paragraph string) {
	first, rest, _ := strings.Cut(paragraph, "\n")
	switch {
	case strings.HasPrefix(first, "  "):
		fmt.Fprintf(b, "```\n%s\n```\n\n", unindented(paragraph))
	case strings.Contains("\n"+rest, "\n  "):
		i := strings.Index("\n"+rest, "\n  ")
		prose(b, strings.TrimSuffix(first+"\n"+rest[:max(i-1, 0)], "\n"))
		prose(b, rest[i:])
	default:
		fmt.Fprintf(b, "%s\n\n", escaped(paragraph))
	}
}

func unindented(text string) string {
	lines := strings.Split(strings.Trim(text, "\n"), "\n")
	for i := range lines {
		lines[i] = strings.TrimPrefix(lines[i], "  ")
	}
	return strings.Join(lines, "\n")
}

var escapes = strings.NewReplacer("<", `\<`, "*", `\*`, "_", `\_`, "`", "\\`")

func escaped(text string) string { return escapes.Replace(text) }

// cell is text in a table.
func cell(text string) string {
	return strings.ReplaceAll(escaped(strings.ReplaceAll(text, "\n", " ")), "|", `\|`)
}

func flagTable(b *strings.Builder, set *pflag.FlagSet) {
	b.WriteString("| flag | |\n|---|---|\n")
	set.VisitAll(func(f *pflag.Flag) {
		if f.Hidden {
			return
		}
		value, text := pflag.UnquoteUsage(f)
		name := "--" + f.Name
		if f.Shorthand != "" {
			name = "-" + f.Shorthand + ", " + name
		}
		if value != "" {
			name += " " + value
		}
		fmt.Fprintf(b, "| `%s` | %s |\n", strings.ReplaceAll(name, "|", `\|`), cell(text))
	})
}
