package main

import (
	"io"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"github.com/stretchr/testify/assert"
)

// flagSamples are values that flags accept; those without one take any text.
var flagSamples = map[string]string{
	"seed": "7", "cpu": "1", "cpus": "2", "max-insns": "3", "clock": "2h", "engine": "interp", "loader": "libbpf", "strict": "true", "no-verify": "true",
	"optional": "true", "light-skeleton": "true", "no-cache": "true",
}

// eachCommand calls f for every command that does something: not for groups of commands and help
// texts.
func eachCommand(f func(cmd *cobra.Command)) {
	var walk func(cmd *cobra.Command)
	walk = func(cmd *cobra.Command) {
		if cmd.Runnable() && (cmd == cmd.Root() || !cmd.HasAvailableSubCommands()) && !onlyTexts(cmd) {
			f(cmd)
		}
		for _, c := range cmd.Commands() {
			walk(c)
		}
	}
	walk(newApp(io.Discard, io.Discard).rootCommand())
}

// onlyTexts reports whether a command prints help or a script for a shell.
func onlyTexts(cmd *cobra.Command) bool {
	return cmd.Name() == "help" || cmd.Name() == "man" || strings.Contains(cmd.CommandPath(), "completion") || !cmd.Runnable()
}

// TestEveryCommandSaysWhichFlagsItUses: each command has a row, each row a command, and each word
// of a row is a flag.
func TestEveryCommandSaysWhichFlagsItUses(t *testing.T) {
	seen := map[string]bool{}
	eachCommand(func(cmd *cobra.Command) {
		path := cmd.CommandPath()
		seen[path] = true
		assert.Contains(t, flagUse, path)
		for word := range strings.FieldsSeq(flagUse[path]) {
			for _, name := range flagsOf(strings.TrimPrefix(word, "-")) {
				assert.NotNil(t, cmd.Root().PersistentFlags().Lookup(name), "%s: %s", path, word)
			}
		}
	})
	for path := range flagUse {
		assert.True(t, seen[path], "%s is no command", path)
	}
}

// TestIgnoredFlagsAreRefused: for every command and global flag, a flag that the command does not
// use is an error that names it.
func TestIgnoredFlagsAreRefused(t *testing.T) {
	eachCommand(func(cmd *cobra.Command) {
		words := strings.Fields(cmd.CommandPath())[1:]
		cmd.Root().PersistentFlags().VisitAll(func(f *pflag.Flag) {
			if usesFlag(cmd, f.Name) {
				return
			}
			value := flagSamples[f.Name]
			if value == "" {
				value = "x"
			}
			// The check comes before the command runs, and after its arguments were counted: call
			// it as cobra does.
			root := newApp(io.Discard, io.Discard).rootCommand()
			same, _, err := root.Find(words)
			if assert.NoError(t, err) && assert.NoError(t, same.ParseFlags([]string{"--" + f.Name + "=" + value})) {
				err = root.PersistentPreRunE(same, nil)
				assert.ErrorContains(t, err, "does not use --"+f.Name, cmd.CommandPath())
			}
		})
	})
}

func TestFlagsThatACommandIgnoresFail(t *testing.T) {
	for _, line := range []string{"version --max-insns 3", "test --cpu 1 x.yaml", "kernels list --seed 3", "btf dump x --btf y", "scenario schema --strict"} {
		var errs strings.Builder
		assert.Equal(t, exitUsage, run(strings.Fields(line), io.Discard, &errs), line)
		assert.Contains(t, errs.String(), "does not use --", line)
	}
}

// TestUsedFlagsAreRead: a value that no kernel, object or machine can have is an error of every
// command that uses the flag.
func TestUsedFlagsAreRead(t *testing.T) {
	const object = "../../examples/xdp/xdp.bpf.o"
	bad := map[string]string{
		"btf": "/nowhere", "module-btf": "/nowhere", "kernel-version": "new", "kconfig": "/nowhere", "kallsyms": "/nowhere", "loader": "none", "type": "x=none",
		"map-size": "x", "inner-map": "x", "extern": "x", "global": "x", "attach": "x", "attach-prog": "x", "clock": "late", "cpu": "99", "cpus": "0",
		"max-insns": "0", "engine": "none",
	}
	for _, command := range []string{"", "run", "test", "matrix", "race", "verify", "require", "diff ../../examples/xdp/xdp.bpf.o", "relo", "info", "disasm", "bench -p filter", "scenario new", "debug -e quit", "btf who iphdr"} {
		words := strings.Fields(command)
		name := "bpfrun"
		if len(words) > 0 {
			name += " " + strings.Join(words[:min(len(words), map[string]int{"scenario": 2, "btf": 2}[words[0]]+1-map[string]int{"scenario": 1, "btf": 1}[words[0]])], " ")
		}
		root := newApp(io.Discard, io.Discard).rootCommand()
		cmd, _, err := root.Find(strings.Fields(name)[1:])
		assert.NoError(t, err)
		for flag, value := range bad {
			if !usesFlag(cmd, flag) {
				continue
			}
			args := append(append([]string{}, words...), object, "--"+flag+"="+value)
			if flag != "btf" {
				args = append(args, "--btf=embedded")
			}
			var errs strings.Builder
			code := run(args, &errs, &errs)
			assert.NotZero(t, code, "%s", strings.Join(args, " "))
			assert.Contains(t, errs.String(), strings.TrimPrefix(flag, "-"), "%s", strings.Join(args, " "))
		}
	}
}
