package verifier

import (
	"sort"
	"strings"

	"github.com/bpfrun/bpfrun/decode"
	"github.com/bpfrun/bpfrun/uapi"
	"github.com/bpfrun/bpfrun/verifier/since"
)

// Instruction bytes.
const (
	clsLD, clsLDX, clsST, clsSTX       = 0, 1, 2, 3
	clsALU, clsJMP, clsJMP32, clsALU64 = 4, 5, 6, 7

	opJA, opCall, opExit, opJCOND  = 0x00, 0x80, 0x90, 0xe0
	opAdd, opSub, opMul, opDiv     = 0x00, 0x10, 0x20, 0x30
	opOr, opAnd, opLsh, opRsh      = 0x40, 0x50, 0x60, 0x70
	opNeg, opMod, opXor, opMov     = 0x80, 0x90, 0xa0, 0xb0
	opArsh, opEnd                  = 0xc0, 0xd0
	modeIMM, modeABS, modeIND      = 0x00, 0x20, 0x40
	modeMEM, modeMEMSX, modeATOMIC = 0x60, 0x80, 0xc0
	sizeW, sizeH, sizeB, sizeDW    = 0x00, 0x08, 0x10, 0x18
	srcX                           = 0x08
	fetch, cmpxchg, xchg           = 0x01, 0xf1, 0xe1
	loadAcq, storeRel              = 0x100, 0x110
	codeLdImm64                    = 0x18
	codeCall                       = 0x85
)

func class(in *decode.Insn) uint8 { return in.Code & 7 }
func opOf(in *decode.Insn) uint8  { return in.Code & 0xf0 }
func mode(in *decode.Insn) uint8  { return in.Code & 0xe0 }
func isX(in *decode.Insn) bool    { return in.Code&srcX != 0 }
func isJump(in *decode.Insn) bool { c := in.Code & 7; return c == clsJMP || c == clsJMP32 }

func sizeOf(in *decode.Insn) int {
	switch in.Code & 0x18 {
	case sizeW:
		return 4
	case sizeH:
		return 2
	case sizeB:
		return 1
	}
	return 8
}

func isLdImm64(in *decode.Insn) bool   { return in.Code == codeLdImm64 }
func isLocalCall(in *decode.Insn) bool { return in.Code == codeCall && in.Src == 1 }
func isKfuncCall(in *decode.Insn) bool { return in.Code == codeCall && in.Src == 2 }
func isHelperCall(in *decode.Insn) bool {
	return in.Code == codeCall && in.Src == 0
}
func isFuncRef(in *decode.Insn) bool { return in.Code == codeLdImm64 && in.Src == 4 }
func isMayGoto(in *decode.Insn) bool { return in.Code == clsJMP|opJCOND && in.Src == 0 }
func isFetch(in *decode.Insn) bool {
	return class(in) == clsSTX && mode(in) == modeATOMIC && in.Imm&fetch != 0
}
func isLoadAcq(in *decode.Insn) bool {
	return class(in) == clsSTX && mode(in) == modeATOMIC && in.Imm == loadAcq
}

func jumpOff(in *decode.Insn) int {
	if in.Code == clsJMP32|opJA {
		return int(in.Imm)
	}
	return int(in.Off)
}

// callTarget is the function an instruction calls or takes the address of.
func callTarget(i int, in *decode.Insn) int { return i + int(in.Imm) + 1 }

// subprogAt is the function that holds instruction i.
func (e *env) subprogAt(i int) int {
	return sort.Search(len(e.subs)-1, func(n int) bool { return e.subs[n].start > i }) - 1
}

// subprogFrom is the function that starts at instruction i, -1 if none does.
func (e *env) subprogFrom(i int) int {
	if i < 0 || i >= len(e.insns) {
		return -1
	}
	if n := e.subprogAt(i); n >= 0 && e.subs[n].start == i {
		return n
	}
	return -1
}

