package machine

import (
	"github.com/bpfrun/bpfrun/decode"
	"github.com/bpfrun/bpfrun/helpers/proto"
	"github.com/bpfrun/bpfrun/internal/uapi"
	"github.com/bpfrun/bpfrun/loader"
)

// recordSite is a place where programs send records of a known size to a map, with the stores that
// build them.
type recordSite struct {
	mapName string
	size    int
	stores  []recordStore
	valueOf string // the map whose value is sent, "" for other memory
}

// recordStore is a store to a record.
type recordStore struct {
	off, size int
	// zero stores may span several members, because compilers clear memory in that way.
	zero bool
}

// tracked is what is known of a register or stack slot during the scan of instructions.
type tracked struct {
	kind trackedKind
	name string // of a map
	n    int64  // a constant; the offset from r10 or in the buffer
	buf  *recordBuffer
}

type trackedKind uint8

const (
	trackedNothing trackedKind = iota
	trackedConst
	trackedMap
	trackedStack
	trackedBuffer
)

// recordBuffer is memory that a helper returned: a reserved record, or a map value that may be
// sent.
type recordBuffer struct {
	mapName string // "" for a map value
	valueOf string // the map whose value it is
	size    int
	stores  []recordStore
}

// recordSites scans the instructions of a program in order, without following branches: the result
// is evidence that types must be consistent with.
func recordSites(lp *loader.LinkedProgram) []recordSite {
	var out []recordSite
	for _, f := range lp.Funcs {
		r := siteReader{lp: lp, slots: map[int64]tracked{}}
		r.regs[10] = tracked{kind: trackedStack}
		for pc := f.Start; pc < f.Start+f.Len && pc < len(lp.Insns); pc += max(lp.Insns[pc].Len(), 1) {
			r.step(pc)
		}
		out = append(out, r.finish()...)
	}
	return out
}

type siteReader struct {
	lp    *loader.LinkedProgram
	regs  [11]tracked
	slots map[int64]tracked
	stack []recordStore // by offset from r10
	bufs  []*recordBuffer
	sent  []sentBuffer
}

// sentBuffer is memory that a helper copied to a map.
type sentBuffer struct {
	mapName string
	from    tracked
	size    int
}

func (r *siteReader) step(pc int) {
	in := r.lp.Insns[pc]
	info := in.Info()
	dst := &r.regs[min(in.Dst, 10)]
	src := r.regs[min(in.Src, 10)]
	switch info.Form {
	case decode.FormImm64:
		*dst = tracked{}
		if ref, ok := r.lp.Refs[pc]; ok && ref.Kind == loader.RefMap && ref.Map != nil {
			*dst = tracked{kind: trackedMap, name: ref.Map.Name}
		}
	case decode.FormALUImm:
		switch info.Op {
		case decode.OpMov64Imm, decode.OpMov32Imm:
			*dst = tracked{kind: trackedConst, n: int64(in.Imm)}
		case decode.OpAdd64Imm:
			dst.n += int64(in.Imm)
		default:
			*dst = tracked{}
		}
	case decode.FormALUReg:
		if info.Op == decode.OpMov64Reg {
			*dst = src
		} else {
			*dst = tracked{}
		}
	case decode.FormLoad:
		if info.Size == 8 && src.kind == trackedStack {
			*dst = r.slots[src.n+int64(in.Off)]
		} else {
			*dst = tracked{}
		}
	case decode.FormStoreImm, decode.FormStoreReg:
		v := tracked{kind: trackedConst, n: int64(in.Imm)}
		if info.Form == decode.FormStoreReg {
			v = src
		}
		r.store(*dst, int64(in.Off), int(info.Size), v)
	case decode.FormCall:
		if in.Op() == decode.OpCallHelper {
			r.call(uapi.FuncID(in.Imm))
		} else {
			r.clobber()
		}
	case decode.FormCallKfunc:
		r.clobber()
	default:
		if info.Has(decode.FlagCall) {
			r.clobber()
		}
	}
}

func (r *siteReader) clobber() {
	for i := range 6 {
		r.regs[i] = tracked{}
	}
}

func (r *siteReader) store(to tracked, off int64, size int, v tracked) {
	s := recordStore{int(to.n + off), size, v.kind == trackedConst && v.n == 0}
	switch to.kind {
	case trackedStack:
		r.stack = append(r.stack, s)
		if size == 8 {
			r.slots[to.n+off] = v
		}
	case trackedBuffer:
		to.buf.stores = append(to.buf.stores, s)
	}
}

func (r *siteReader) call(id uapi.FuncID) {
	a := r.regs
	if h, ok := proto.Lookup(id); ok {
		args := h.Common().Args
		for i, arg := range args {
			if arg.Kind == proto.Mem && arg.Writes() && i+1 < len(args) && 2+i < len(a) && a[2+i].kind == trackedConst {
				r.store(a[1+i], 0, int(a[2+i].n), tracked{})
			}
		}
	}
	sends := func(m, data, size int) {
		if a[m].kind == trackedMap && a[size].kind == trackedConst && a[size].n > 0 {
			r.sent = append(r.sent, sentBuffer{a[m].name, a[data], int(a[size].n)})
		}
	}
	r.clobber()
	switch id {
	case uapi.FuncRingbufReserve:
		if a[1].kind == trackedMap && a[2].kind == trackedConst {
			r.buffer(a[1].name, int(a[2].n))
		}
	case uapi.FuncMapLookupElem:
		r.buffer("", 0)
		if a[1].kind == trackedMap {
			r.bufs[len(r.bufs)-1].valueOf = a[1].name
		}
	case uapi.FuncRingbufOutput:
		sends(1, 2, 3)
	case uapi.FuncPerfEventOutput, uapi.FuncSkbOutput, uapi.FuncXDPOutput:
		sends(2, 4, 5)
	}
}

func (r *siteReader) buffer(name string, size int) {
	b := &recordBuffer{mapName: name, size: size}
	r.bufs = append(r.bufs, b)
	r.regs[0] = tracked{kind: trackedBuffer, buf: b}
}

func (r *siteReader) finish() []recordSite {
	var out []recordSite
	for _, b := range r.bufs {
		if b.mapName != "" {
			out = append(out, recordSite{mapName: b.mapName, size: b.size, stores: b.stores})
		}
	}
	for _, s := range r.sent {
		site := recordSite{mapName: s.mapName, size: s.size}
		from := r.stack
		switch s.from.kind {
		case trackedStack:
		case trackedBuffer:
			from = s.from.buf.stores
			if s.from.n == 0 {
				site.valueOf = s.from.buf.valueOf
			}
		default:
			continue
		}
		for _, st := range from {
			if st.off -= int(s.from.n); st.off >= 0 && st.off+st.size <= s.size {
				site.stores = append(site.stores, st)
			}
		}
		out = append(out, site)
	}
	return out
}
