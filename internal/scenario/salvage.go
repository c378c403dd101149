package scenario

import (
	"bytes"
	"strings"

	"github.com/bpfrun/bpfrun/internal/scenario/grammar"
)

// Limits for reading on after syntax errors.
const (
	mostCuts    = 10
	largestCuts = 256 << 10 // maximum size of the file in bytes
)

// cutting records what was left out of a file because it is not valid YAML: entries of the file's
// sections, such as a run or an object. Nothing was left out if it is nil or the zero value.
type cutting struct {
	text  strings.Builder
	lines map[int]bool // lines that lost the contents they introduced
}

// own drops consequences of what was left out: names defined there, and members that sections now
// lack.
func (c *cutting) own(list grammar.Errors) grammar.Errors {
	if c == nil || c.text.Len() == 0 {
		return list
	}
	left := c.text.String()
	var out grammar.Errors
	for _, e := range list {
		if !c.lines[e.Line] && (e.Missing == "" || !hasWord(left, e.Missing)) {
			out = append(out, e)
		}
	}
	return out
}

// hasWord reports whether text contains word, not as part of a longer word.
func hasWord(text, word string) bool {
	for {
		before, after, ok := strings.Cut(text, word)
		if !ok {
			return false
		}
		if (before == "" || !isWord(before[len(before)-1:])) && (after == "" || !isWord(after[:1])) {
			return true
		}
		text = after
	}
}

// salvage parses a file's YAML. After a syntax error it leaves out the enclosing entry and parses
// the rest, so that mistakes in the rest are found too.
func salvage(path string, data []byte) (*grammar.Node, *cutting, error) {
	root, err := grammar.ParseYAML(path, data)
	if root != nil || len(data) > largestCuts || grammar.Bounded(path, data) != nil {
		return root, nil, err
	}
	_, first := grammar.Syntax(path, data)
	if first == nil || first.Line == 1 && !bytes.Contains(data, []byte("\n")) {
		return nil, nil, err
	}
	var wrong grammar.Mistakes
	c := &cutting{lines: map[int]bool{}}
	lines := bytes.SplitAfter(data, []byte("\n"))
	for e := first; e != nil && len(wrong.List) < mostCuts; {
		wrong.Add(e)
		left, next := c.best(path, lines, e.Line)
		if left == nil {
			return nil, nil, wrong.Err()
		}
		lines, e = left, next
	}
	root, err = grammar.ParseYAML(path, bytes.Join(lines, nil)) // the remaining lines
	if root != nil {
		wrong.Add(err) // otherwise nothing useful is left
	}
	return root, c, wrong.Err()
}

// best leaves out the entry of a line, the one before it, or both, since an unclosed entry is
// noticed only in the next one. It chooses the cut after which the next error comes latest, and
// returns nil if the error stays the same.
func (c *cutting) best(path string, lines [][]byte, line int) (left [][]byte, next *grammar.Error) {
	entries := entriesOf(lines)
	at := -1
	for i, e := range entries {
		if e.first <= line-1 {
			at = i
		}
	}
	if at < 0 {
		return nil, nil
	}
	choices := [][]entry{{entries[at]}}
	for before := at - 1; before >= 0; before-- {
		if !entries[before].blank(lines) {
			choices = append(choices, []entry{entries[before]}, []entry{entries[before], entries[at]})
			break
		}
	}
	furthest := line
	var chosen []entry
	for _, choice := range choices {
		try := append([][]byte{}, lines...)
		for _, e := range choice {
			e.clear(try)
		}
		_, err := grammar.Syntax(path, bytes.Join(try, nil))
		if err == nil || err.Line > furthest {
			left, next, chosen = try, err, choice
			if err == nil {
				break
			}
			furthest = err.Line
		}
	}
	for _, e := range chosen {
		for _, text := range lines[e.first:e.end] {
			c.text.Write(text)
		}
		c.lines[e.under] = true
	}
	return left, next
}

// entry is an entry of a section: the lines from first to end (exclusive, counted from 0), and the
// line of the section's name (counted from 1), or 0 if the entry is a whole section.
type entry struct{ first, end, under int }

func (e entry) clear(lines [][]byte) {
	for i := e.first; i < e.end; i++ {
		lines[i] = []byte("\n")
	}
}

func (e entry) blank(lines [][]byte) bool {
	for _, l := range lines[e.first:e.end] {
		if len(bytes.TrimSpace(l)) > 0 {
			return false
		}
	}
	return true
}

// entriesOf finds the sections of a file, which are the members of its outer mapping, and the
// entries of sections that span several lines.
func entriesOf(lines [][]byte) []entry {
	var out []entry
	section, inner := 0, -1 // line of the section's name from 1, indentation of its entries
	for i, l := range lines {
		text := bytes.TrimRight(l, " \r\n")
		body := bytes.TrimLeft(text, " ")
		if len(body) == 0 || body[0] == '#' || body[0] == '\t' {
			continue
		}
		indent := len(text) - len(body)
		item := body[0] == '-'
		switch {
		case indent == 0 && !item:
			section, inner = i+1, -1
			if text[len(text)-1] != ':' {
				inner = -2 // the section is on one line
			}
			out = append(out, entry{first: i})
		case inner == -1:
			inner = indent
			fallthrough
		case indent == inner:
			out = append(out, entry{first: i, under: section})
		}
	}
	for i := range out {
		out[i].end = len(lines)
		for _, next := range out[i+1:] {
			if next.under != out[i].first+1 {
				out[i].end = next.first
				break
			}
		}
	}
	return out
}
