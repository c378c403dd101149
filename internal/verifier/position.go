package verifier

func (p *position) newID() uint32 { p.ids++; return p.ids }

func (p *position) regs() *[11]reg { return p.cur.regs() }

func (p *position) reg(n int) *reg { return &p.cur.regs()[n] }

func (p *position) frame() *frame { return p.cur.frames[p.cur.curFrame] }

func (p *position) curAux() *insnAux { return &p.aux[p.insn] }

// refList returns the references of a state: its own, or in releases before 6.14 those of its
// current frame.
func (p *position) refList(s *state) *[]ref {
	if p.r.stateRefs {
		return &s.refs
	}
	return &s.frame().refs
}

// funcOf returns the frame that a stack pointer points into.
func (p *position) funcOf(r *reg) *frame { return p.cur.frames[r.frame] }
