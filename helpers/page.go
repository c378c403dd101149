package helpers

import (
	"fmt"
	"slices"
	"strings"

	"github.com/bpfrun/bpfrun/helpers/proto"
)

// Page returns the reference of all simulated helpers and kfuncs as Markdown: docs/helpers.md.
func Page() string {
	var b strings.Builder
	fmt.Fprintf(&b, "# Helpers and kfuncs\n\n<!-- Generated from the tables of package helpers by go test ./helpers -run TestPage -update; do not edit. -->\n\n")
	fmt.Fprintf(&b, "Look up whether bpfrun simulates a helper or kfunc, how, and since which release kernels have it.\nWhich of them an object needs and a kernel lacks:\n\n```sh\nbpfrun info prog.o --btf 5.10\n```\n\n")
	fmt.Fprintf(&b, "%d helpers and %d kfuncs are simulated. A program that can reach any other is refused, by name, before it runs (exit code 5).\n", len(Table()), len(Kfuncs()))
	fmt.Fprintf(&b, "\"Recorded\" effects on the outside world (signals, redirects) appear in the result of the run and change nothing else.\n\n")
	fmt.Fprintf(&b, "Arguments and results are as the kernel's verifier sees them. A helper exists since the\n")
	fmt.Fprintf(&b, "release in its row; package helpers/proto lists the programs that may call it. Those marked GPL need a GPL-compatible licence.\n")
	fmt.Fprintf(&b, "Kfuncs may be named with a flavor suffix (`___name`). Each group has a line of use, and a table that unfolds.\n")
	for _, topic := range Topics() {
		group(&b, topic)
	}
	fmt.Fprintf(&b, "\n## Kfuncs that are not simulated\n\nEvery other kfunc that Linux 7.2 tags in its BTF, or that its modules have, is simulated. Which programs may call one is in package helpers/proto.\n\n| name | why |\n|---|---|\n")
	for _, u := range UnsimulatedKfuncs() {
		fmt.Fprintf(&b, "| `%s` | %s |\n", u.Name, u.Why)
	}
	return b.String()
}

// group writes the helpers and kfuncs of a topic.
func group(b *strings.Builder, topic string) {
	var list, kfuncs strings.Builder
	helpers, functions := 0, 0
	for _, h := range Table() {
		if h.Topic == topic {
			p := h.Common()
			helpers++
			fmt.Fprintf(&list, "| %d | `%s`%s | %s | %s | %v | %s |\n", h.ID, h.Name(), marks(p), arguments(p.Args), p.Ret, h.Since, how(h.Note))
		}
	}
	for _, k := range Kfuncs() {
		if k.Topic == topic {
			functions++
			fmt.Fprintf(&kfuncs, "| `%s` | %s | %v | %s | %s |\n", k.Name, arguments(k.Args), lastFlags(k.Kfunc), releases(k.Kfunc), how(k.Note))
		}
	}
	fmt.Fprintf(b, "\n## %s\n\n```c\n%s\n```\n\n<details><summary>%s</summary>\n", topic, useOf(topic), counted(helpers, functions))
	if helpers > 0 {
		fmt.Fprintf(b, "\n| number | helper | arguments | result | since | how |\n|---:|---|---|---|---|---|\n%s", list.String())
	}
	if functions > 0 {
		fmt.Fprintf(b, "\n| kfunc | arguments | flags | since | how |\n|---|---|---|---|---|\n%s", kfuncs.String())
	}
	b.WriteString("\n</details>\n")
}

// counted says what is in a group.
func counted(helpers, kfuncs int) string {
	var words []string
	for _, c := range []struct {
		n    int
		noun string
	}{{helpers, "helper"}, {kfuncs, "kfunc"}} {
		if c.n > 0 {
			words = append(words, fmt.Sprintf("%d %s%s", c.n, c.noun, []string{"s", ""}[min(1, 1/c.n)]))
		}
	}
	return strings.Join(words, ", ")
}

// marks returns notes for callers of a helper.
func marks(p *proto.Proto) string {
	s := ""
	if p.Attr&proto.GPLOnly != 0 {
		s += " GPL"
	}
	if p.Attr&proto.MightSleep != 0 {
		s += " sleeps"
	}
	return s
}

// lastFlags returns the flags of the newest release that has the kfunc, without what that release
// gives to all.
func lastFlags(k *proto.Kfunc) proto.KfuncFlags {
	if n := len(k.Later); n > 0 {
		return k.Later[n-1].Flags
	}
	return k.Flags
}

func releases(k *proto.Kfunc) string {
	if k.Until != 0 {
		return fmt.Sprintf("%v, gone in %v", k.Since, k.Until)
	}
	return k.Since.String()
}

func arguments(args []proto.Arg) string {
	words := make([]string, len(args))
	for i, a := range args {
		words[i] = a.String()
	}
	return strings.Join(words, ", ")
}

func how(note string) string {
	if note == "" {
		return "as the kernel"
	}
	return note
}

// Topics returns the groups of all helpers and kfuncs, sorted.
func Topics() []string {
	var out []string
	for _, h := range Table() {
		out = append(out, h.Topic)
	}
	for _, k := range Kfuncs() {
		out = append(out, k.Topic)
	}
	slices.Sort(out)
	return slices.Compact(out)
}
