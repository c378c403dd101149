package helpers

import (
	"fmt"
	"slices"
	"strings"
)

// Page is the reference of everything that is simulated, as Markdown: docs/helpers.md.
func Page() string {
	var b strings.Builder
	fmt.Fprintf(&b, "# Helpers and kfuncs\n\n<!-- Made from the tables of package helpers by go test ./helpers -run TestPage -update-docs; do not edit. -->\n\n")
	fmt.Fprintf(&b, "%d helpers and %d kfuncs are simulated. A program that can reach any other one is refused by name (exit code 5) before it runs.\n", len(Table()), len(Kfuncs()))
	fmt.Fprintf(&b, "\"Recorded\" effects on the outside world (signals, redirects) appear in the result of the run and change nothing else.\n\n")
	fmt.Fprintf(&b, "## Helpers\n\n| number | name | arguments | topic | how |\n|---:|---|---|---|---|\n")
	for _, h := range Table() {
		fmt.Fprintf(&b, "| %d | `%s` | %s | %s | %s |\n", h.ID, h.Name(), arguments(h.Args), h.Topic, how(h.Note))
	}
	fmt.Fprintf(&b, "\n## Kfuncs\n\nAlso with a flavor suffix (`___name`).\n\n| name | arguments | topic | how |\n|---|---|---|---|\n")
	for _, k := range Kfuncs() {
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s |\n", k.Name, arguments(k.Args), k.Topic, how(k.Note))
	}
	return b.String()
}

func arguments(args []Arg) string {
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