// findSubprogs finds the functions: the program, what is called, what is a callback.
func (e *env) findSubprogs() {
	starts := map[int]bool{0: true}
	count := 1
	add := func(at int) {
		if at < 0 || at >= len(e.insns) {
			e.refuse(uapi.EINVAL, "call to invalid destination")
		}
		if !starts[at] {
			if count >= maxSubprogs {
				e.refuse(uapi.E2BIG, "too many subprograms")
			}
			starts[at] = true
			count++
		}
	}
	for i := range e.insns {
		in := &e.insns[i]
		switch {
		case isLocalCall(in), isFuncRef(in) && e.rel >= since.R(5, 13):
			add(callTarget(i, in))
		case isKfuncCall(in):
			e.addKfunc(i)
		}
	}
	if cb := e.p.ExceptionCallback; cb != 0 && e.rel >= since.R(6, 7) {
		e.checkExceptionTags()
		add(cb)
	}
	e.subs = e.subs[:0]
	for at := range starts {
		e.subs = append(e.subs, subprog{start: at, fastcallOff: 0})
	}
	sort.Slice(e.subs, func(i, j int) bool { return e.subs[i].start < e.subs[j].start })
	e.subs = append(e.subs, subprog{start: len(e.insns)})
	if cb := e.p.ExceptionCallback; cb != 0 && e.rel >= since.R(6, 7) {
		n := e.subprogFrom(cb)
		e.exceptionSub = n
		e.subs[n].isCallback, e.subs[n].isAsync, e.subs[n].isException = true, true, true
	}
}

// checkExceptionTags refuses programs that name more than one exception callback.
func (e *env) checkExceptionTags() {
	if !e.funcInfo() {
		return
	}
	n := 0
	for _, t := range e.declTags(e.addSpec(e.p.BTF), e.p.Funcs[0].Type, -1) {
		if strings.HasPrefix(t, "exception_callback:") {
			n++
		}
	}
	if n > 1 {
		e.refuse(uapi.EEXIST, "multiple exception callback tags for main subprog")
	}
}

func (e *env) nsubs() int { return len(e.subs) - 1 }

// checkSubprogs checks that jumps stay in their function and that functions end.
func (e *env) checkSubprogs() {
	cur := 0
	for i := range e.insns {
		in := &e.insns[i]
		s := &e.subs[cur]
		end := e.subs[cur+1].start
		if isHelperCall(in) && in.Imm == int32(uapi.FuncTailCall) {
			s.tailCall = true
		}
		if class(in) == clsLD && (mode(in) == modeABS || mode(in) == modeIND) {
			s.ldAbs = true
		}
		if isJump(in) && opOf(in) != opExit && opOf(in) != opCall && !(in.Code == clsJMP|opJA|srcX && e.has(since.Gotox)) {
			off := i + jumpOff(in) + 1
			if in.Code == clsJMP32|opJA && !e.has(since.LongJump) {
				off = i + int(in.Off) + 1
			}
			if off < s.start || off >= end {
				e.refuse(uapi.EINVAL, "jump out of range from insn %d to %d", i, off)
			}
		}
		if i == end-1 {
			c := in.Code
			if c != clsJMP|opExit && c != clsJMP|opJA && !(c == clsJMP32|opJA && e.has(since.LongJump)) && !(c == clsJMP|opJA|srcX && e.has(since.Gotox)) {
				e.refuse(uapi.EINVAL, "last insn is not an exit or jmp")
			}
			cur++
		}
	}
}

const (
	discovered = 0x10
	done       = 0x20
	edgeFall   = 1
	edgeBranch = 2
)

// cfg is the depth-first walk that finds instructions without a way to them and marks where states are kept.
type cfg struct {
	e     *env
	state []int
	stack []int
}

func (c *cfg) push(t, w, edge int) bool {
	e := c.e
	if c.state[t] >= discovered|edge {
		return false
	}
	if w < 0 || w >= len(e.insns) {
		e.refuse(uapi.EINVAL, "jump out of range from insn %d to %d", t, w)
	}
	if edge == edgeBranch {
		e.aux[w].prune, e.aux[w].jump, e.aux[w].target = true, true, true
	}
	switch {
	case c.state[w] == 0:
		c.state[t] = discovered | edge
		c.state[w] = discovered
		if len(c.stack) >= len(e.insns) {
			panic(refusal{uapi.E2BIG})
		}
		c.stack = append(c.stack, w)
		return true
	case c.state[w]&0xf0 == discovered:
		return false
	case c.state[w] == done:
		c.state[t] = discovered | edge
	}
	return false
}

