package scenario

import (
	"github.com/bpfrun/bpfrun/decode"
	"github.com/bpfrun/bpfrun/internal/machine"
	"github.com/bpfrun/bpfrun/internal/uapi"
	"github.com/bpfrun/bpfrun/loader"
)

// keyWords are the words of the keys that a run gave to maps, found or not. An object whose address
// is one of them is what the program is about: another program that uses the same address must be
// about the same object. It is a [machine.Tracer].
type keyWords struct {
	m     *machine.Machine
	words map[uint64]bool
}

func (k *keyWords) has(addr uint64) bool { return k.words[addr] }

// mostKey limits the bytes of a key that are looked at.
const mostKey = 256

// Step implements [machine.Tracer].
func (k *keyWords) Step(p *loader.LinkedProgram, pc, _ int, before, _ *[11]uint64) {
	in := p.Insns[pc]
	if in.Op() != decode.OpCallHelper {
		return
	}
	switch uapi.FuncID(in.Imm) {
	case uapi.FuncMapLookupElem, uapi.FuncMapUpdateElem, uapi.FuncMapDeleteElem:
	default:
		return
	}
	for _, def := range k.m.Linked().Maps {
		b, ok := k.m.Map(def)
		if !ok || b.Addr() != before[1] {
			continue
		}
		key := make([]byte, min(b.Spec().KeySize, mostKey))
		if k.m.Memory().Read(before[2], key) != nil {
			return
		}
		for ; len(key) >= 8; key = key[8:] {
			k.words[k.m.Memory().ByteOrder().Uint64(key)] = true
		}
		return
	}
}
