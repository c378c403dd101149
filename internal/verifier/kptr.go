package verifier

import (
	"github.com/bpfrun/bpfrun/btf"
	"github.com/bpfrun/bpfrun/internal/uapi"
	"github.com/bpfrun/bpfrun/internal/uapi/since"
	"github.com/bpfrun/bpfrun/internal/verifier/refusal"
)

// accessKptr checks a load or store of a kptr (check_map_kptr_access).
func (a *memory) accessKptr(insn, value int, f *field) {
	in := &a.insns[insn]
	// An atomic exchange would bypass the type check and the count.
	if mode(in) != modeMEM {
		a.refuse(refusal.KptrInMapOnlyAccessedUsing)
	}
	// The reference that was there would be lost, and the new one counted twice: bpf_kptr_xchg does
	// both.
	if class(in) != clsLDX && (f.kind == fieldKptrRef || f.kind == fieldKptrPercpu) {
		a.refuse(refusal.StoreReferencedKptrDisallowed)
	}
	// Only user space sets it, whose memory the kernel then pins.
	if class(in) != clsLDX && f.kind == fieldUptr {
		a.refuse(refusal.StoreUptrDisallowed)
	}
	switch class(in) {
	case clsLDX:
		v := a.reg(value)
		if f.kind == fieldUptr {
			// The page was pinned when user space set the pointer, so that it is memory of that
			// size.
			s := a.specs[f.spec-1]
			v.pointer(ptrMem | maybeNull)
			v.mem = s.MustType(f.tid).Size
			v.id = a.newID()
			return
		}
		// The object may be gone by now, or NULL.
		v.pointer(ptrBTF | a.kptrFlags(f))
		v.spec, v.tid = f.spec, uint32(f.tid)
		v.id = a.newID()
	case clsSTX:
		v := a.reg(value)
		if v.isNull() {
			if a.has(since.NullPrecise) {
				a.precision.precise(value)
			}
			return
		}
		if !a.kptrMatch(f, v, value) {
			panic(refused{uapi.EACCES})
		}
	case clsST:
		// A constant could only be NULL.
		if in.Imm != 0 {
			a.refuse(refusal.BPFSTImmMust0When, f.off)
		}
	}
}

// rcuTypes are the kernel's types that are freed after an RCU grace period at the earliest
// (rcu_protected_types).
var rcuTypes = map[string]since.Rule{"prog_test_ref_kfunc": since.RCUKptrs, "cgroup": since.RCUKptrs, "bpf_cpumask": since.RCUKptrs, "task_struct": since.RCUKptrs, "bpf_crypto_ctx": since.CryptoKptrs}

// kptrFlags returns how far a loaded kptr can be trusted (btf_ld_kptr_type).
func (a *memory) kptrFlags(f *field) regType {
	if !a.has(since.RCUKptrs) {
		return maybeNull | ptrUntrusted
	}
	// A loaded kptr holds no reference: another CPU may take the object out of the map at once, and
	// free it unless an RCU read-side section keeps it.
	safe := f.kind == fieldKptrPercpu
	if f.kind == fieldKptrRef {
		safe = !a.isKernelSpec(f.spec) && a.has(since.LocalKptrsRCU)
		if from, ok := rcuTypes[a.specName(f.spec, uint32(f.tid))]; ok && a.has(from) {
			safe = true
		}
	}
	if !safe || !a.resources.inRCU() {
		return maybeNull | ptrUntrusted
	}
	t := maybeNull | memRCU
	switch {
	case f.kind == fieldKptrPercpu:
		t |= memPercpu
	case !a.isKernelSpec(f.spec):
		t |= memAlloc
		// Such an object may be in a list, whose lock is not held.
		if r := a.objectRecord(f.spec, f.tid); r.has(fieldListNode | fieldRBNode) {
			t |= nonOwnRef
		}
	}
	return t
}

// kptrMatch checks that a pointer has the type that a kptr holds (map_kptr_match_type). A
// referenced one is released by the destructor of exactly that type, so a pointer to its first
// member will not do.
func (a *memory) kptrMatch(f *field, r *reg, n int) bool {
	ok := false
	name := ""
	if r.typ.base() == ptrBTF {
		// Which flags the pointer may have: of a kernel object it must be sure that it is one; an
		// object of the program is the program's.
		perm := maybeNull
		if a.isKernelSpec(r.spec) {
			perm |= ptrTrusted | memRCU
			if f.kind == fieldKptrUnref {
				perm |= ptrUntrusted
			}
		} else {
			perm |= memAlloc
			if f.kind == fieldKptrPercpu {
				perm |= memPercpu
			}
		}
		// What is loaded from a per-CPU kptr is per-CPU memory.
		percpu := !a.has(since.PercpuStores) || (f.kind == fieldKptrPercpu) == (r.typ&memPercpu != 0)
		if r.typ.flags()&^perm == 0 && percpu {
			name = a.specName(r.spec, r.tid)
			a.checkOffset(r, n, true)
			ok = a.kernelMem.structMatch(r.spec, btf.ID(r.tid), int(r.off), f.spec, f.tid, f.kind != fieldKptrUnref, a.kernelMem.beyond(r))
		}
	}
	if !ok {
		text := ""
		if f.kind == fieldKptrUnref {
			text = " or " + a.typeName(ptrBTF|ptrUntrusted) + a.specName(f.spec, uint32(f.tid))
		}
		a.say(refusal.InvalidKptrAccessRTypeExpected, n, a.typeName(r.typ), name, a.typeName(ptrBTF), a.specName(f.spec, uint32(f.tid)), text)
		return false
	}
	return true
}
