package minkernel

import (
	"maps"
	"slices"

	"github.com/bpfrun/bpfrun/btf"
	"github.com/bpfrun/bpfrun/corerelo"
	"github.com/bpfrun/bpfrun/decode"
	"github.com/bpfrun/bpfrun/internal/uapi"
	"github.com/bpfrun/bpfrun/internal/uapi/since"
	"github.com/bpfrun/bpfrun/internal/verifier"
	"github.com/bpfrun/bpfrun/loader"
)

// waiver is what a program is assumed not to need: calls and fields behind a test that fails, maps
// of another type, rules that the program does not rely on. The zero value waives nothing.
type waiver struct {
	helpers map[uapi.FuncID]bool
	kfuncs  map[string]bool
	fields  map[string]bool
	maps    map[uapi.MapType]bool
	// rules are those of the verifier that count as they are on like.
	rules []since.Rule
	like  since.Version
}

// with returns a waiver that also waives h; ok is false if nothing can be done without it.
func (w *waiver) with(h *Hold) (_ *waiver, ok bool) {
	c := &waiver{maps.Clone(w.helpers), maps.Clone(w.kfuncs), maps.Clone(w.fields), maps.Clone(w.maps), slices.Clone(w.rules), w.like}
	switch {
	case h.Kind == Helper:
		c.helpers = set(c.helpers, h.helper)
	case h.Kind == Kfunc:
		c.kfuncs = set(c.kfuncs, h.Name)
	case h.Kind == Field:
		c.fields = set(c.fields, h.Name)
	case h.Kind == MapType:
		c.maps = set(c.maps, h.mapType)
	case len(h.Rules) > 0:
		c.rules = append(c.rules, h.Rules...)
	default:
		return nil, false
	}
	return c, true
}

func set[K comparable](m map[K]bool, k K) map[K]bool {
	if m == nil {
		m = map[K]bool{}
	}
	m[k] = true
	return m
}

// waives reports whether h is waived.
func (w *waiver) waives(h *Hold) bool {
	switch h.Kind {
	case Field:
		return w.fields[h.Name]
	case Kfunc:
		return w.kfuncs[h.Name]
	}
	return false // maps, helpers and rules are left out where they are found
}

// of returns the rules of a kernel with those that are waived.
func (w *waiver) of(k *verifier.Kernel) *since.Set {
	rules := since.Version{Release: k.Release, Patch: k.Patch}.Rules()
	if len(w.rules) == 0 {
		return rules
	}
	own := *rules
	for _, r := range w.rules {
		own[r] = w.like.Has(r)
	}
	return &own
}

// The instructions that stand where a guarded one is not reached.
const (
	codeMov  = 0xb7 // dst = imm
	codeJump = 0x05 // goto +off
)

// apply replaces what is waived by what a program does whose test fails: the result is 0, a store
// is left out.
func (w *waiver) apply(p *verifier.Program, lp *loader.LinkedProgram) {
	if len(w.helpers)+len(w.kfuncs)+len(w.fields) == 0 {
		return
	}
	p.Insns, p.Refs = slices.Clone(p.Insns), maps.Clone(p.Refs)
	for pc := range p.Insns {
		in := &p.Insns[pc]
		switch ref, isRef := lp.Refs[pc]; {
		case in.Op() == decode.OpCallHelper && w.helpers[uapi.FuncID(in.Imm)]:
			*in = decode.Insn{Code: codeMov}
		case isRef && ref.Kind == loader.RefKfunc && (w.kfuncs[ref.Name] || w.kfuncs[btf.EssentialName(ref.Name)]):
			*in = decode.Insn{Code: codeMov}
			delete(p.Refs, pc)
		default:
			w.field(p, lp, pc)
		}
	}
}

// field replaces the access of a field that is waived.
func (w *waiver) field(p *verifier.Program, lp *loader.LinkedProgram, pc int) {
	r, ok := lp.RelocAt(pc)
	if !ok || r.Relocation == nil || r.Local.BTF == nil || !w.fields[r.Local.Field()] {
		return
	}
	if kind, _, poisoned := corerelo.ParsePoison(p.Insns[pc]); !poisoned || kind != corerelo.PoisonCORE {
		return
	}
	fn, _ := lp.FuncAt(pc) // the zero one has no instructions
	if fn.Function == nil || pc-fn.Start >= len(fn.Function.Insns) {
		return
	}
	was := fn.Function.Insns[pc-fn.Start]
	p.Insns[pc] = decode.Insn{Code: codeMov, Dst: was.Dst}
	if class := was.Code & 7; class == 2 || class == 3 { // ST, STX
		p.Insns[pc] = decode.Insn{Code: codeJump}
	}
	if r.Patch.Slots == 2 && pc+1 < len(p.Insns) {
		p.Insns[pc+1] = decode.Insn{Code: codeJump}
	}
}
