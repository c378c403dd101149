package vm

import "github.com/bpfrun/bpfrun/decode"

// SetContext tells the thread which words of the context at base simply yield a value: words[i] is that of the four bytes at offset
// 4*i, nil where the context itself has to be asked. What a load of four bytes yields is the whole value, as of the packet
// pointers of network contexts, which every program loads first. While there are watches, which want to see every access, the context is
// asked. Nil words forget it.
func (t *Thread) SetContext(base uint64, words []*uint64) {
	t.ctxBase, t.ctxWords = base, words
	t.generation++
}

// Context returns what SetContext set.
func (t *Thread) Context() (base uint64, words []*uint64) { return t.ctxBase, t.ctxWords }

// contextWord returns the value an instruction loads if it loads a word of the context that simply yields one.
func (t *Thread) contextWord(in *inst) (uint64, bool) {
	off := t.regs[in.src] + uint64(int64(in.off)) - t.ctxBase
	if in.op != uint16(decode.OpLdxW) || off&3 != 0 || off>>2 >= uint64(len(t.ctxWords)) || t.mem.Watched() {
		return 0, false
	}
	v := t.ctxWords[off>>2]
	if v == nil {
		return 0, false
	}
	return *v, true
}
