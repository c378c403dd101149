package progtype

import (
	"math"
	"slices"

	"github.com/bpfrun/bpfrun/internal/uapi"
)

// Return is a range of return values that applies since a release (kernel/bpf/verifier.c
// check_return_code).
type Return struct {
	Since uapi.Release
	Range
	// By selects how the hook refines the range.
	By ReturnRule
}

// ReturnRule determines how the hook refines the range of return values.
type ReturnRule uint8

// Rules that refine the range of return values.
const (
	Always      ReturnRule = iota // the range applies to all hooks
	ByLSMHook                     // bool hooks return 0 or 1, void hooks anything, others 0 or a negative error number
	ByCgroupLSM                   // void hooks return 1
	ByOpsMember                   // members that return a pointer return null or that pointer, others anything
)

// Range is an inclusive range of return values.
type Range struct {
	Low, High int64
	// Word means that only the lower 32 bits of r0 count.
	Word bool
}

// Contains reports whether r0 is in the range.
func (r Range) Contains(r0 uint64) bool {
	v := int64(r0)
	if r.Word {
		v = int64(int32(r0))
	}
	return v >= r.Low && v <= r.High
}

// HookReturn is the return type of the function or member that a program attaches to.
type HookReturn uint8

// Kinds of return types.
const (
	UnknownReturn HookReturn = iota
	ReturnsVoid
	ReturnsNumber
	ReturnsPointer
)

// maxErrno is MAX_ERRNO.
const maxErrno = 4095

// boolHooks lists the LSM hooks that return a boolean (kernel/bpf/bpf_lsm.c).
var boolHooks = []string{"xfrm_state_pol_flow_match", "audit_rule_known", "inode_xattr_skipcap"}

// ReturnRange returns the values that a program may return in a release; bounded is false if it may
// return any. hook is the name of the LSM hook.
func (r *Row) ReturnRange(release uapi.Release, a uapi.AttachType, hook string, returns HookReturn) (rng Range, bounded bool) {
	list := r.Returns
	if at := r.Attached(a); at != nil && at.Returns != nil {
		list = at.Returns
	}
	var by ReturnRule
	for _, x := range list {
		if release.Has(x.Since) {
			rng, by, bounded = x.Range, x.By, true
		}
	}
	if !bounded || rng == anything {
		return Range{}, false
	}
	switch by {
	case Always:
	case ByLSMHook:
		switch {
		case returns == ReturnsVoid:
			return Range{}, false
		case slices.Contains(boolHooks, hook):
			return Range{Low: 0, High: 1, Word: true}, true
		}
	case ByCgroupLSM:
		if returns == ReturnsVoid {
			return Range{Low: 1, High: 1}, true
		}
	case ByOpsMember:
		return rng, returns == ReturnsPointer
	}
	return rng, true
}

// anything is the range of types and attach types whose programs may return any value.
var anything = Range{Low: math.MinInt64, High: math.MaxInt64}

func from(low, high int64) []Return { return []Return{{Range: Range{Low: low, High: high}}} }

var anyReturn = []Return{{Range: anything}}

// Callback is a kind of function that the kernel calls for a program.
type Callback uint8

// Kinds of callbacks.
const (
	LoopCallback     Callback = iota // synchronous, called by a helper or kfunc: bpf_loop, bpf_for_each_map_elem, bpf_find_vma, bpf_user_ringbuf_drain, bpf_rbtree_add
	AsyncCallback                    // asynchronous: timers and work queues
	TaskWorkCallback                 // asynchronous, in the context of a task: bpf_task_work_schedule_*
)

// CallbackRange returns the values that a callback may return; bounded is false if it may return
// any.
func CallbackRange(c Callback) (rng Range, bounded bool) {
	switch c {
	case LoopCallback:
		return Range{Low: 0, High: 1}, true
	case AsyncCallback:
		return Range{}, true
	}
	return Range{}, false
}
