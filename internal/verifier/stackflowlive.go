package verifier

import "math"

// stackFlow records which halves of stack slots may be read from an instruction on. Releases from
// 7.1 on compute that before exploration, by following stack pointers through registers, spills and
// calls (kernel/bpf/liveness.c of 7.1).
type stackFlow struct {
	instances map[flowKey]*flowInstance
	analyzed  []bool                          // by function, analysed on its own or from a caller
	calls     map[int]*[trackedSlots]argTrack // slots of a frame at a call
	known     map[int]*constRegs              // before calls
	starts    []bool                          // where blocks begin
	count     int
	q         flowQuery
}

// flowKey identifies a function as reached by one call: the call, or the start of a function that
// no call passes pointers to a stack.
type flowKey struct{ site, depth int }

type flowInstance struct {
	flowKey
	sub, start, count int
	masks             [maxFrames][]halfMasks
	done              bool
}

// halves is a set of halves of the slots of a frame.
type halves [2]uint64

var allHalves = halves{math.MaxUint64, math.MaxUint64}

func (h halves) or(o halves) halves { return halves{h[0] | o[0], h[1] | o[1]} }

func (h halves) and(o halves) halves { return halves{h[0] & o[0], h[1] & o[1]} }

func (h halves) andNot(o halves) halves { return halves{h[0] &^ o[0], h[1] &^ o[1]} }

func (h halves) has(i int) bool { return i < 128 && h[i/64]>>(i%64)&1 != 0 }

func halfRange(lo, hi int) (h halves) {
	for i := lo; i <= hi && i < 128; i++ {
		h[i/64] |= 1 << (i % 64)
	}
	return h
}

type halfMasks struct{ read, write, live halves }

type flowQuery struct {
	inst  [maxFrames]*flowInstance
	sites [maxFrames]int
	depth int
	insn  int
}

// instance returns the analysis of a function as called at a place, a new one if need be.
func (f *stackFlow) instance(e *position, caller *flowInstance, site, sub int) *flowInstance {
	k := flowKey{site: e.subs[sub].start}
	if caller != nil {
		k = flowKey{site, caller.depth + 1}
	}
	if in := f.instances[k]; in != nil {
		return in
	}
	in := &flowInstance{flowKey: k, sub: sub, start: e.subs[sub].start, count: e.subs[sub+1].start - e.subs[sub].start}
	f.instances[k] = in
	return in
}

func (in *flowInstance) need(e *position, frame, insn int) *halfMasks {
	if in.masks[frame] == nil {
		e.took(int64(in.count) * 48)
		in.masks[frame] = make([]halfMasks, in.count)
	}
	return &in.masks[frame][insn-in.start]
}

func (in *flowInstance) read(e *position, frame, insn int, h halves) {
	m := in.need(e, frame, insn)
	m.read = m.read.or(h)
}

// merge adds another analysis of the same call: the union of reads, the intersection of writes. A
// frame that only one of them reaches is not certainly written.
func (in *flowInstance) merge(o *flowInstance) {
	for fr := 0; fr <= in.depth; fr++ {
		a, b := in.masks[fr], o.masks[fr]
		switch {
		case b == nil || a == nil:
			if a == nil {
				a = b
				in.masks[fr] = b
			}
			for i := range a {
				a[i].write = halves{}
			}
		default:
			for i := range a {
				a[i].read, a[i].write = a[i].read.or(b[i].read), a[i].write.and(b[i].write)
			}
		}
	}
}

// lookup returns the analysis for a frame of a state: that of the deepest call with pointers to a
// stack. A function that was called without any was analysed as if it were the first one.
func (f *stackFlow) lookup(e *position, s *state, frame int) *flowInstance {
	start := e.subs[s.frames[frame].sub].start
	for d := frame; d > 0; d-- {
		if in := f.instances[flowKey{s.frames[frame].callsite, d}]; in != nil {
			return in
		}
	}
	return f.instances[flowKey{start, 0}]
}

func (f *stackFlow) query(e *position, s *state) {
	f.q = flowQuery{depth: s.curFrame, insn: s.insn}
	for fr := 0; fr <= s.curFrame; fr++ {
		f.q.inst[fr] = f.lookup(e, s, fr)
		if fr < s.curFrame {
			f.q.sites[fr] = s.frames[fr+1].callsite
		}
	}
}

func (in *flowInstance) liveBefore(insn, frame, half int) bool {
	i := insn - in.start
	return in.masks[frame] != nil && i >= 0 && i < in.count && in.masks[frame][i].live.has(half)
}

// alive reports whether half a slot of a frame may be read from the queried state on
// (bpf_stack_slot_alive): by the current function, or by a caller after the call. A call with a
// callback is processed again, so there what it reads itself counts, too.
func (f *stackFlow) alive(e *position, frame, half int) bool {
	q := &f.q
	cur := q.inst[q.depth]
	if cur == nil {
		return true
	}
	// The analysis counts frames from where its pointers to a stack begin.
	if rel := frame + cur.depth - q.depth; rel >= 0 && rel <= cur.depth && cur.liveBefore(q.insn, rel, half) {
		return true
	}
	for i := frame; i < q.depth; i++ {
		in := q.inst[i]
		if in == nil {
			return true
		}
		rel := frame + in.depth - i
		if rel < 0 || rel > in.depth {
			return true
		}
		site := q.sites[i]
		if !e.aux[site].callback {
			site++
		}
		if in.liveBefore(site, rel, half) {
			return true
		}
	}
	return false
}
