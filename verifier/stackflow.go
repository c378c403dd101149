package verifier

import (
	"math"

	"github.com/bpfrun/bpfrun/btf"
	"github.com/bpfrun/bpfrun/decode"
	"github.com/bpfrun/bpfrun/helpers/proto"
	"github.com/bpfrun/bpfrun/uapi"
)

// stackFlow tells which halves of stack slots may be read from an instruction on. Releases from 7.1 find that before the walk, by
// following pointers into the stack through registers, spills and calls (kernel/bpf/liveness.c of 7.1).
type stackFlow struct {
	instances map[flowKey]*flowInstance
	analyzed  []bool                          // by function, as its own or from a caller
	calls     map[int]*[trackedSlots]argTrack // slots of a frame at a call
	known     []constRegs
	count     int
	q         flowQuery
}

// flowKey is a function as one call reaches it: the call, or the start of a function that nothing calls with pointers to a stack.
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

func (h halves) or(o halves) halves     { return halves{h[0] | o[0], h[1] | o[1]} }
func (h halves) and(o halves) halves    { return halves{h[0] & o[0], h[1] & o[1]} }
func (h halves) andNot(o halves) halves { return halves{h[0] &^ o[0], h[1] &^ o[1]} }
func (h halves) has(i int) bool         { return i < 128 && h[i/64]>>(i%64)&1 != 0 }

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

// maxFlowCalls is how many calls the kernel follows.
const maxFlowCalls = 10000

// unknownBytes is an access whose size is not known.
const unknownBytes = math.MinInt64

// computeStackFlow analyses every function, callers before what they call.
func (e *env) computeStackFlow(known []constRegs) {
	n := e.nsubs()
	f := &stackFlow{instances: map[flowKey]*flowInstance{}, analyzed: make([]bool, n), calls: map[int]*[trackedSlots]argTrack{}, known: known}
	e.flow = f
	order := e.topological()
	var sites [maxFrames]int
	for i := len(order) - 1; i >= 0; i-- {
		sub := order[i]
		if f.analyzed[sub] && e.subs[sub].linkage != funcGlobal {
			continue
		}
		e.analyzeFlow(nil, f.instance(e, nil, 0, sub), &sites)
	}
	f.calls, f.known = nil, nil
}

// topological orders functions so that those called come before their callers; it refuses recursion.
func (e *env) topological() []int {
	n := e.nsubs()
	color := make([]uint8, n)
	var out, stack []int
	for i := range n {
		if color[i] != 0 {
			continue
		}
		color[i] = 1
		stack = append(stack[:0], i)
	walk:
		for len(stack) > 0 {
			cur := stack[len(stack)-1]
			for _, at := range e.postorder[e.subs[cur].postorder:e.subs[cur+1].postorder] {
				in := &e.insns[at]
				if !isLocalCall(in) && !isFuncRef(in) {
					continue
				}
				callee := e.subprogFrom(callTarget(at, in))
				switch {
				case callee < 0 || color[callee] == 2 || color[callee] == 1 && isFuncRef(in):
				case color[callee] == 1:
					e.refuse(uapi.EINVAL, "recursive call from %s() to %s()", e.subs[cur].name, e.subs[callee].name)
				default:
					color[callee] = 1
					stack = append(stack, callee)
					continue walk
				}
			}
			color[cur] = 2
			out = append(out, cur)
			stack = stack[:len(stack)-1]
		}
	}
	return out
}

