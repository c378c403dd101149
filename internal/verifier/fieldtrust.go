package verifier

import "github.com/bpfrun/bpfrun/internal/uapi/since"

// fieldTrust returns how far a pointer loaded from a kernel object can be trusted
// (check_ptr_to_btf_access). Trusted pointers may be passed to kfuncs, which do not check them;
// others can be followed only, by loads that are probed.
func (k *kernelMem) fieldTrust(r *reg, w *walked) regType {
	flag := w.flags
	name := k.specName(r.spec, r.tid)
	if !k.has(since.TrustByField) {
		if r.typ&ptrUntrusted != 0 {
			flag |= ptrUntrusted
		}
		return flag &^ memRCU
	}
	// Nothing is certain of what an invalid object points to.
	if r.typ&ptrUntrusted != 0 {
		if !k.has(since.SafePointers) {
			return flag&^(ptrTrusted|memRCU) | ptrUntrusted
		}
		return ptrUntrusted
	}
	if !k.has(since.SafePointers) {
		return k.fieldTrustOld(r, w, name, flag)
	}
	// Pointers of before trust was tracked stay usable by the helpers that took them.
	if !k.trusted(r) && !r.isRCU() {
		return flag &^ (trustedFlags | memRCU)
	}
	switch {
	case k.fieldIn(safeTrusted, name, w):
		return flag | ptrTrusted
	case k.fieldIn(safeTrustedOrNull, name, w):
		return flag | ptrTrusted | maybeNull
	case !k.resources.inRCU() || r.typ.mayBeNull():
		// Without the read-side section the object may be freed at any time. A plain pointer would
		// be passed to helpers for compatibility, so this one is marked.
		return ptrUntrusted
	case k.fieldIn(safeRCU, name, w):
		return flag | memRCU
	case flag&memRCU != 0 || k.fieldIn(safeRCUOrNull, name, w):
		// The field may be cleared before its object is freed.
		flag |= memRCU | maybeNull
		if k.fieldIn(safeRCUOrNull, name, w) && flag&ptrUntrusted != 0 {
			flag &^= ptrUntrusted
		}
		return flag
	case flag&(memPercpu|memUser) != 0:
		// What such a pointer leads to is not accessed as it is.
		return flag
	}
	return flag &^ (trustedFlags | memRCU)
}

// fieldTrustOld is fieldTrust of releases that only know fields with the tag rcu: their pointers
// are valid in a read-side section that the program opened itself.
func (k *kernelMem) fieldTrustOld(r *reg, w *walked, name string, flag regType) regType {
	flag &^= ptrTrusted
	if name == "task_struct" && w.field == "cpus_ptr" && k.trusted(r) && k.has(since.SafeCpusPtr) {
		flag |= ptrTrusted
	}
	switch {
	case flag&memRCU == 0 && r.isRCU():
		return flag | ptrUntrusted
	case flag&memRCU == 0:
		return flag
	case k.cur.rcu > 0 && (k.trusted(r) || r.isRCU()):
		// The field may be cleared before its object is freed.
		return flag | maybeNull
	}
	return flag &^ memRCU
}

// safeField is a member whose pointer stays trusted, from a release on.
type safeField struct {
	field string
	since since.Rule
	until since.Rule
}

type safeTable map[string][]safeField

func (k *kernelMem) fieldIn(t safeTable, name string, w *walked) bool {
	for _, f := range t[name] {
		if f.field == w.field && k.has(f.since) && (f.until == since.Always || !k.has(f.until)) {
			return true
		}
	}
	return false
}
