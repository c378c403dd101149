package main

import (
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/bpfrun/bpfrun/btf/embedded"
	"github.com/bpfrun/bpfrun/internal/kernels"
	"github.com/bpfrun/bpfrun/internal/machine/finding"
	"github.com/bpfrun/bpfrun/internal/record"
	"github.com/bpfrun/bpfrun/internal/scenario"
	"github.com/bpfrun/bpfrun/loader"
)

// completer proposes values of a flag or an argument. It proposes nothing for files that do not
// open.
type completer = func(cmd *cobra.Command, args []string, word string) ([]string, cobra.ShellCompDirective)

// complete adds completion of programs, maps, variables, runs and kernels to a command tree.
func (a *app) complete(root *cobra.Command) {
	flags := map[string]completer{
		"prog": a.programsOrRuns, "no-load": a.ofObject("", programsOf), "attach": a.ofObject("=", programsOf), "attach-prog": a.ofObject("=", programsOf),
		"map-size": a.ofObject("=", mapsOf), "inner-map": a.ofObject("=", mapsOf), "dump-map": a.ofObject("", mapsOf), "global": a.ofObject("=", variablesOf),
		"for": files("o"), "ignore": a.findings,
		"btf": kernelNames, "base": kernelNames, "run": runs,
		"loader": words(loader.DialectNames()...), "engine": words("interp", "jit", "both", "auto"), "color": words("auto", "always", "never"),
		"scenario": files("yaml", "yml"), "pcap": files("pcap", "pcapng", "gz", "zst"), "module-btf": nil,
		"redact": words(append(slices.Clone(record.RedactionNames), "all")...),
	}
	var walk func(cmd *cobra.Command)
	walk = func(cmd *cobra.Command) {
		set := cmd.LocalNonPersistentFlags()
		if cmd == root {
			set = cmd.PersistentFlags()
		}
		set.VisitAll(func(f *pflag.Flag) {
			if c := flags[f.Name]; c != nil && f.Value.Type() != "bool" {
				if err := cmd.RegisterFlagCompletionFunc(f.Name, c); err != nil {
					panic(err) // a bug: the flag exists and is registered once
				}
			}
		})
		switch {
		case cmd.ValidArgsFunction != nil || cmd.HasSubCommands() && cmd != root:
		case cmd.Name() == "test":
			cmd.ValidArgsFunction = files("yaml", "yml", "o")
		case strings.Contains(cmd.Use, "OBJECT"):
			cmd.ValidArgsFunction = files("o")
		}
		for _, c := range cmd.Commands() {
			walk(c)
		}
	}
	walk(root)
}

func words(list ...string) completer {
	return func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
		return list, cobra.ShellCompDirectiveNoFileComp
	}
}

func files(extensions ...string) completer {
	return func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
		return extensions, cobra.ShellCompDirectiveFilterFileExt
	}
}

// kernelNames returns the built-in names and those on the search path, or the kernels of an archive
// that the word begins with. Files are proposed in addition.
func kernelNames(_ *cobra.Command, _ []string, word string) ([]string, cobra.ShellCompDirective) {
	if archive := strings.TrimRight(filepath.Dir(word+"x"), `/\`); kernels.IsPack(archive) {
		var out []string
		list, _ := kernels.Default().Expand(archive) // one that cannot be read has none
		for _, s := range list {
			out = append(out, s.Path)
		}
		return out, cobra.ShellCompDirectiveNoFileComp
	}
	out := []string{"embedded\t" + embedded.Name, "host\tthe running kernel"}
	for _, k := range kernels.Default().List() {
		out = append(out, k.ID+"\t"+k.Path)
	}
	return out, cobra.ShellCompDirectiveDefault
}

// programsOrRuns proposes what -p takes: programs, and with a scenario its runs.
func (a *app) programsOrRuns(cmd *cobra.Command, args []string, word string) ([]string, cobra.ShellCompDirective) {
	out, directive := a.ofObject("", programsOf)(cmd, args, word)
	if f := cmd.Flags().Lookup("scenario"); f != nil {
		named, _ := runs(cmd, nil, word)
		out = append(out, named...)
	}
	return out, directive
}

// findings proposes kinds of findings, and with a colon the programs in which to ignore them.
func (a *app) findings(cmd *cobra.Command, args []string, word string) ([]string, cobra.ShellCompDirective) {
	var out []string
	kind, _, colon := strings.Cut(word, ":")
	if !colon {
		for _, k := range slices.Concat(finding.Kinds, finding.RaceKinds) {
			out = append(out, string(k.Kind)+"\t"+k.Rule)
		}
		return out, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
	}
	programs, directive := a.ofObject("", programsOf)(cmd, args, word)
	for _, p := range programs {
		out = append(out, kind+":"+p)
	}
	return out, directive
}

// ofObject proposes names from the objects among the arguments, or of the project file.
func (a *app) ofObject(suffix string, names func(*loader.Object) []string) completer {
	return func(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
		directive := cobra.ShellCompDirectiveNoFileComp
		if suffix != "" {
			directive |= cobra.ShellCompDirectiveNoSpace
		}
		var out []string
		if takesObjects(cmd) {
			args, _ = a.withObjects(args) // a project file with mistakes names none
		}
		for _, path := range args {
			if obj, err := a.objects.open(path); err == nil {
				for _, n := range names(obj) {
					out = append(out, n+suffix)
				}
			}
		}
		return out, directive
	}
}

func programsOf(obj *loader.Object) []string {
	var out []string
	for _, p := range obj.Programs {
		out = append(out, p.Name)
	}
	return out
}

func mapsOf(obj *loader.Object) []string {
	var out []string
	for _, m := range obj.Maps {
		if m.DataKind == loader.DataNone {
			out = append(out, m.Name)
		}
	}
	return out
}

func variablesOf(obj *loader.Object) []string {
	var out []string
	for _, m := range obj.Maps {
		for _, v := range m.Vars {
			out = append(out, v.Name)
		}
	}
	return out
}

// runs returns the names of runs in the named scenario files, given as arguments or with -s.
func runs(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	if f := cmd.Flags().Lookup("scenario"); f != nil {
		args = append(args, f.Value.String())
	}
	var out []string
	for _, path := range args {
		if ext := filepath.Ext(path); ext != ".yaml" && ext != ".yml" && ext != ".json" {
			continue
		}
		if f, err := scenario.ParseFile(path); err == nil {
			for _, r := range f.Runs {
				out = append(out, r.Name)
			}
		}
	}
	return out, cobra.ShellCompDirectiveNoFileComp
}