func (f *stackFlow) instance(e *env, caller *flowInstance, site, sub int) *flowInstance {
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

func (in *flowInstance) need(e *env, frame, insn int) *halfMasks {
	if in.masks[frame] == nil {
		e.took(int64(in.count) * 48)
		in.masks[frame] = make([]halfMasks, in.count)
	}
	return &in.masks[frame][insn-in.start]
}

func (in *flowInstance) read(e *env, frame, insn int, h halves) {
	m := in.need(e, frame, insn)
	m.read = m.read.or(h)
}

// analyzeFlow analyses a function for what a call passes; entry is nil for one that nothing calls with pointers to a stack.
func (e *env) analyzeFlow(entry *trackState, in *flowInstance, sites *[maxFrames]int) {
	f := e.flow
	if f.count++; f.count > maxFlowCalls {
		e.refuse(uapi.E2BIG, "liveness analysis exceeded complexity limit (%d calls)", f.count)
	}
	if f.count%64 == 0 {
		if err := e.ctx.Err(); err != nil {
			panic(stopped{err})
		}
	}
	var before *flowInstance
	if in.done {
		before = in
		in = &flowInstance{flowKey: in.flowKey, sub: in.sub, start: in.start, count: in.count}
	}
	states := e.trackFunction(entry, in, sites)
	f.analyzed[in.sub] = true
	for _, at := range e.postorder[e.subs[in.sub].postorder:e.subs[in.sub+1].postorder] {
		callee, args, ok := e.flowCall(in, at, &states[at-in.start])
		if !ok {
			continue
		}
		if in.depth == maxFrames-1 {
			e.refuse(uapi.EINVAL, "")
		}
		next := f.instance(e, in, at, callee)
		sites[in.depth] = at
		e.analyzeFlow(&args, next, sites)
		for fr := range next.depth {
			if next.masks[fr] != nil {
				in.read(e, fr, at, next.masks[fr][0].live)
			}
		}
	}
	if before != nil {
		before.merge(in)
		in = before
	}
	e.settleFlow(in)
}

// flowCall is the function that instruction at calls with pointers to a stack, and what it passes.
func (e *env) flowCall(in *flowInstance, at int, st *trackState) (callee int, args trackState, ok bool) {
	insn := &e.insns[at]
	switch {
	case isLocalCall(insn):
		if callee = e.subprogFrom(callTarget(at, insn)); callee < 0 {
			return 0, args, false
		}
		copy(args.regs[1:6], st.regs[1:6])
	case e.aux[at].callback:
		fn, from, to := callbackArgs(insn)
		if fn == 0 {
			return 0, args, false
		}
		c := e.flow.known[at][fn]
		if c.kind != knownFunc {
			if st.regs[from].frame != trackNone {
				for fr := 0; fr <= in.depth; fr++ {
					in.read(e, fr, at, allHalves)
				}
			}
			return 0, args, false
		}
		callee = int(c.val)
		for r := 1; r <= 5; r++ {
			args.regs[r] = noTrack
		}
		args.regs[to] = st.regs[from]
	default:
		return 0, args, false
	}
	for r := 1; r <= 5; r++ {
		ok = ok || args.regs[r].isPointer()
	}
	return callee, args, ok
}

// callbackArgs are the register with the callback, the one with its context, and where the callback gets that.
func callbackArgs(in *decode.Insn) (fn, from, to int) {
	if !isHelperCall(in) {
		return 0, 0, 0
	}
	switch uapi.FuncID(in.Imm) {
	case uapi.FuncLoop, uapi.FuncUserRingbufDrain:
		return 2, 3, 2
	case uapi.FuncForEachMapElem:
		return 2, 3, 4
	case uapi.FuncFindVma:
		return 3, 4, 3
	}
	return 0, 0, 0
}

// trackFunction finds what registers and slots hold before each instruction of a function, and notes what accesses the stack.
func (e *env) trackFunction(entry *trackState, in *flowInstance, sites *[maxFrames]int) []trackState {
	e.took(int64(in.count) * 16)
	states := make([]trackState, in.count)
	for i := range states {
		for r := range states[i].regs {
			states[i].regs[r] = argTrack{frame: trackUnvisited}
		}
		for s := range states[i].slots {
			states[i].slots[s] = argTrack{frame: trackUnvisited}
		}
	}
	first := &states[0]
	for r := range first.regs {
		first.regs[r] = noTrack
	}
	for s := range first.slots {
		first.slots[s] = noTrack
	}
	first.regs[10] = oneOffset(in.depth, 0)
	if entry != nil {
		copy(first.regs[1:6], entry.regs[1:6])
	}
	parents := func(frame int) *[trackedSlots]argTrack { return e.flow.calls[sites[frame]] }
	order := e.postorder[e.subs[in.sub].postorder:e.subs[in.sub+1].postorder]
	var buf [2]int
	for changed := true; changed; {
		changed = false
		for p := len(order) - 1; p >= 0; p-- {
			at := order[p]
			st := &states[at-in.start]
			if st.regs[0].frame == trackUnvisited && st.regs[1].frame == trackUnvisited {
				continue
			}
			out := *st
			out.step(&e.insns[at], in.depth, parents)
			for _, s := range e.succ(buf[:0], at) {
				if s >= in.start && s < in.start+in.count && states[s-in.start].join(&out) {
					changed = true
				}
			}
		}
	}
	for p := len(order) - 1; p >= 0; p-- {
		at := order[p]
		st := &states[at-in.start]
		e.flowAccess(in, st, at)
		if e.insns[at].Code == codeCall {
			e.flowArgs(in, st, at)
		}
		if isLocalCall(&e.insns[at]) || e.aux[at].callback {
			slots := st.slots
			e.flow.calls[at] = &slots
		}
	}
	return states
}

// flowAccess notes what a load or store does.
func (e *env) flowAccess(in *flowInstance, st *trackState, at int) {
	insn := &e.insns[at]
	size, reg := int64(sizeOf(insn)), insn.Dst
	switch class(insn) {
	case clsLDX:
		reg = insn.Src
	case clsSTX:
		switch {
		case mode(insn) != modeATOMIC || insn.Imm == storeRel:
			size = -size
		case insn.Imm == loadAcq:
			reg = insn.Src
		}
	case clsST:
		size = -size
	default:
		return
	}
	if reg > 10 {
		return
	}
	a := st.regs[reg]
	for i := range a.n {
		off, ok := addOffset(a.off[i], int64(insn.Off))
		if !ok {
			a.anyOffset()
			break
		}
		a.off[i] = off
	}
	e.flowTouch(in, a, size, at)
}

// flowTouch notes that bytes at an address are read, or written when bytes is negative.
func (e *env) flowTouch(in *flowInstance, a argTrack, bytes int64, at int) {
	switch {
	case a.frame == trackSeveral:
		for fr := 0; fr <= in.depth; fr++ {
			if a.mask>>fr&1 != 0 {
				in.read(e, fr, at, allHalves)
			}
		}
		return
	case a.frame < 0 || int(a.frame) > in.depth || bytes == 0:
		return
	case a.n == 0:
		if bytes > 0 || bytes == unknownBytes {
			in.read(e, int(a.frame), at, allHalves)
		}
		return
	case bytes < 0 && bytes != unknownBytes && a.n != 1:
		return
	}
	for i := range a.n {
		off := -int64(a.off[i])
		if off <= 0 {
			continue
		}
		switch {
		case bytes == unknownBytes:
			in.read(e, int(a.frame), at, halfRange(0, int(off-1)/4))
		case bytes > 0:
			in.read(e, int(a.frame), at, halfRange(max(int((off-bytes)/4), 0), int(off-1)/4))
		default:
			lo, hi := max(int((off+bytes+3)/4), 0), int(off/4)-1
			if lo <= hi {
				m := in.need(e, int(a.frame), at)
				m.write = m.write.or(halfRange(lo, hi))
			}
		}
	}
}

// flowArgs notes what a helper or kernel function does with pointers to a stack.
func (e *env) flowArgs(in *flowInstance, st *trackState, at int) {
	insn := &e.insns[at]
	if isLocalCall(insn) {
		return
	}
	n, ok := e.paramsOf(at)
	if !ok {
		n = 5
	}
	for i := range min(n, 5) {
		a := st.regs[i+1]
		if !a.isPointer() {
			continue
		}
		switch {
		case isHelperCall(insn):
			e.flowTouchArg(in, a, e.helperBytes(at, i), at)
		case isKfuncCall(insn):
			e.flowTouchArg(in, a, e.kfuncBytes(at, i), at)
		default:
			for fr := 0; fr <= in.depth; fr++ {
				in.read(e, fr, at, allHalves)
			}
		}
	}
}

// flowTouchArg is flowTouch for arguments: no bytes is not an access, whatever the address.
func (e *env) flowTouchArg(in *flowInstance, a argTrack, bytes int64, at int) {
	if bytes != 0 {
		e.flowTouch(in, a, bytes, at)
	}
}

// helperBytes is how many bytes a helper reads through an argument, negative for those it writes (bpf_helper_stack_access_bytes).
func (e *env) helperBytes(at, arg int) int64 {
	h, ok := proto.Lookup(uapi.FuncID(e.insns[at].Imm))
	if !ok || !h.In(e.rel) {
		return unknownBytes
	}
	p := h.For(e.rel, e.callerOf(h.ID))
	if p == nil || arg >= len(p.Args) {
		return unknownBytes
	}
	a := p.Args[arg]
	known := &e.flow.known[at]
	size := int64(0)
	switch a.Kind {
	case proto.MapKey, proto.MapValue:
		size = e.flowMapSize(p, known, arg)
		if size == 0 {
			return unknownBytes
		}
	case proto.FixedMem:
		size = int64(a.Size)
	case proto.Mem:
		if arg+1 >= len(p.Args) || p.Args[arg+1].Kind != proto.ConstSize && p.Args[arg+1].Kind != proto.ConstSizeOrZero {
			return unknownBytes
		}
		v, ok := known.number(uint8(arg + 2))
		switch {
		case ok:
			size = int64(v)
		case a.Flags&proto.Uninit != 0:
			return 0
		default:
			return maxStack
		}
	case proto.Dynptr:
		return dynptrBytes
	case proto.Stack:
		return 0
	default:
		return unknownBytes
	}
	if a.Flags&proto.Uninit != 0 {
		return -size
	}
	return size
}

// dynptrBytes is sizeof(struct bpf_dynptr).
const dynptrBytes = 16

// flowMapSize is the size of the key or value that an argument points to: of the map that is passed, or the largest there is.
func (e *env) flowMapSize(p *proto.Proto, known *constRegs, arg int) int64 {
	size := func(m *Map) int64 {
		if p.Args[arg].Kind == proto.MapKey {
			return int64(m.KeySize)
		}
		return int64(m.ValueSize)
	}
	for i := range arg {
		if p.Args[i].Kind == proto.ConstMap {
			if c := known[i+1]; c.kind == knownMap && c.mapp > 0 {
				return size(e.maps[c.mapp-1].Map)
			}
			break
		}
	}
	largest := int64(0)
	for _, m := range e.maps {
		largest = max(largest, size(m.Map))
	}
	return largest
}

// kfuncBytes is the same for a kernel function (bpf_kfunc_stack_access_bytes).
func (e *env) kfuncBytes(at, arg int) int64 {
	k := e.kfuncAt(at)
	if k == nil || k.missing || k.proto == nil {
		return unknownBytes
	}
	if arg >= len(k.proto.Params) {
		return 0
	}
	s := e.specs[k.spec-1]
	p := &k.proto.Params[arg]
	t := s.SkipMods(p.Type)
	if t.Kind != btf.KindPtr {
		return 0
	}
	size := int64(0)
	pointee := s.SkipMods(t.Ref)
	switch {
	case pointee.Kind == btf.KindStruct && (pointee.Name == "bpf_dynptr" || pointee.Name == "bpf_dynptr_kern"):
		size = dynptrBytes
	case arg+1 < len(k.proto.Params) && (hasSuffix(&k.proto.Params[arg+1], "__sz") || hasSuffix(&k.proto.Params[arg+1], "__szk")):
		v, ok := e.flow.known[at].number(uint8(arg + 2))
		if !ok {
			return maxStack
		}
		size = int64(v)
	default:
		n, err := s.Sizeof(pointee.ID)
		if err != nil {
			return unknownBytes
		}
		size = n
	}
	if arg == 0 && k.flags.has(kfIterNew) || hasSuffix(p, "__uninit") {
		return -size
	}
	return size
}

// merge adds another analysis of the same call: what any of them reads, what all of them write.
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

// settleFlow finds what is live before each instruction.
func (e *env) settleFlow(in *flowInstance) {
	in.done = true
	order := e.postorder[e.subs[in.sub].postorder:e.subs[in.sub+1].postorder]
	var buf [2]int
	for fr := 0; fr <= in.depth; fr++ {
		masks := in.masks[fr]
		if masks == nil {
			continue
		}
		for changed := true; changed; {
			changed = false
			for _, at := range order {
				succ := e.succ(buf[:0], at)
				if len(succ) == 0 {
					continue
				}
				var after halves
				for _, s := range succ {
					if i := s - in.start; i >= 0 && i < in.count {
						after = after.or(masks[i].live)
					}
				}
				m := &masks[at-in.start]
				if live := after.andNot(m.write).or(m.read); live != m.live {
					m.live, changed = live, true
				}
			}
		}
	}
}

// lookup is the analysis that fits a frame of a state: of the deepest call with pointers to a stack.
func (f *stackFlow) lookup(e *env, s *state, frame int) *flowInstance {
	start := e.subs[s.frames[frame].sub].start
	for d := frame; d > 0; d-- {
		if in := f.instances[flowKey{s.frames[frame].callsite, d}]; in != nil {
			return in
		}
	}
	return f.instances[flowKey{start, 0}]
}

func (f *stackFlow) query(e *env, s *state) {
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

// alive reports whether half a slot of a frame may be read from the queried state on.
func (f *stackFlow) alive(e *env, frame, half int) bool {
	q := &f.q
	cur := q.inst[q.depth]
	if cur == nil {
		return true
	}
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
