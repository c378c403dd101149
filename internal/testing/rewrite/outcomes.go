package rewrite

import (
	"fmt"
	"hash/fnv"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/bpfrun/bpfrun/internal/testing/testsize"
)

// Outcomes are what very many inputs lead to, such as a file with each of its words changed. A file
// keeps one line for each kind of outcome: how many inputs had it, a hash of these inputs with
// their outcomes, the same two of a sample of the inputs, and its words, with numbers left out. So a
// line changes when one outcome does.
type Outcomes struct {
	kinds  map[string]*kind
	leaves bool // inputs that are not of the sample
}

type kind struct {
	all, sample sum
	examples    []string
}

// sum is a set of inputs with their outcomes, in any order.
type sum struct {
	count int
	hash  uint64
}

func (s *sum) add(h uint64) {
	s.count++
	s.hash += h
}

func (s sum) String() string { return fmt.Sprintf("%d %08x", s.count, uint32(s.hash^s.hash>>32)) }

// sampled is which inputs the sample has: one of so many.
const sampled = 6

// maxWords limits the words of a line, to keep files small.
const maxWords = 140

var digits = regexp.MustCompile(`0x[0-9a-f]+|[0-9]+`)

// Asks reports whether an input is to be added: all are with testsize.Wide and when the file is
// written, and otherwise those of the sample.
func (o *Outcomes) Asks(input string) bool {
	if *Flag || testsize.Wide() || inSample(input) {
		return true
	}
	o.leaves = true
	return false
}

// Ask adds what outcome returns for an input, and calls it only if Asks.
func (o *Outcomes) Ask(input string, outcome func() string) {
	if o.Asks(input) {
		o.Add(input, outcome())
	}
}

func inSample(input string) bool { return hash(input)%sampled == 0 }

func hash(text string) uint64 {
	h := fnv.New64a()
	_, _ = h.Write([]byte(text))
	return h.Sum64()
}

// Add adds an input by its name, and what it led to, in one line. A text after a tab is hashed, but
// does not make a kind of its own. Inputs that take long are for Ask.
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
	h := hash(input + "\x00" + outcome)
	k.all.add(h)
	if inSample(input) {
		k.sample.add(h)
	}
	if len(k.examples) < 4 {
		k.examples = append(k.examples, fmt.Sprintf("%s: %.300s", input, outcome))
	}
}

// Compare compares the outcomes with those of a file, or writes it.
func (o *Outcomes) Compare(t testing.TB, path string) {
	t.Helper()
	if *Flag {
		lines := make([]string, 0, len(o.kinds))
		for _, words := range slices.Sorted(maps.Keys(o.kinds)) {
			k := o.kinds[words]
			lines = append(lines, fmt.Sprintf("%v %v %s\n", k.all, k.sample, words))
		}
		if err := os.WriteFile(path, []byte(strings.Join(lines, "")), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	theirs := map[string]string{}
	for line := range strings.Lines(string(text)) {
		f := strings.SplitN(strings.TrimSuffix(line, "\n"), " ", 5)
		if len(f) < 5 {
			t.Fatalf("%s: %q is no line of outcomes", path, line)
		}
		theirs[f[4]] = f[0] + " " + f[1]
		if o.leaves {
			theirs[f[4]] = f[2] + " " + f[3]
		}
	}
	for _, words := range slices.Sorted(maps.Keys(o.kinds)) {
		k := o.kinds[words]
		ours := k.all
		if o.leaves {
			ours = k.sample
		}
		if ours.String() != theirs[words] {
			t.Errorf("%s has %q, and inputs lead to %q: %s\nfor example %s", path, theirs[words], ours, words, strings.Join(k.examples, "\n            "))
		}
		delete(theirs, words)
	}
	for _, words := range slices.Sorted(maps.Keys(theirs)) {
		if theirs[words] != (sum{}).String() {
			t.Errorf("%s has %q, and no inputs lead to: %s", path, theirs[words], words)
		}
	}
}
