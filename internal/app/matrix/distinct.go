package matrix

import (
	"cmp"
	"crypto/sha256"
	"fmt"
	"maps"
	"slices"
	"sync"

	"github.com/bpfrun/bpfrun/internal/valuehash"
	"github.com/bpfrun/bpfrun/internal/verifier"
)

// digest identifies a value by its content.
type digest [sha256.Size]byte

// distinct keeps one copy of equal results. Programs do the same on most kernels, so that what a
// matrix keeps grows with the number of different results instead of the number of kernels. Values
// must not be changed once they are kept. It is safe for concurrent use.
type distinct struct {
	mu       sync.Mutex
	cells    map[digest]*Cell
	outcomes map[digest]*outcome
	verdicts map[digest]*verifier.Verdict
	results  map[digest]*result
}

func newDistinct() *distinct {
	return &distinct{cells: map[digest]*Cell{}, outcomes: map[digest]*outcome{}, verdicts: map[digest]*verifier.Verdict{}, results: map[digest]*result{}}
}

// keep returns the value that was first kept under the digest.
func keep[T any](d *distinct, values map[digest]*T, key digest, v *T) *T {
	d.mu.Lock()
	defer d.mu.Unlock()
	if first := values[key]; first != nil {
		return first
	}
	values[key] = v
	return v
}

// result keeps the cells, the outcomes, and the result as a whole.
func (d *distinct) result(r *result) *result {
	h := sha256.New()
	for i := range r.cells {
		r.cells[i] = d.cell(r.cells[i])
		if r.outcomes[i] != nil {
			r.outcomes[i] = keep(d, d.outcomes, r.outcomes[i].digest(), r.outcomes[i])
		}
		fmt.Fprintf(h, "%p %p\n", r.cells[i], r.outcomes[i]) // one address for each content
	}
	return keep(d, d.results, digest(h.Sum(nil)), r)
}

func (d *distinct) cell(c *Cell) *Cell {
	if c.Verdict != nil {
		c.Verdict = keep(d, d.verdicts, verdictDigest(c.Verdict), c.Verdict)
	}
	h := sha256.New()
	fmt.Fprintf(h, "%v %d %d %s %s %q %t %t %t %p %t %q", c.Relocations, c.Baked, c.Found, c.Load, c.Result, c.Detail, c.Mismatch, c.Refused, c.Disabled,
		c.Verdict, c.Follows, c.differs)
	return keep(d, d.cells, digest(h.Sum(nil)), c)
}

func verdictDigest(v *verifier.Verdict) digest {
	h := valuehash.New(sha256.New())
	h.Add(v)
	return digest(h.Sum(nil))
}

// digest covers all that a comparison reads. Types are those of the object, which all kernels
// share.
func (o *outcome) digest() digest {
	h := sha256.New()
	fmt.Fprintf(h, "%d %q %t %x %t %q %p\n", o.ret, o.verdict, o.packet == nil, o.packet, o.untyped, o.effects, o.spec)
	for _, e := range o.events {
		fmt.Fprintf(h, "event %q %d %x\n", e.channel, e.typ, e.data)
	}
	for _, c := range o.changes {
		fmt.Fprintf(h, "change %q %q %t %x %t", c.id, c.place, c.val == nil, c.val, c.deleted)
		if d := c.def; d != nil {
			fmt.Fprintf(h, " %q %d %d %v %+v", d.Name, d.KeyType, d.ValueType, d.DataKind, d.Vars)
		}
		fmt.Fprintln(h)
	}
	for _, id := range slices.SortedFunc(maps.Keys(o.names), cmp.Compare[uint64]) {
		fmt.Fprintf(h, "name %d %q\n", id, o.names[id])
	}
	return digest(h.Sum(nil))
}
