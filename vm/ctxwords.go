package vm

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
