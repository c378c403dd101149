package debug

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/bpfrun/bpfrun/internal/debug/expr"
)

// Watch is a watchpoint. A watchpoint on memory costs nothing until that memory is accessed; any
// other (on a register, an expression, an element not yet in its map) is evaluated after every
// instruction.
type Watch struct {
	ID   int
	Expr string
	expr expr.Node
	// Read and Write select the accesses that stop the program. A write stops it only if it changes
	// the value.
	Read, Write bool
	Enabled     bool
	Hits        int
	// StopAt decides from the number of hits whether a hit stops the program; nil always stops.
	StopAt func(hits int) bool
	// Addr and Size are the watched memory, Size in bytes; Size is 0 for an evaluated watchpoint.
	Addr, Size uint64

	// framed means that the expression has local variables: it is evaluated in the activation at
	// depth and ends with it.
	framed bool
	depth  int
	// cpu is the CPU it is evaluated on, AllCPUs for any: registers and local variables belong to
	// one CPU.
	cpu int

	id    int    // in mem
	last  []byte // the last value seen, nil for none
	text  string
	value *expr.Value // of an evaluated expression other than a map or packet; formatted only when it changes

	outcomes outcomes
}

// Soft reports whether the watchpoint is evaluated after every instruction.
func (w *Watch) Soft() bool { return w.Size == 0 }

// WatchHit is an access or change reported by a watchpoint.
type WatchHit struct {
	Watch *Watch
	// Write means that the value changed from Old to New; otherwise it was read, and is New.
	Write    bool
	Old, New string
	// Place is the accessing instruction; for a helper, the call.
	Place Place
}

// maxWatched is the largest value that can be watched, in bytes.
const maxWatched = 1 << 16

// AddWatch watches an expression for reads, writes or both. The program stops after the access when
// it runs forwards, before it in reverse.
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
	w.outcomes.positional = sp.mayBeLocal(n)
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

// lasting reports whether the memory at addr exists independently of being inspected.
func (sp *stops) lasting(addr uint64) bool {
	sp.Unlook()
	return sp.m.Memory().Find(addr) != nil
}

// Watches returns all watchpoints in the order they were created.
func (sp *stops) Watches() []*Watch { return append([]*Watch(nil), sp.watches...) }

// rewatch reinstalls the watchpoints on memory after they were lost or changed.
func (sp *stops) rewatch() {
	m := sp.m.Memory()
	for _, w := range m.Watches() {
		m.RemoveWatch(w.ID)
	}
	for _, w := range sp.watches {
		if w.Enabled && !w.Soft() {
			// Comparing with the previous bytes tells changes from stores of the same value.
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

// resetSoft records the watchpoints' current values.
func (sp *stops) resetSoft() {
	for _, w := range sp.watches {
		if w.Enabled {
			w.outcomes.forget() // the user may have changed anything since
			w.last, w.text = sp.watched(w)
		}
	}
}

// watched reads a watchpoint's value without side effects; nil if it has none.
func (sp *stops) watched(w *Watch) ([]byte, string) {
	defer sp.Unlook()
	if w.cpu != AllCPUs && w.cpu != sp.cpu && (w.Soft() || w.framed) {
		return w.last, w.text // another CPU is executing
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
	v, err := sp.evaluate(w)
	if err != nil {
		if w.framed && !expr.IsAbsent(err) {
			return w.last, w.text // unknown at this instruction
		}
		w.value = nil
		return nil, ""
	}
	if v.Kind == expr.WholeMap || v.Kind == expr.WholePacket || v.Walk != nil {
		text := sp.Format(v, expr.FormatOptions{})
		return []byte(text), text // for composite values, whatever can be shown
	}
	w.value = v
	return v.Data, ""
}

// inlineOf finds the function inlined in an activation that has the variables of a watchpoint.
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

// textNow returns the text of the last value seen.
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

// takeHits returns the watchpoint hits of the last instruction and clears them.
func (sp *stops) takeHits() []WatchHit {
	if len(sp.watches) == 0 {
		return nil
	}
	type access struct {
		w           *Watch
		read, wrote bool
	}
	// Inspecting values reinstalls the watchpoints, so the accesses are classified first.
	var accesses []access
	for _, w := range sp.watches {
		if !w.Enabled || w.Soft() && sp.same(w) {
			continue
		}
		a := access{w: w, wrote: w.Soft()}
		for _, h := range sp.hits {
			if h.Watch.ID == w.id && !w.Soft() {
				a.wrote = a.wrote || h.Write
				a.read = a.read || !h.Write
			}
		}
		if a.read || a.wrote {
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
		touched := wrote && w.Read && !w.Soft() // an access watchpoint reports every write
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