func (c *cfg) call(t int, visit bool) bool {
	e := c.e
	next := t + 1
	if isLdImm64(&e.insns[t]) {
		next++
	}
	if c.push(t, next, edgeFall) {
		return true
	}
	if next < len(e.insns) {
		e.aux[next].prune, e.aux[next].jump = true, true
	}
	if !visit {
		return false
	}
	w := callTarget(t, &e.insns[t])
	e.aux[t].prune = true
	from, to := &e.subs[e.subprogAt(t)], &e.subs[e.subprogAt(w)]
	from.changesPacket = from.changesPacket || to.changesPacket
	from.mightSleep = from.mightSleep || to.mightSleep
	from.mightThrow = from.mightThrow || to.mightThrow
	return c.push(t, w, edgeBranch)
}

// visit looks at an instruction and reports whether its successors have to be visited before it is done.
func (c *cfg) visit(t int) bool {
	e := c.e
	in := &e.insns[t]
	if isFuncRef(in) && e.rel >= since.R(5, 13) {
		return c.call(t, true)
	}
	if !isJump(in) {
		n := 1
		if isLdImm64(in) {
			n = 2
		}
		return c.push(t, t+n, edgeFall)
	}
	switch opOf(in) {
	case opExit:
		return false
	case opCall:
		return c.visitCall(t, in)
	case opJA:
		if isX(in) {
			if e.has(since.Gotox) {
				return c.indirect(t)
			}
			panic(refusal{uapi.EINVAL})
		}
		off := int(in.Off)
		if class(in) == clsJMP32 && e.has(since.LongJump) {
			off = int(in.Imm)
		}
		if c.push(t, t+off+1, edgeFall) {
			return true
		}
		w := t + off + 1
		e.aux[w].prune, e.aux[w].jump, e.aux[w].target = true, true, true
		return false
	}
	e.aux[t].prune = true
	if isMayGoto(in) {
		e.aux[t].force = true
	}
	if c.push(t, t+1, edgeFall) {
		return true
	}
	return c.push(t, t+int(in.Off)+1, edgeBranch)
}

func (c *cfg) visitCall(t int, in *decode.Insn) bool {
	e := c.e
	a := &e.aux[t]
	if e.isAsyncCallback(in, t) {
		a.prune = true
	}
	if e.isSyncCallback(in, t) && e.has(since.CallbackChains) {
		a.callback, a.force, a.prune, a.jump = true, true, true, true
	}
	s := &e.subs[e.subprogAt(t)]
	switch {
	case isHelperCall(in):
		id := uapi.FuncID(in.Imm)
		if e.has(since.GlobalEffects) && e.changesPacket(id) {
			s.changesPacket = true
		}
		if e.helperMightSleep(id) {
			s.mightSleep = true
		}
	case isKfuncCall(in):
		if k := e.kfuncAt(t); k != nil {
			if k.flags.has(kfIterNext) {
				a.prune, a.force = true, true
			}
			if k.flags.has(kfSleepable) {
				s.mightSleep = true
			}
			if k.changesPacket {
				s.changesPacket = true
			}
			if k.name == "bpf_throw" {
				s.mightThrow = true
			}
		}
	}
	return c.call(t, isLocalCall(in))
}

func (c *cfg) indirect(t int) bool {
	e := c.e
	a := &e.aux[t]
	if a.jumps == nil {
		a.jumps = e.jumpTable(t)
	}
	a.prune = true
	more := false
	for _, w := range a.jumps {
		e.aux[w].jump, e.aux[w].target = true, true
		if c.state[w] != 0 {
			continue
		}
		if len(c.stack) >= len(e.insns) {
			panic(refusal{uapi.E2BIG})
		}
		c.stack = append(c.stack, w)
		c.state[w] |= discovered
		more = true
	}
	return more
}

