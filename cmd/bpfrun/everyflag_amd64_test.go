package main

import (
	"bytes"
	"fmt"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/bpfrun/bpfrun/internal/testing/rewrite"
)

// commandLines are commands with arguments, to which the test adds each of their flags. They read
// files of the repository, write none, and depend on nothing of the host.
var commandLines = []string{
	"run ../../examples/xdp/xdp.bpf.o --btf embedded", "run ../../testdata/objects/clang-14/leaks.o -p stack_tail --btf embedded", "test ../../examples/exec/exec.yaml --btf embedded", "test ../../examples/xdp --btf embedded",
	"matrix ../../examples/guarded/guarded.bpf.o --btf ../../testdata/btf/min/linux-6.1.176-amd64.min.btf --btf ../../testdata/btf/min/linux-5.10.262-amd64-cloud.min.btf",
	"verify ../../examples/loop/loop.bpf.o --btf embedded", "verify ../../testdata/objects/clang-14/refused.o -p err_null --btf embedded", "diff ../../testdata/objects/clang-14/builds_old.o ../../testdata/objects/clang-14/builds_new.o --btf embedded",
	"relo ../../examples/guarded/guarded.bpf.o --btf embedded", "info ../../examples/tailcall/tailcall.bpf.o", "disasm ../../examples/filter/filter.bpf.o --btf embedded",
	"btf layout task_struct --btf ../../testdata/btf/min/linux-6.12.107-amd64.min.btf", "btf find task* --btf ../../testdata/btf/min/linux-6.12.107-amd64.min.btf", "btf dump ../../testdata/btf/min/linux-6.12.107-amd64.min.btf",
	"btf diff ../../testdata/btf/min/linux-6.1.176-amd64.min.btf ../../testdata/btf/min/linux-6.12.107-amd64.min.btf", "btf size --btf ../../testdata/btf/min/linux-6.12.107-amd64.min.btf", "scenario new ../../examples/exec/exec.bpf.o --btf embedded", "scenario check ../../examples/exec/exec.yaml --btf embedded",
}

// unstable are flags whose output depends on time or the host, that write files, or start what does
// not end.
var unstable = map[string]bool{
	"help": true, "cache": true, "no-cache": true, "color": true, "jobs": true, "slowest": true, "watch": true, "time": true, "runs": true, "benchtime": true, "output": true, "html": true, "junit": true, "write": true, "record": true, "profile": true, "cpuprofile": true, "memprofile": true, "cover-out": true,
	"update": true, "in-place": true, "source": true, "timings": true, "stats": true, "speed": true, "repeat": true, "tui": true, "seeds": true, "engine": true, "trace-time": true, "markdown": true, "lcov": true, "pprof": true, "flame": true, "profile-out": true, "corpus": true, "out": true, "force": true, "arch": true,
}

// timesTaken are times in other forms than [elapsed].
var timesTaken = regexp.MustCompile(`[0-9.]+ m?s\b|"(took|seconds|elapsed)[a-z_]*": ?[0-9.e-]+`)

// TestEveryFlagOfCommands adds each flag to commands, with usual and unusual values, and compares
// what they print, their errors and exit codes: on one architecture, whose native code is printed
// too.
func TestEveryFlagOfCommands(t *testing.T) {
	var all rewrite.Outcomes
	try := func(line []string) {
		var out, messages bytes.Buffer
		code := run(line, &out, &messages)
		first, _, _ := strings.Cut(messages.String(), "\n")
		said := fmt.Sprintf("%s: %d %s\t%s%s", line[0], code, first, out.String(), messages.String())
		all.Add(strings.Join(line, " "), timesTaken.ReplaceAllString(elapsed.ReplaceAllString(said, ""), ""))
	}
	for n, text := range commandLines {
		words := strings.Fields(text)
		root := newApp(&bytes.Buffer{}, &bytes.Buffer{}).rootCommand()
		cmd, _, err := root.Find(words)
		if err != nil || cmd == root {
			continue
		}
		try(words)
		i := 0
		each := func(f *pflag.Flag) {
			if unstable[f.Name] || strings.Contains(f.Usage, "file") && f.Value.Type() == "string" {
				return
			}
			i++
			for j, v := range flagValues(cmd, f) {
				if f.Value.Type() == "bool" || (i+j+n)%4 == 0 {
					try(append(append([]string(nil), words...), "--"+f.Name+"="+v))
				}
			}
		}
		cmd.LocalFlags().VisitAll(each)
		cmd.InheritedFlags().VisitAll(func(f *pflag.Flag) {
			if usesFlag(cmd, f.Name) {
				each(f)
			}
		})
	}
	all.Compare(t, filepath.Join("testdata", "everyflag.txt"))
}

// flagValues are values for a flag: some that it takes, and some that it does not.
func flagValues(_ *cobra.Command, f *pflag.Flag) []string {
	switch f.Value.Type() {
	case "bool":
		return []string{"true"}
	case "string", "stringArray", "stringSlice":
		return []string{"x", "", "1", "on_exec", "a=1", "json", "x:y", "none,all"}
	case "duration":
		return []string{"1ms", "-1ms", "x"}
	}
	return []string{"0", "1", "-1", "7", "99999999999", "x"}
}
