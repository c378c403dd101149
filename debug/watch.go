package debug

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/bpfrun/bpfrun/debug/expr"
)

// Watch is a watchpoint. One on memory costs nothing while that memory is left alone; one on anything else (a register, an
// expression, an element a map does not have yet) is evaluated after every instruction.
type Watch struct {
	ID   int
	Expr string
	expr expr.Node
	// Read and Write say which accesses stop the program. A write stops it when it changes the value.
	Read, Write bool
	Enabled     bool
	Hits        int
	// StopAt decides whether a hit stops the program; it gets the number of hits. nil always stops.
	StopAt func(hits int) bool
	// Addr and Size are the memory watched; Size is 0 for a watchpoint that is evaluated.
	Addr, Size uint64

	// framed means that the expression has local variables: it is evaluated in the activation at depth, and ends with that.
	framed bool
	depth  int
	// cpu is the one that it is evaluated on, AllCPUs for any: registers and local variables are one CPU's.
	cpu int

	id    int    // in mem
	last  []byte // the value seen last, nil when there was none
	text  string
	value *expr.Value // of an evaluated one that is not a map or packet, which is written when it changes
}

// Soft reports whether the watchpoint is evaluated after every instruction.
func (w *Watch) Soft() bool { return w.Size == 0 }

// WatchHit is what a watchpoint saw.
type WatchHit struct {
	Watch *Watch
	// Write means that the value changed, from Old to New; otherwise it was read and is New.
	Write    bool
	Old, New string
	// Place is the instruction that did it; for a helper, the call.
	Place Place
}

// maxWatched is the largest value that can be watched, in bytes.
const maxWatched = 1 << 16

// AddWatch watches an expression for reads, writes or both. Going on, the program stops after the access; going backwards,
// before it.
func (sp *stops) AddWatch(text string, read, write bool) (*Watch, error) {
	if sp.state == Ended {
		return nil, ErrEnded
	}
	n, err := sp.Parse(text)
	if err != nil {
		return nil, err
	}
	w := &Watch{Expr: text, expr: n, Read: read, Write: write, Enabled: true, cpu: AllCPUs}
	if strings.Contains(text, "$") || sp.live() && sp.hasLocals(n) {
		w.cpu = sp.cpu
	}
	if sp.live() && sp.hasLocals(n) {
		w.framed, w.depth = true, sp.m.Thread().Depth()-sp.frame
	}
	v, err := sp.EvalNode(n)
	switch {
	case err != nil && !expr.IsAbsent(err):
		return nil, err
	case err != nil || v.Kind != expr.InMemory:
		if read {
			return nil, fmt.Errorf("only memory can be watched for reads, and %s is not in memory now", text)
		}
	case len(v.Data) > maxWatched:
		return nil, fmt.Errorf("%s has %d bytes; at most %d can be watched", text, len(v.Data), maxWatched)
	case !sp.lasting(v.Addr):
		return nil, fmt.Errorf("%s: the simulated kernel creates this object when the program first uses it: step there, then set the watchpoint", text)
	default:
		w.Addr, w.Size = v.Addr, uint64(len(v.Data))
	}
	sp.nextPt++
	w.ID = sp.nextPt
	sp.watches = append(sp.watches, w)
	sp.rewatch()
	return w, nil
}

// lasting reports whether memory at addr is there without having been looked at.
func (sp *stops) lasting(addr uint64) bool {
	sp.Unlook()
	return sp.m.Memory().Find(addr) != nil
}

// Watches returns all watchpoints in the order they were made.
func (sp *stops) Watches() []*Watch { return append([]*Watch(nil), sp.watches...) }

// rewatch puts the watchpoints on memory, after what was on it was lost or changed.
func (sp *stops) rewatch() {
	m := sp.m.Memory()
	for _, w := range m.Watches() {
		m.RemoveWatch(w.ID)
	}
	for _, w := range sp.watches {
		if w.Enabled && !w.Soft() {
			// Changes are told from stores of the same value by the bytes before.
			w.id = m.AddWatch(w.Addr, w.Size, w.Read, true)
		}
	}
	if sp.spy != nil {
		m.AddWatch(sp.spy.addr, uint64(len(sp.spy.last)), false, true)
	}
}

func (sp *stops) anySoft() bool {
	for _, w := range sp.watches {
		if w.Enabled && w.Soft() {
			return true
		}
	}
	return false
}

// resetSoft notes the values the watchpoints have now.
func (sp *stops) resetSoft() {
	for _, w := range sp.watches {
		if w.Enabled {
			w.last, w.text = sp.watched(w)
		}
	}
}

