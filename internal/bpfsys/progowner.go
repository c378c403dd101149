package bpfsys

import (
	"strings"

	"github.com/bpfrun/bpfrun/btf"
	"github.com/bpfrun/bpfrun/decode"
	"github.com/bpfrun/bpfrun/internal/uapi"
	"github.com/bpfrun/bpfrun/internal/uapi/since"
)

// progOwner is the kind of the programs that a map holds and that use it (bpf_map_owner): who
// tail-calls one of these continues in it. The first program tells.
type progOwner struct {
	typ              uapi.ProgType
	frags, sleepable bool
	expected         uapi.AttachType
	proto            funcProto
	storage          [2]*Map
}

// funcProto is the prototype of the function that a program is attached to.
type funcProto struct {
	in *btf.Spec
	id btf.ID
}

// admits reports whether a program may be put into a map of programs (bpf_prog_map_compatible).
func (s *System) admits(m *Map, p *Prog) bool {
	// Such a program is for one device; where it would run then is not known.
	if s.has(since.DevBound) && p.flags&flagDevBound != 0 {
		return false
	}
	return s.compatible(m, p)
}

// usesCompatible reports whether the program is of the kind of the program arrays that it uses
// (bpf_check_tail_call).
func (s *System) usesCompatible(p *Prog) bool {
	for _, m := range p.maps {
		switch m.def.Type {
		case uapi.MapTypeProgArray:
		case uapi.MapTypeDevmap, uapi.MapTypeCpumap:
			if !s.has(since.XDPFrags) {
				continue
			}
		default:
			continue
		}
		if !s.compatible(m, p) {
			return false
		}
	}
	return true
}

// compatible compares a program with those of the map, and notes the first one's kind
// (__bpf_prog_map_compatible).
func (s *System) compatible(m *Map, p *Prog) bool {
	// An overridden return value is one of the probe, which a program called from it does not know.
	if calls(p, uapi.FuncOverrideReturn, false) {
		return false
	}
	is := s.ownerOf(p)
	o := m.owner
	if o == nil {
		m.owner = is
		return true
	}
	if o.typ != is.typ || s.has(since.XDPFrags) && o.frags != is.frags || s.has(since.ProgArraySleepable) && o.sleepable != is.sleepable {
		return false
	}
	if s.has(since.ProgArrayAttachTypes) && m.def.Type == uapi.MapTypeProgArray && o.expected != is.expected {
		return false
	}
	if s.has(since.ProgArrayStorage) {
		for i, has := range is.storage {
			if has != o.storage[i] && (has != nil || s.has(since.ProgArrayNoStorage) && calls(p, uapi.FuncTailCall, !s.has(since.DirectTailCalls))) {
				return false
			}
		}
	}
	if !s.has(since.ProgArrayPrototypes) || o.proto == is.proto {
		return true
	}
	switch is.typ {
	case uapi.ProgTypeTracing, uapi.ProgTypeLSM, uapi.ProgTypeExt, uapi.ProgTypeStructOps:
		return false
	}
	return true
}

func (s *System) ownerOf(p *Prog) *progOwner {
	o := &progOwner{typ: p.typ, frags: p.flags&flagFrags != 0, sleepable: p.flags&flagSleepable != 0, expected: p.expected, proto: s.protoOf(p)}
	if p.typ == uapi.ProgTypeExt && p.ext != nil && s.has(since.ProgArrayResolves) {
		o.typ = p.ext.typ
	}
	for _, m := range p.maps {
		switch m.def.Type {
		case uapi.MapTypeCgroupStorage:
			o.storage[0] = m
		case uapi.MapTypePercpuCgroupStorage:
			o.storage[1] = m
		}
	}
	return o
}

// protoOf returns the prototype of the function, tracepoint or member that the program is attached
// to (attach_func_proto).
func (s *System) protoOf(p *Prog) funcProto {
	f := funcProto{}
	switch {
	case p.ext != nil && p.ext.types != nil:
		f.in = p.ext.types.spec
	case p.hook.obj != nil:
		f.in = p.hook.obj.spec
	default:
		return f
	}
	t, err := f.in.Type(p.hook.id)
	if err != nil {
		return funcProto{}
	}
	if t.Kind == btf.KindStruct && int(p.expected) < len(t.Members) {
		t = f.in.SkipMods(t.Members[p.expected].Type)
	}
	if t.Kind == btf.KindTypedef { // btf_trace_NAME, a pointer to the function's type
		if id, ok := f.in.FindID(btf.KindFunc, "__bpf_trace_"+strings.TrimPrefix(t.Name, "btf_trace_")); ok && s.has(since.TracepointParamNames) {
			f.id = f.in.MustType(id).Ref
			return f
		}
		t = f.in.SkipMods(t.Ref)
	}
	f.id = t.Ref
	return f
}

// calls reports whether the program calls a helper, or with inFuncs a function of it does.
func calls(p *Prog, helper uapi.FuncID, inFuncs bool) bool {
	insns, err := decode.Unmarshal(p.insns, le)
	if err != nil {
		return false
	}
	from := 0
	if inFuncs {
		from = len(insns)
		for i := range insns {
			if insns[i].Op() == decode.OpCallLocal {
				from = min(from, max(i+1+int(insns[i].Imm), 0)) // an unverified one may lead anywhere
			}
		}
	}
	for i := from; i < len(insns); i++ {
		if in := &insns[i]; in.Op() == decode.OpCallHelper && in.Imm == int32(helper) {
			return true
		}
	}
	return false
}
