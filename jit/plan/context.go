package plan

import "github.com/bpfrun/bpfrun/decode"

// MaxWords is the largest number of context words that a program may load without a call of the
// context.
const MaxWords = 8

// contextLoads finds loads that may read words of the context (vm.Thread.SetContext).
//
// Which registers hold the address of the context is a guess: r1 at function entry, and its copies,
// in slot order and ignoring jumps. Generated code compares.
func (p *Program) contextLoads(words []*uint64) {
	p.Words = p.Words[:0]
	if len(words) == 0 {
		return
	}
	starts, holds := p.Image.Subprograms(), uint32(0)
	for pc := range p.Insns {
		if len(starts) > 0 && pc == starts[0] {
			starts, holds = starts[1:], 1<<1
		}
		in := &p.Insns[pc]
		switch in.Kind {
		case KindCall, KindCallFunc, KindCallInline, KindTailCall:
			holds &^= 0x3f
		case KindLoad:
			if in.Op == decode.OpLdxW && holds>>in.Base&1 != 0 {
				p.contextLoad(in, words)
			}
			holds &^= 1 << in.Dst
		case KindImm64:
			holds &^= 1 << in.Dst
		case KindOp:
			if in.Op == decode.OpMov64Reg && holds>>in.Src&1 != 0 {
				holds |= 1 << in.Dst
			} else {
				holds &^= 1 << in.Dst
			}
		case KindAtomic:
			holds &^= 1<<in.Src | 1
		}
	}
}

// contextLoad marks a load if the context has a word at its offset.
func (p *Program) contextLoad(in *Insn, words []*uint64) {
	at := int(in.Off) / 4
	if in.Off < 0 || in.Off%4 != 0 || at >= len(words) || words[at] == nil {
		return
	}
	for i, w := range p.Words {
		if int(w) == at {
			in.Flags, in.Target = in.Flags|FlagWord, int32(i)
			return
		}
	}
	if len(p.Words) < MaxWords {
		in.Flags, in.Target = in.Flags|FlagWord, int32(len(p.Words))
		p.Words = append(p.Words, int32(at))
	}
}
