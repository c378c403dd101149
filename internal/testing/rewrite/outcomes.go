package rewrite

import (
	"fmt"
	"hash/fnv"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// Outcomes are what very many inputs lead to, such as a file with each of its words changed. A file
// keeps one line for each kind of outcome: how many inputs had it, a hash of these inputs with
// their outcomes, and its words, with numbers left out. So a line changes when one outcome does.
type Outcomes struct {
	kinds map[string]*kind
}

type kind struct {
	count    int
	hash     uint64
	examples []string
}

// maxWords limits the words of a line, to keep files small.
const maxWords = 140

var digits = regexp.MustCompile(`0x[0-9a-f]+|[0-9]+`)

// Add adds an input by its name, and what it led to, in one line. A text after a tab is hashed, but
// does not make a kind of its own.
func (o *Outcomes) Add(input, outcome string) {
	if o.kinds == nil {
		o.kinds = map[string]*kind{}
	}
	words, _, _ := strings.Cut(outcome, "\t")
	words = digits.ReplaceAllString(strings.ReplaceAll(words, "\n", " / "), "N")
	if len(words) > maxWords {
		words = strings.ToValidUTF8(words[:maxWords], "") + "..."
	}
	k := o.kinds[words]
	if k == nil {
		k = &kind{}
		o.kinds[words] = k
	}
	h := fnv.New64a()
	_, _ = h.Write([]byte(input + "\x00" + outcome))
	k.count++
	k.hash += h.Sum64() // so that the order of inputs does not matter
	if len(k.examples) < 4 {
		k.examples = append(k.examples, fmt.Sprintf("%s: %.300s", input, outcome))
	}
}

// Compare compares the outcomes with those of a file, or writes it.
func (o *Outcomes) Compare(t testing.TB, path string) {
	t.Helper()
	ours := map[string]string{}
	lines := make([]string, 0, len(o.kinds))
	for words, k := range o.kinds {
		line := fmt.Sprintf("%d %08x %s", k.count, uint32(k.hash^k.hash>>32), words)
		lines, ours[line] = append(lines, line), words
	}
	slices.SortFunc(lines, func(a, b string) int { return strings.Compare(ours[a], ours[b]) })
	if *Flag {
		if err := os.WriteFile(path, []byte(strings.Join(lines, "\n")+"\n"), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	theirs := strings.Split(strings.TrimSuffix(string(text), "\n"), "\n")
	for _, line := range theirs {
		if _, ok := ours[line]; !ok {
			t.Errorf("%s has, and no inputs lead to: %s", path, line)
		}
	}
	for _, line := range lines {
		if !slices.Contains(theirs, line) {
			t.Errorf("%s does not have: %s\nfor example %s", path, line, strings.Join(o.kinds[ours[line]].examples, "\n            "))
		}
	}
}
