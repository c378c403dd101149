package grammar

import (
	"bytes"

	"github.com/bpfrun/bpfrun/internal/lazyre"
)

// Files from this size on, in bytes, are parsed in pieces of this many lines at least: the YAML
// parser's tree takes a hundred times the memory of its text.
const (
	largeFile  = 1 << 20
	pieceLines = 2000
)

// division is a file in parts that can be parsed one by one.
type division struct {
	rest   []byte // the file without its list of runs: each line of the list is empty
	key    []byte // the line of the list's key
	pieces []piece
}

// piece is a number of whole runs, and the number of lines before it.
type piece struct {
	text   []byte
	before int
}

// spread finds what makes parts of a file depend on each other: anchors, aliases, tags (which may
// belong to what follows on another line), block scalars (whose end the parser takes from what
// follows), directives, and more than one document.
var spread = lazyre.New(`(?m)(^|[\s,:\[{-])([&*][^\s&]|!|[|>][-+0-9]*[ ]*(#.*)?\r?$)|^(---|\.\.\.|%)`)

// runsKey is the key of the list of runs, alone on its line.
var runsKey = lazyre.New(`(?m)^runs:[ ]*(#.*)?\r?$`)

// isRun is the first line of a run.
var isRun = lazyre.New(`^- (\w+:( |$)|\{)`)

// isKey is the line that follows the list: a key without a tag, quotes or other signs that could
// belong to the line before.
var isKey = lazyre.New(`^\w+:( |$)`)

// split divides a file at the runs of a list in block style, which it recognises by its
// indentation, into pieces of a number of lines or more. It returns nil if the file is not of that
// form. Pieces of another meaning than in the whole file are not valid YAML: only the inside of a
// quoted string can look like the start of a run.
func split(data []byte, lines int) *division {
	keys := runsKey.FindAllIndex(data, 2)
	if len(keys) != 1 || spread.Match(data) || keys[0][1] == len(data) {
		return nil
	}
	start := keys[0][1] + 1 // the list's first byte
	starts, end := items(data[start:])
	if len(starts) == 0 {
		return nil
	}
	d := &division{key: data[keys[0][0]:start]}
	d.rest = append(d.rest, data[:start]...)
	d.rest = append(d.rest, bytes.Repeat([]byte("\n"), bytes.Count(data[start:start+end], []byte("\n")))...)
	d.rest = append(d.rest, data[start+end:]...)
	open, before := 0, bytes.Count(data[:start], []byte("\n"))
	for _, at := range append(starts[1:], end) {
		text := data[start+open : start+at]
		if n := bytes.Count(text, []byte("\n")); at == end || n >= lines {
			d.pieces = append(d.pieces, piece{text, before})
			open, before = at, before+n
		}
	}
	return d
}

// items returns where the items of a list in block style start, and where the list ends; nil if
// there is no such list.
func items(data []byte) (starts []int, end int) {
	indent := -1
	for line := range bytes.Lines(data) {
		body := bytes.TrimLeft(line, " ")
		col, text := len(line)-len(body), bytes.TrimRight(body, "\r\n")
		isItem := isRun.Match(text)
		switch {
		case len(text) == 0 || text[0] == '#':
		case text[0] == '\t', indent < 0 && !isItem, indent >= 0 && col == indent+1, col <= indent && !isItem && text[0] == '-':
			return nil, 0
		case col < indent || col == indent && !isItem:
			if col != 0 || !isKey.Match(text) { // not the next key of the file
				return nil, 0
			}
			return starts, end
		case indent < 0 || col == indent:
			indent, starts = col, append(starts, end)
		}
		end += len(line)
	}
	return starts, end
}

// parsePieces parses a file in pieces of a number of lines. It returns nil if that is impossible or
// finds any mistake, which depends on the whole file.
func parsePieces(file string, data []byte, lines int) *Node {
	d := split(data, lines)
	if d == nil {
		return nil
	}
	root, err := parseWhole(file, d.rest)
	if err != nil || root.Kind != Mapping {
		return nil
	}
	at := -1
	for i, pair := range root.Pairs {
		if pair.Key.Text == "runs" {
			at = i
		}
	}
	if at < 0 || root.Pairs[at].Value.Kind != Null {
		return nil
	}
	var list *Node
	for _, p := range d.pieces {
		one, err := parseWhole(file, append(append([]byte(nil), d.key...), p.text...))
		if err != nil || len(one.Pairs) != 1 || one.Pairs[0].Value.Kind != Sequence {
			return nil
		}
		v := one.Pairs[0].Value
		v.moveDown(p.before - bytes.Count(d.key, []byte("\n")))
		if list == nil {
			list = v
			continue
		}
		list.Items = append(list.Items, v.Items...)
		list.weight += v.weight - 1
	}
	root.weight += list.weight - root.Pairs[at].Value.weight
	if root.Pairs[at].Value = list; root.weight > maxNodes {
		return nil
	}
	return root
}

// moveDown adds to the lines of a node and all that is in it.
func (n *Node) moveDown(lines int) {
	n.Line += lines
	for _, item := range n.Items {
		item.moveDown(lines)
	}
	for _, p := range n.Pairs {
		p.Key.moveDown(lines)
		p.Value.moveDown(lines)
	}
}
