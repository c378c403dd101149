package main

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// flagUse lists the global flags that each command uses: groups of [flagGroups], and single flags,
// without those after a minus. Commands refuse the others, since a flag that is ignored looks like
// one that has no effect. Flags about output are preferences, and all commands take them.
var flagUse = map[string]string{
	"bpfrun":             "kernel object run",
	"bpfrun run":         "kernel object run",
	"bpfrun test":        "kernel object run -cpu",
	"bpfrun debug":       "kernel object run -no-verify",
	"bpfrun bench":       "kernel object run -no-verify -ignore",
	"bpfrun matrix":      "kernel object run",
	"bpfrun race":        "kernel object run -cpu -engine",
	"bpfrun verify":      "kernel object strict",
	"bpfrun require":     "kernel object strict -kernel-version -kallsyms",
	"bpfrun diff":        "kernel object run -cpu -no-verify",
	"bpfrun relo":        "kernel object strict",
	"bpfrun info":        "kernel object strict no-verify",
	"bpfrun disasm":      "kernel object run -cpu -no-verify -ignore",
	"bpfrun fuzz":        "kernel object run -cpu -cpus -clock -engine -strict",
	"bpfrun exec":        "kernel run -cpu -no-verify",
	"bpfrun fire":        "",
	"bpfrun record":      "kernel object seed",
	"bpfrun dap":         "",
	"bpfrun play":        "btf no-cache",
	"bpfrun init":        "kernel object run -cpu -no-verify",
	"bpfrun doctor":      "no-cache",
	"bpfrun watch":       "",
	"bpfrun version":     "",
	"bpfrun cover merge": "",

	"bpfrun scenario new":    "kernel object run -cpu -no-verify",
	"bpfrun scenario schema": "",

	"bpfrun kernels list": "",
	"bpfrun kernels add":  "",
	"bpfrun kernels pack": "no-cache type loader",

	"bpfrun btf dump":        "no-cache",
	"bpfrun btf show":        "no-cache",
	"bpfrun btf find":        "no-cache",
	"bpfrun btf diff":        "no-cache",
	"bpfrun btf relocate":    "no-cache",
	"bpfrun btf layout":      "no-cache",
	"bpfrun btf size":        "no-cache",
	"bpfrun btf c":           "no-cache",
	"bpfrun btf gen":         "no-cache",
	"bpfrun btf dedup":       "no-cache",
	"bpfrun btf ids":         "no-cache",
	"bpfrun btf resolve-ids": "no-cache",
	"bpfrun btf who":         "kernel object strict",
	"bpfrun btf min":         "btf no-cache type loader",
	"bpfrun btf check":       "kernel",

	"bpfrun conformance isa":             "engine max-insns",
	"bpfrun conformance plugin":          "engine max-insns",
	"bpfrun conformance decode":          "kernel-version",
	"bpfrun conformance kernel":          "kernel type loader seed max-insns engine",
	"bpfrun conformance core":            "kernel",
	"bpfrun conformance btf":             "no-cache type loader",
	"bpfrun conformance verdicts":        "kernel type loader seed",
	"bpfrun conformance corpus":          "kernel type loader seed optional no-verify",
	"bpfrun conformance generate":        "seed engine",
	"bpfrun conformance record isa":      "seed",
	"bpfrun conformance record cases":    "type loader seed",
	"bpfrun conformance record core":     "kernel type loader",
	"bpfrun conformance record verdicts": "type loader seed",
	"bpfrun conformance record btf":      "type loader seed",
}

// usesFlag reports whether a command uses a global flag.
func usesFlag(cmd *cobra.Command, flag string) bool {
	uses := false
	for word := range strings.FieldsSeq("output " + flagUse[cmd.CommandPath()]) {
		without, negated := strings.CutPrefix(word, "-")
		if slices.Contains(flagsOf(without), flag) {
			uses = !negated
		}
	}
	return uses
}

// flagsOf returns the flags of a group, or the flag of that name.
func flagsOf(word string) []string {
	for _, g := range flagGroups {
		if g.name == word {
			return g.flags
		}
	}
	return []string{word}
}

// noIgnoredFlags refuses global flags that a command does not use. Commands that only print texts
// have no row: they take none.
func noIgnoredFlags(cmd *cobra.Command) error {
	var ignored []string
	shared := cmd.Root().PersistentFlags()
	cmd.Flags().Visit(func(f *pflag.Flag) {
		if shared.Lookup(f.Name) == f && !usesFlag(cmd, f.Name) {
			ignored = append(ignored, "--"+f.Name)
		}
	})
	if len(ignored) > 0 {
		return usagef("%s does not use %s: leave it out (see %s --help)", cmd.CommandPath(), strings.Join(ignored, ", "), cmd.CommandPath())
	}
	return nil
}

// looksAt are the flags that matter for an object without a kernel.
var looksAt = []string{"btf", "no-cache", "type", "loader"}

// noKernelFlags refuses flags about loading and running where a command looks at an object alone,
// because no kernel was named.
func noKernelFlags(cmd *cobra.Command) error {
	return noSharedFlags(cmd, "a kernel: add --btf KERNEL", looksAt...)
}

// noSharedFlags refuses flags that a command shares with others and uses only with something else,
// but for some and those about output.
func noSharedFlags(cmd *cobra.Command, with string, but ...string) error {
	var ignored []string
	shared := cmd.Root().PersistentFlags()
	cmd.Flags().Visit(func(f *pflag.Flag) {
		_, given := f.Annotations[fromProject] // what a project file says of all commands may be of no use to this one
		if shared.Lookup(f.Name) == f && !given && !slices.Contains(but, f.Name) && !slices.Contains(flagsOf("output"), f.Name) {
			ignored = append(ignored, "--"+f.Name)
		}
	})
	if len(ignored) > 0 {
		return usagef("%s uses %s only with %s", cmd.CommandPath(), strings.Join(ignored, ", "), with)
	}
	return nil
}
