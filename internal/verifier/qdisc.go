package verifier

import "github.com/bpfrun/bpfrun/internal/verifier/refusal"

// Rules of queueing disciplines (net/sched/bpf_qdisc.c).

// qdiscOps is the struct of a queueing discipline; qdiscMembers are its members that programs may
// implement, those that have a stub.
const qdiscOps = "Qdisc_ops"

var qdiscMembers = []string{"enqueue", "dequeue", "init", "reset", "destroy"}

// freeList returns the type of an argument that is a list of packets to free, the third one of
// enqueue (bpf_qdisc_is_valid_access).
func (x *contexts) freeList(arg int) (uint32, bool) {
	if x.prog.opsStruct != qdiscOps || x.prog.opsMember != "enqueue" || arg != 2 {
		return 0, false
	}
	id, ok := x.kernelType("bpf_sk_buff_ptr")
	return uint32(id), ok
}

// qdiscWrite checks a store to a field of a kernel struct (bpf_qdisc_btf_struct_access).
func (k *kernelMem) qdiscWrite(r *reg, off, size int) {
	name := k.specName(r.spec, r.tid)
	var end int
	switch name {
	case "sk_buff":
		end = k.endOf(name, off, "tstamp", false)
		if cb, ok := k.place(name, "cb"); ok && end == 0 {
			if data, ok := k.place("qdisc_skb_cb", "data"); ok && off >= cb.off+data.off && off < cb.off+data.off+data.size {
				end = cb.off + data.off + data.size
			}
		}
	case "Qdisc":
		end = max(k.endOf(name, off, "limit", false), k.endOf(name, off, "q.qlen", false), k.endOf(name, off, "qstats", true))
	default:
		k.refuse(refusal.OnlyReadSupported)
	}
	switch {
	case end == 0:
		k.refuse(refusal.NoWriteSupportOff, name, off)
	case off+size > end:
		k.refuse(refusal.WriteAccessOffSizeBeyondMember, off, size, name, end)
	}
}

// span is where a member is in its struct, in bytes.
type span struct{ off, size int }

func (k *kernelMem) place(typ, path string) (span, bool) {
	id, ok := k.kernelType(typ)
	if !ok {
		return span{}, false
	}
	f, err := k.k.BTF.ResolvePath(id, path)
	if err != nil {
		return span{}, false
	}
	n, err := k.k.BTF.Sizeof(f.Type)
	return span{int(f.Offset()), int(n)}, err == nil
}

// endOf returns where a member ends, if a store at off begins with it, or with any of its bytes;
// else 0.
func (k *kernelMem) endOf(typ string, off int, path string, anywhere bool) int {
	s, ok := k.place(typ, path)
	if !ok || off != s.off && !(anywhere && off > s.off && off < s.off+s.size) {
		return 0
	}
	return s.off + s.size
}
