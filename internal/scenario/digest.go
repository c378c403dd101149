package scenario

import (
	"crypto/sha256"
	"slices"
	"strings"

	"github.com/bpfrun/bpfrun/internal/scenario/grammar"
)

// Digest returns a hash of all that the runs of a file depend on besides object, kernel and
// options: its text. ok is false for a file with mistakes, one that was not read by [ParseFile],
// and one that names other files: @FILE in a packet, a context, the arguments of a USDT probe;
// captures.
func (f *File) Digest() (sum []byte, ok bool) {
	captures := slices.ContainsFunc(f.Runs, func(r *Run) bool { return r.PcapNode != nil })
	return f.text[:], f.text != [sha256.Size]byte{} && len(f.found) == 0 && !captures
}

// namesFiles reports whether any text could be the name of a file, or part of one.
func namesFiles(n *grammar.Node) bool {
	return strings.Contains(n.Text, "@") || slices.ContainsFunc(n.Items, namesFiles) ||
		slices.ContainsFunc(n.Pairs, func(p grammar.Pair) bool { return namesFiles(p.Value) })
}
