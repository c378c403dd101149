package verifier

import "github.com/bpfrun/bpfrun/internal/uapi/since"

// computePostorder orders the instructions of each function so that successors mostly come before
// predecessors (compute_postorder). Analyses against the flow need few rounds in that order.
func (l *layout) computePostorder() {
	// A depth-first walk with a stack of its own, as programs may be long.
	state := make([]uint8, len(l.insns))
	var buf [2]int
	l.postorder = make([]int, 0, len(l.insns))
	for n := 0; n < l.nsubs(); n++ {
		l.subs[n].postorder = len(l.postorder)
		stack := []int{l.subs[n].start}
		for len(stack) > 0 {
			top := stack[len(stack)-1]
			state[top] |= discovered
			if state[top]&done != 0 {
				l.postorder = append(l.postorder, top)
				stack = stack[:len(stack)-1]
				continue
			}
			for _, w := range l.succ(buf[:0], top) {
				if state[w] == 0 {
					stack = append(stack, w)
					state[w] |= discovered
				}
			}
			state[top] |= done
		}
	}
	l.subs[l.nsubs()].postorder = len(l.postorder)
}

// computeSCC numbers the loops: strongly connected components of more than one instruction, or with
// an edge to itself, or of a call with a callback (compute_scc, Tarjan's algorithm). It returns the
// highest number plus one. States within a loop have all their marks only once the loop is
// explored.
func (l *layout) computeSCC() int {
	n := len(l.insns)
	// A component that is complete is off the stack: nothing may take its number for a lower one.
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
			succ := l.succ(buf[:0], w)
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
			// It belongs to a loop that began earlier on the path.
			if low[w] < pre[w] {
				dfs = dfs[:len(dfs)-1]
				continue
			}
			// Everything above w on the stack is in a loop with it.
			assign := stack[len(stack)-1] != w || l.aux[w].callback && l.has(since.CallbackLoops)
			for _, s := range succ {
				assign = assign || s == w
			}
			for {
				t := stack[len(stack)-1]
				stack = stack[:len(stack)-1]
				low[t] = off
				if assign {
					l.aux[t].scc = id
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

// computeLiveRegs computes the registers that may be read from each instruction on
// (compute_live_registers). States need not agree in the others.
func (l *layout) computeLiveRegs() {
	n := len(l.insns)
	use, def, out := make([]uint16, n), make([]uint16, n), make([]uint16, n)
	for i := 0; i < n; i++ {
		use[i], def[i] = l.usesDefs(i)
		if isLdImm64(&l.insns[i]) {
			i++
		}
	}
	var buf [2]int
	for changed := true; changed; {
		changed = false
		for _, i := range l.postorder {
			var o uint16
			for _, s := range l.succ(buf[:0], i) {
				o |= l.aux[s].live
			}
			// The equations of live variables, until nothing changes.
			in := o&^def[i] | use[i]
			if in != l.aux[i].live || o != out[i] {
				l.aux[i].live, out[i] = in, o
				changed = true
			}
		}
	}
}

// usesDefs returns the registers an instruction reads and writes (compute_insn_live_regs). Whatever
// is not recognised reads all and writes none, which is safe.
func (l *layout) usesDefs(i int) (use, def uint16) {
	in := &l.insns[i]
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
				// It compares with R0, and leaves the old value there.
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
			// R0 is the result.
			return 1, 0
		case opCall:
			// Calls clobber R1 to R5 and set R0; how many of them they read, prototypes tell.
			use, def = 0x3e, 0x3f
			if n, ok := l.paramsOf(i); ok {
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
