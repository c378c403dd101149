package refusal

import (
	"cmp"
	"regexp"
	"slices"
	"strings"
	"sync"
)

// Explain explains a line of a kernel's log and what to do about it; "" if it is the line of no
// refusal.
func Explain(line string) string {
	for _, p := range patterns() {
		if p.text.MatchString(line) {
			if p.id != None {
				return p.id.In(line).Row().Why
			}
			return p.why
		}
	}
	return ""
}

type pattern struct {
	text  *regexp.Regexp
	fixed int // characters that are always there: the more, the more specific
	id    ID
	why   string
}

// Says reports whether a line of a log is the refusal's. Some refusals write several lines, of
// which only the last ends the verification.
func (id ID) Says(line string) bool {
	for _, p := range patterns() {
		if p.id == id {
			return p.text.MatchString(line)
		}
	}
	return false
}

// patterns are the lines of all refusals, the most specific first, and after them the lines of
// loaders and of other kernels. They are compiled at the first question.
var patterns = sync.OnceValue(func() []pattern {
	var out []pattern
	verb := regexp.MustCompile(`%[0-9]*[dsx]`)
	for _, id := range All() {
		row := id.Row()
		if row.Text == "" || row.Of != "" {
			continue
		}
		last := row.Text[strings.LastIndexByte(row.Text, '\n')+1:] // what is asked about is one line
		text := verb.ReplaceAllStringFunc(regexp.QuoteMeta(last), func(v string) string {
			if v == "%s" {
				return ".*"
			}
			return "[-0-9a-f]+"
		})
		out = append(out, pattern{regexp.MustCompile("^" + text + "$"), len(verb.ReplaceAllString(last, "")), id, ""})
	}
	slices.SortStableFunc(out, func(a, b pattern) int { return -cmp.Compare(a.fixed, b.fixed) })
	for _, o := range others {
		out = append(out, pattern{text: regexp.MustCompile(o.text), why: o.why})
	}
	return out
})

// others are lines that the verifier here does not write.
var others = []struct{ text, why string }{
	{`^stack depth|^Looks like the BPF stack limit`, stackSize},
	{`unknown#195896080`, corePoison},
	{`isn't enabled|attach|hook|trampoline|is not a kernel function`, badHook},
}
