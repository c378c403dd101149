package vm

import "github.com/bpfrun/bpfrun/decode"

// SetContext tells the thread which words of the context at base simply yield a value: words[i] is that of the four bytes at offset
// 4*i, nil where the context itself has to be asked. What a load of four bytes yields is the whole value, as of the packet
// pointers of network contexts, which every program loads first. Nil words forget the context.
func (t *Thread) SetContext(base uint64, words []*uint64) {
	t.ctxBase, t.ctxWords = base, words
}

// contextWord executes the load in if it is one of a word that SetContext named. Watches want to see every access.
func (t *Thread) contextWord(in *inst) bool {
	off := t.regs[in.src] + uint64(int64(in.off)) - t.ctxBase
	if in.op != uint16(decode.OpLdxW) || off&3 != 0 || off/4 >= uint64(len(t.ctxWords)) {
		return false
	}
	w := t.ctxWords[off/4]
	if w == nil || t.mem.Watching() {
		return false
	}
	t.regs[in.dst] = *w
	return true
}