// jumpTable are the targets that the instruction arrays of a function hold, ascending.
func (e *env) jumpTable(t int) []int {
	s := e.subprogAt(t)
	lo, hi := e.subs[s].start, e.subs[s+1].start
	set := map[int]bool{}
	for _, m := range e.maps {
		if m.Type != uapi.MapTypeInsnArray || len(m.Slots) == 0 {
			continue
		}
		first := int(m.Slots[0])
		for _, x := range m.Slots {
			first = min(first, int(x))
		}
		if first < lo || first >= hi {
			continue
		}
		for _, x := range m.Slots {
			set[int(x)] = true
		}
	}
	if len(set) == 0 {
		e.refuse(uapi.EINVAL, "no jump tables found for subprog starting at %d", lo)
	}
	out := make([]int, 0, len(set))
	for w := range set {
		if w < lo || w >= hi {
			e.refuse(uapi.EINVAL, "jump table for insn %d points outside of the subprog [%d,%d]", t, lo, hi)
		}
		out = append(out, w)
	}
	sort.Ints(out)
	return out
}

// checkCFG refuses programs with instructions that no way leads to, and marks where states are kept.
func (e *env) checkCFG() {
	c := &cfg{e: e, state: make([]int, len(e.insns)), stack: make([]int, 0, len(e.insns))}
	walk := func(at int) {
		c.state[at] = discovered
		c.stack = append(c.stack[:0], at)
		for len(c.stack) > 0 {
			t := c.stack[len(c.stack)-1]
			if !c.visit(t) {
				c.state[t] = done
				c.stack = c.stack[:len(c.stack)-1]
			}
		}
	}
	walk(0)
	if e.exceptionSub != 0 && c.state[e.subs[e.exceptionSub].start] != done {
		walk(e.subs[e.exceptionSub].start)
	}
	for i := 0; i < len(e.insns); i++ {
		if c.state[i] != done {
			e.refuse(uapi.EINVAL, "unreachable insn %d", i)
		}
		if isLdImm64(&e.insns[i]) {
			if c.state[i+1] != 0 {
				e.refuse(uapi.EINVAL, "jump into the middle of ldimm64 insn %d", i)
			}
			i++
		}
	}
}

// succ are the successors of an instruction within its function: the next one first.
func (e *env) succ(buf []int, i int) []int {
	in := &e.insns[i]
	if j := e.aux[i].jumps; j != nil {
		return j
	}
	buf = buf[:0]
	n := 1
	if isLdImm64(in) {
		n = 2
	}
	if !isJump(in) {
		return append(buf, i+n)
	}
	switch opOf(in) {
	case opExit:
		return buf
	case opJA:
		return append(buf, i+jumpOff(in)+1)
	case opCall:
		return append(buf, i+1)
	}
	return append(buf, i+1, i+int(in.Off)+1)
}

// computePostorder orders the instructions of each function so that successors mostly come first.
func (e *env) computePostorder() {
	state := make([]uint8, len(e.insns))
	var buf [2]int
	e.postorder = make([]int, 0, len(e.insns))
	for n := 0; n < e.nsubs(); n++ {
		e.subs[n].postorder = len(e.postorder)
		stack := []int{e.subs[n].start}
		for len(stack) > 0 {
			top := stack[len(stack)-1]
			state[top] |= discovered
			if state[top]&done != 0 {
				e.postorder = append(e.postorder, top)
				stack = stack[:len(stack)-1]
				continue
			}
			for _, w := range e.succ(buf[:0], top) {
				if state[w] == 0 {
					stack = append(stack, w)
					state[w] |= discovered
				}
			}
			state[top] |= done
		}
	}
	e.subs[e.nsubs()].postorder = len(e.postorder)
}

