package scenario

import (
	"bytes"
	"strings"
)

// Limits of reading on after mistakes in the syntax.
const (
	mostCuts    = 10
	largestCuts = 256 << 10 // bytes of a file
)

// cutting is what was left out of a file because it is not YAML: entries of the file's sections, such as a run or an object. The zero value
// and nil have left nothing out.
type cutting struct {
	text  strings.Builder
	lines map[int]bool // those that are now without what they introduced
}

// own drops mistakes that follow from what was left out: names it has, and what a section without it lacks.
func (c *cutting) own(list Errors) Errors {
	if c == nil || c.text.Len() == 0 {
		return list
	}
	left := c.text.String()
	var out Errors
	for _, e := range list {
		if !c.lines[e.Line] && (e.missing == "" || !hasWord(left, e.missing)) {
			out = append(out, e)
		}
	}
	return out
}

// hasWord reports whether a text has a word that is not part of a longer one.
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

// salvage reads a file's YAML. After a mistake in its syntax the entry it is in is left out and the rest read, so that mistakes in that
// are found too.
func salvage(path string, data []byte) (*Node, *cutting, error) {
	root, err := parseYAML(path, data)
	if root != nil || len(data) > largestCuts || bounded(path, data) != nil {
		return root, nil, err
	}
	_, first := syntax(path, data)
	if first == nil || first.Line == 1 && !bytes.Contains(data, []byte("\n")) {
		return nil, nil, err
	}
	var wrong mistakes
	c := &cutting{lines: map[int]bool{}}
	lines := bytes.SplitAfter(data, []byte("\n"))
	for e := first; e != nil && len(wrong.list) < mostCuts; {
		wrong.add(e)
		left, next := c.best(path, lines, e.Line)
		if left == nil {
			return nil, nil, wrong.err()
		}
		lines, e = left, next
	}
	root, err = parseYAML(path, bytes.Join(lines, nil)) // of what is left
	if root != nil {
		wrong.add(err) // else nothing of worth is left
	}
	return root, c, wrong.err()
}

// best leaves out the entry of a line, or the one before it, or both: what is not closed is noticed in the entry after it. It takes the one with which
// the next mistake comes last, and returns nil when the same one stays.
func (c *cutting) best(path string, lines [][]byte, line int) (left [][]byte, next *Error) {
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
		_, err := syntax(path, bytes.Join(try, nil))
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

// entry is an entry of a section: the lines from first up to end, counted from 0, and the line, counted from 1, of the section's name; 0 for a
// section with all that is in it.
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

// entriesOf finds the sections of a file, the members of its outer mapping, and of those written over several lines the entries.
func entriesOf(lines [][]byte) []entry {
	var out []entry
	section, inner := 0, -1 // the line of the section's name from 1, the indentation of its entries
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
				inner = -2 // all of it in this line
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