// watched reads a watchpoint's value without leaving a trace; nil when there is none.
func (sp *stops) watched(w *Watch) ([]byte, string) {
	defer sp.Unlook()
	if w.cpu != AllCPUs && w.cpu != sp.cpu && (w.Soft() || w.framed) {
		return w.last, w.text // another CPU executes
	}
	if !w.Soft() {
		b := make([]byte, w.Size)
		if sp.Peek(w.Addr, b) != nil {
			return nil, ""
		}
		return b, sp.watchText(w)
	}
	if w.framed {
		d := sp.m.Thread().Depth()
		if d < w.depth {
			return nil, ""
		}
		frame, inline := sp.frame, sp.inline
		sp.frame, sp.inline = d-w.depth, sp.inlineOf(d-w.depth, w)
		defer func() { sp.frame, sp.inline = frame, inline }()
	}
	v, err := sp.EvalNode(w.expr)
	if err != nil {
		if w.framed && !expr.IsAbsent(err) {
			return w.last, w.text // it cannot be told at this instruction
		}
		w.value = nil
		return nil, ""
	}
	if v.Kind == expr.WholeMap || v.Kind == expr.WholePacket || v.Walk != nil {
		text := sp.Format(v, expr.FormatOptions{})
		return []byte(text), text // of what has parts, what can be shown
	}
	w.value = v
	return v.Data, ""
}

// inlineOf finds the inlined function in an activation that knows the variables of a watchpoint.
func (sp *stops) inlineOf(frame int, w *Watch) int {
	was, inline := sp.frame, sp.inline
	defer func() { sp.frame, sp.inline = was, inline }()
	sp.frame, sp.inline = frame, 0
	for range sp.inlinedAt(sp.Here()) {
		if sp.hasLocals(w.expr) {
			break
		}
		sp.inline++
	}
	return sp.inline
}

// textNow returns the text of the value that was seen last.
func (sp *stops) textNow(w *Watch) string {
	if w.text == "" && w.last != nil && w.value != nil {
		w.text = sp.Format(w.value, expr.FormatOptions{})
	}
	return w.text
}

func (sp *stops) watchText(w *Watch) string {
	v, err := sp.EvalNode(w.expr)
	if err != nil {
		return "<" + err.Error() + ">"
	}
	return sp.Format(v, expr.FormatOptions{})
}

// takeHits returns what the watchpoints saw in the last instruction and forgets it.
func (sp *stops) takeHits() []WatchHit {
	if len(sp.watches) == 0 {
		return nil
	}
	type access struct {
		w           *Watch
		read, wrote bool
	}
	// Looking at values renews the watchpoints, so the accesses are told apart first.
	var accesses []access
	for _, w := range sp.watches {
		a := access{w: w, wrote: w.Soft()}
		for _, h := range sp.hits {
			if h.Watch.ID == w.id && !w.Soft() {
				a.wrote = a.wrote || h.Write
				a.read = a.read || !h.Write
			}
		}
		if w.Enabled && (a.read || a.wrote) {
			accesses = append(accesses, a)
		}
	}
	sp.hits = sp.hits[:0]
	var out []WatchHit
	for _, a := range accesses {
		w, read, wrote := a.w, a.read, a.wrote
		old, oldText, oldValue := w.last, w.text, w.value
		if w.framed && w.cpu == sp.cpu && sp.m.Thread().Depth() < w.depth {
			w.Enabled = false
			out = append(out, WatchHit{Watch: w, Write: true, Old: sp.textNow(w), New: "<out of scope: its function returned>"})
			continue
		}
		now, text := sp.watched(w)
		changed := !bytes.Equal(old, now) || (old == nil) != (now == nil)
		w.last, w.text = now, text
		touched := wrote && w.Read && !w.Soft() // an access watchpoint tells of every write
		if !changed && !read && !touched {
			continue
		}
		if oldText == "" && old != nil && oldValue != nil {
			oldText = sp.Format(oldValue, expr.FormatOptions{})
		}
		text = sp.textNow(w)
		if oldText == "" {
			oldText = "<none>"
		}
		if text == "" {
			text = "<none>"
		}
		switch {
		case wrote && (changed || touched) && w.Write:
			out = append(out, WatchHit{Watch: w, Write: true, Old: oldText, New: text})
		case read && w.Read:
			out = append(out, WatchHit{Watch: w, New: text})
		default:
			continue
		}
		w.Hits++
		if w.StopAt != nil && !w.StopAt(w.Hits) {
			out = out[:len(out)-1]
		}
	}
	for i := range out {
		out[i].Place = sp.place(sp.lastAt.img, sp.lastAt.pc)
	}
	return out
}