// computeSCC numbers the loops: strongly connected components of more than one instruction, or with an edge to itself, or a call
// that calls back. It returns one more than their highest number.
func (e *env) computeSCC() int {
	n := len(e.insns)
	const off = int(^uint(0) >> 1)
	pre, low := make([]int, n), make([]int, n)
	var stack, dfs []int
	next, id := 1, uint32(1)
	var buf [2]int
	for i := 0; i < n; i++ {
		if pre[i] != 0 {
			continue
		}
		dfs = append(dfs[:0], i)
		stack = stack[:0]
	walk:
		for len(dfs) > 0 {
			w := dfs[len(dfs)-1]
			if pre[w] == 0 {
				pre[w], low[w] = next, next
				next++
				stack = append(stack, w)
			}
			succ := e.succ(buf[:0], w)
			for _, s := range succ {
				if s >= n {
					continue
				}
				if pre[s] == 0 {
					dfs = append(dfs, s)
					continue walk
				}
				low[w] = min(low[w], low[s])
			}
			if low[w] < pre[w] {
				dfs = dfs[:len(dfs)-1]
				continue
			}
			assign := stack[len(stack)-1] != w || e.aux[w].callback && e.has(since.CallbackLoops)
			for _, s := range succ {
				assign = assign || s == w
			}
			for {
				t := stack[len(stack)-1]
				stack = stack[:len(stack)-1]
				low[t] = off
				if assign {
					e.aux[t].scc = id
				}
				if t == w {
					break
				}
			}
			if assign {
				id++
			}
			dfs = dfs[:len(dfs)-1]
		}
	}
	return int(id)
}

// computeLiveRegs finds which registers may be read from each instruction on.
func (e *env) computeLiveRegs() {
	n := len(e.insns)
	use, def, out := make([]uint16, n), make([]uint16, n), make([]uint16, n)
	for i := 0; i < n; i++ {
		use[i], def[i] = e.usesDefs(i)
		if isLdImm64(&e.insns[i]) {
			i++
		}
	}
	var buf [2]int
	for changed := true; changed; {
		changed = false
		for _, i := range e.postorder {
			var o uint16
			for _, s := range e.succ(buf[:0], i) {
				o |= e.aux[s].live
			}
			in := o&^def[i] | use[i]
			if in != e.aux[i].live || o != out[i] {
				e.aux[i].live, out[i] = in, o
				changed = true
			}
		}
	}
}

// usesDefs are the registers an instruction reads and writes.
func (e *env) usesDefs(i int) (use, def uint16) {
	in := &e.insns[i]
	src, dst := uint16(1)<<in.Src, uint16(1)<<in.Dst
	use = 0xffff
	switch class(in) {
	case clsLD:
		if mode(in) == modeIMM && sizeOf(in) == 8 {
			return 0, dst
		}
	case clsLDX:
		if m := mode(in); m == modeMEM || m == modeMEMSX {
			return src, dst
		}
	case clsST:
		if mode(in) == modeMEM {
			return dst, 0
		}
	case clsSTX:
		switch mode(in) {
		case modeMEM:
			return dst | src, 0
		case modeATOMIC:
			switch {
			case in.Imm == cmpxchg:
				return 1 | dst | src, 1
			case in.Imm == loadAcq:
				return src, dst
			case in.Imm == storeRel:
				return dst | src, 0
			case in.Imm&fetch != 0:
				return dst | src, src
			}
			return dst | src, 0
		}
	case clsALU, clsALU64:
		switch {
		case opOf(in) == opEnd, opOf(in) != opMov && !isX(in):
			return dst, dst
		case opOf(in) == opMov && !isX(in):
			return 0, dst
		case opOf(in) == opMov:
			return src, dst
		}
		return dst | src, dst
	case clsJMP, clsJMP32:
		switch opOf(in) {
		case opJA:
			if isX(in) {
				return dst, 0
			}
			return 0, 0
		case opJCOND:
			return 0, 0
		case opExit:
			return 1, 0
		case opCall:
			use, def = 0x3e, 0x3f
			if n, ok := e.paramsOf(i); ok {
				use = uint16(1)<<(min(n, 5)+1) - 2
			}
			return use, def
		}
		if !isX(in) {
			return dst, 0
		}
		return dst | src, 0
	}
	return use, def
}
