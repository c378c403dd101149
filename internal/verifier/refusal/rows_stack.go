package refusal

import (
	"github.com/bpfrun/bpfrun/internal/uapi"
	"github.com/bpfrun/bpfrun/internal/uapi/since"
)

var stackRows = [...]Row{
	{Name: "InvalidSizeRegisterSpill", Errno: uapi.EACCES, Text: "invalid size of register spill", Why: stackAccess},
	{Name: "CannotSpillPointersStackIntoStack", Errno: uapi.EINVAL, Text: "cannot spill pointers to stack into stack frame of the caller", Why: stackAccess},
	{Name: "UninitStackInRangeVarOffset", Errno: uapi.EINVAL, Text: "uninit stack in range of var-offset write prohibited for !root; insn %d, off: %d", Why: stackAccess},
	{Name: "ReadingStackOffSizeSlotPoisoned", Errno: uapi.EACCES, Text: "reading from stack off %d+%d size %d, slot poisoned by dead code elimination", Why: stackAccess},
	{Name: "InvalidReadStackOffSize", Errno: uapi.EACCES, Text: "invalid read from stack off %d+%d size %d", Why: stackUnset},
	{Name: "InvalidSizeRegisterFill", Errno: uapi.EACCES, Text: "invalid size of register fill", Why: stackAccess},
	{Name: "VariableOffsetStackPointerCannotPassed", Errno: uapi.EACCES, Text: "variable offset stack pointer cannot be passed into helper function; var_off=%s off=%d size=%d", Why: stackAccess},
	{Name: "InvalidUnboundedVariableOffsetStackR", Errno: uapi.EACCES, Text: "invalid unbounded variable-offset%s stack R%d", Why: stackAccess},
	{Name: "InvalidStackROffSize", Errno: 0, Text: "invalid%s stack R%d off=%d size=%d", Why: stackUnset},
	{Name: "InvalidVariableOffsetStackRVar", Errno: 0, Text: "invalid variable-offset%s stack R%d var_off=%s off=%d size=%d", Why: stackAccess, From: since.VariableOffsetWords},
	{Name: "InvalidVariableOffsetStackRVarSize", Errno: 0, Text: "invalid variable-offset%s stack R%d var_off=%s size=%d", Why: stackAccess, Until: since.VariableOffsetWords},
	{Name: "InvalidZeroSizedRead", Errno: uapi.EACCES, Text: "invalid zero-sized read", Why: kfuncArgs},
	{Name: "PotentialWriteDynptrOffDisallowed", Errno: uapi.EACCES, Text: "potential write to dynptr at off=%d disallowed", Why: dynptrUse},
	{Name: "VerifierBugAllocatedStackTooSmall", Errno: uapi.EFAULT, Text: "verifier bug: allocated_stack too small", Why: stackAccess},
	{Name: "ReadingStackROffSizeSlot", Errno: uapi.EACCES, Text: "reading from stack R%d off %d+%d size %d, slot poisoned by dead code elimination", Why: stackAccess},
	{Name: "InvalidReadStackROffSize", Errno: uapi.EACCES, Text: "invalid%s read from stack R%d off %d+%d size %d", Why: stackAccess},
	{Name: "InvalidReadStackRVarOff", Errno: uapi.EACCES, Text: "invalid%s read from stack R%d var_off %s+%d size %d", Why: stackAccess},
	{Name: "DynptrWithoutType", Errno: uapi.EINVAL, Text: "", Why: dynptrUse},
	{Name: "CannotOverwriteReferencedDynptr", Errno: uapi.EINVAL, Text: "cannot overwrite referenced dynptr", Why: refRelease},
	{Name: "ConstantOffset", Errno: 0, Text: "%s has to be at a constant offset", Why: kfuncArgs},
	{Name: "CannotPassInOffset", Errno: 0, Text: "cannot pass in %s at an offset=%d", Why: pointerUse},
}
