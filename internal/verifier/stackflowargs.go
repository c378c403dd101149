package verifier

import (
	"github.com/bpfrun/bpfrun/btf"
	"github.com/bpfrun/bpfrun/helpers/proto"
	"github.com/bpfrun/bpfrun/internal/uapi"
)

// flowArgs records what a helper or kernel function does with pointers to a stack
// (record_call_access).
func (w *flowAnalysis) flowArgs(in *flowInstance, st *trackState, at int) {
	insn := &w.insns[at]
	if isLocalCall(insn) {
		return
	}
	n, ok := w.paramsOf(at)
	if !ok {
		n = 5
	}
	for i := range min(n, 5) {
		a := st.regs[i+1]
		if !a.isPointer() {
			continue
		}
		switch {
		case isHelperCall(insn):
			w.flowTouchArg(in, a, w.helperBytes(at, i), at)
		case isKfuncCall(insn):
			w.flowTouchArg(in, a, w.kfuncBytes(at, i), at)
		default:
			for fr := 0; fr <= in.depth; fr++ {
				in.read(w.position, fr, at, allHalves)
			}
		}
	}
}

// flowTouchArg is flowTouch for arguments: zero bytes are not an access, whatever the address.
func (w *flowAnalysis) flowTouchArg(in *flowInstance, a argTrack, bytes int64, at int) {
	if bytes != 0 {
		w.flowTouch(in, a, bytes, at)
	}
}

// helperBytes returns how many bytes a helper reads through an argument, negative if it writes them
// (bpf_helper_stack_access_bytes).
func (w *flowAnalysis) helperBytes(at, arg int) int64 {
	h, ok := proto.Lookup(uapi.FuncID(w.insns[at].Imm))
	if !ok || !h.In(w.rel) {
		return unknownBytes
	}
	p := h.For(w.rel, w.prog.caller)
	if p == nil || arg >= len(p.Args) {
		return unknownBytes
	}
	a := p.Args[arg]
	known := w.liveness.flow.known[at]
	size := int64(0)
	switch a.Kind {
	case proto.MapKey, proto.MapValue:
		// How much is read or written follows from the map, if it is known at this place.
		size = w.flowMapSize(p, known, arg)
		if size == 0 {
			return unknownBytes
		}
	case proto.FixedMem:
		size = int64(a.Size)
	case proto.Mem:
		if arg+1 >= len(p.Args) || p.Args[arg+1].Kind != proto.ConstSize && p.Args[arg+1].Kind != proto.ConstSizeOrZero {
			return unknownBytes
		}
		v, ok := known.number(uint8(arg + 2))
		switch {
		case ok:
			size = int64(v)
		case a.Flags&proto.Uninit != 0:
			// It writes an unknown number of bytes: none is certain.
			return 0
		default:
			return maxStack
		}
	case proto.Dynptr:
		size = dynptrBytes
	case proto.Stack:
		return 0
	default:
		return unknownBytes
	}
	if a.Flags&proto.Uninit != 0 {
		return -size
	}
	return size
}

// dynptrBytes is sizeof(struct bpf_dynptr).
const dynptrBytes = 16

// flowMapSize returns the size in bytes of the key or value that an argument points to: that of the
// map passed, or the largest of all maps.
func (w *flowAnalysis) flowMapSize(p *proto.Proto, known *constRegs, arg int) int64 {
	size := func(m *Map) int64 {
		if p.Args[arg].Kind == proto.MapKey {
			return int64(m.KeySize)
		}
		return int64(m.ValueSize)
	}
	for i := range arg {
		if p.Args[i].Kind == proto.ConstMap {
			// The map is the same on every path.
			if c := known[i+1]; c.kind == knownMap && c.mapp > 0 {
				return size(w.maps[c.mapp-1].Map)
			}
			break
		}
	}
	largest := int64(0)
	for _, m := range w.maps {
		largest = max(largest, size(m.Map))
		if m.inner != nil {
			largest = max(largest, size(m.inner.Map))
		}
	}
	return largest
}

// kfuncBytes is helperBytes for a kernel function (bpf_kfunc_stack_access_bytes). What its
// prototype does not tell counts as read to the end of the frame.
func (w *flowAnalysis) kfuncBytes(at, arg int) int64 {
	k := w.kfuncAt(at)
	if k == nil || k.missing || k.proto == nil {
		return unknownBytes
	}
	if arg >= len(k.proto.Params) {
		return 0
	}
	s := w.specs[k.spec-1]
	p := &k.proto.Params[arg]
	t := s.SkipMods(p.Type)
	if t.Kind != btf.KindPtr {
		return 0
	}
	size := int64(0)
	pointee := s.SkipMods(t.Ref)
	switch {
	case pointee.Kind == btf.KindStruct && (pointee.Name == "bpf_dynptr" || pointee.Name == "bpf_dynptr_kern"):
		size = dynptrBytes
	case arg+1 < len(k.proto.Params) && (hasSuffix(&k.proto.Params[arg+1], "__sz") || hasSuffix(&k.proto.Params[arg+1], "__szk")):
		v, ok := w.liveness.flow.known[at].number(uint8(arg + 2))
		if !ok {
			return maxStack
		}
		size = int64(v)
	default:
		n, err := s.Sizeof(pointee.ID)
		if err != nil {
			return unknownBytes
		}
		size = n
	}
	// The function initialises the object.
	if arg == 0 && k.flags.has(kfIterNew) || hasSuffix(p, "__uninit") {
		return -size
	}
	return size
}
