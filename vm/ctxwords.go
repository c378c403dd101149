package vm

import "github.com/bpfrun/bpfrun/decode"

// SetContext tells the thread which words of the context at base simply yield a value: words[i] is
// the value of the four bytes at offset 4*i, or nil if the load must go through the context's view.
// A load of four bytes yields the whole value, as for the packet pointers of network contexts,
// which every program loads first. While there are watches, all loads go through the view. Nil
// words remove the setting.
func (t *Thread) SetContext(base uint64, words []*uint64) {
	t.ctxBase, t.ctxWords = base, words
	t.generation++
}

// Context returns the values set by SetContext.
func (t *Thread) Context() (base uint64, words []*uint64) { return t.ctxBase, t.ctxWords }

// contextWord returns the value that an instruction loads if it loads such a word of the context.
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
