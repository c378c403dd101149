package refusal

import (
	"github.com/bpfrun/bpfrun/internal/uapi"
)

var mapsRows = [...]Row{
	{Name: "KptrInMapOnlyAccessedUsing", Errno: uapi.EACCES, Text: "kptr in map can only be accessed using BPF_MEM instruction mode", Why: specialField},
	{Name: "StoreReferencedKptrDisallowed", Errno: uapi.EACCES, Text: "store to referenced kptr disallowed", Why: refRelease},
	{Name: "StoreUptrDisallowed", Errno: uapi.EACCES, Text: "store to uptr disallowed", Why: kptrUse},
	{Name: "BPFSTImmMust0When", Errno: uapi.EACCES, Text: "BPF_ST imm must be 0 when storing to kptr at off=%d", Why: kptrUse},
	{Name: "InvalidKptrAccessRTypeExpected", Errno: 0, Text: "invalid kptr access, R%d type=%s%s expected=%s%s%s", Why: badPointer},
	{Name: "UnknownOpcode2x", Errno: uapi.EINVAL, Text: "unknown opcode %02x", Why: newInsn},
	{Name: "InvalidBpfLdImm64Insn", Errno: uapi.EINVAL, Text: "invalid bpf_ld_imm64 insn", Why: opcode},
	{Name: "UnrecognizedBpfLdImm64Insn", Errno: uapi.EINVAL, Text: "unrecognized bpf_ld_imm64 insn", Why: opcode},
	{Name: "FdNotPointingValidBpfMap", Errno: uapi.EBADF, Text: "fd %d is not pointing to valid bpf_map", Why: mapLimits},
	{Name: "TotalNumberMapsPerProgramReached", Errno: uapi.E2BIG, Text: "The total number of maps per program has reached the limit of %d", Why: mapLimits},
	{Name: "DirectValueOffsetNotAllowed", Errno: uapi.EINVAL, Text: "direct value offset of %d is not allowed", Why: mapValueConst},
	{Name: "NoDirectValueAccessSupportMap2", Errno: uapi.EINVAL, Text: "no direct value access support for this map type", Why: mapValueConst},
	{Name: "InvalidAccessMapValuePointerValue", Errno: uapi.ENOTSUPP, Text: "invalid access to map value pointer, value_size=%d off=%d", Why: valueRange},
	{Name: "InvalidAccessMapValuePointerValue2", Errno: uapi.EINVAL, Text: "invalid access to map value pointer, value_size=%d off=%d", Why: valueRange},
	{Name: "OnlyOneArenaPerProgram", Errno: uapi.EBUSY, Text: "Only one arena per program", Why: mapLimits},
	{Name: "OnlyOneCgroupStorageEachType", Errno: uapi.EBUSY, Text: "only one cgroup storage of each type is allowed", Why: mapLimits},
	{Name: "InvalidModuleBTFObjectFDSpecified", Errno: uapi.EINVAL, Text: "invalid module BTF object FD specified.", Why: kfuncUse},
	{Name: "PseudoBtfIdInLdimm64Not", Errno: uapi.EINVAL, Text: "pseudo btf_id %d in ldimm64 isn't %s", Why: kfuncUse},
	{Name: "Ldimm64UnableResolveSizeType", Errno: uapi.EINVAL, Text: "ldimm64 unable to resolve the size of type '%s': %d", Why: kfuncArgs},
	{Name: "TracingProgsCannotUseBpfList", Errno: uapi.EINVAL, Text: "tracing progs cannot use bpf_{list_head,rb_root} yet", Why: graphUse},
	{Name: "SocketFilterProgsCannotUseBpf", Errno: uapi.EINVAL, Text: "socket filter progs cannot use bpf_spin_lock yet", Why: locks},
	{Name: "TracingProgsCannotUseBpfSpin", Errno: uapi.EINVAL, Text: "tracing progs cannot use bpf_spin_lock yet", Why: locks},
	{Name: "SleepableProgsCannotUseBpfSpin", Errno: uapi.EINVAL, Text: "sleepable progs cannot use bpf_spin_lock yet", Why: locks},
	{Name: "TracingProgsCannotUseBpfTimer", Errno: uapi.EINVAL, Text: "tracing progs cannot use bpf_timer yet", Why: timerUse},
	{Name: "TracingProgsCannotUseBpfWq", Errno: uapi.EINVAL, Text: "tracing progs cannot use bpf_wq yet", Why: progMap},
	{Name: "BpfStructOpsMapCannotUsed", Errno: uapi.EINVAL, Text: "bpf_struct_ops map cannot be used in prog", Why: structOps},
	{Name: "PerfEventProgramsOnlyUsePreallocated", Errno: uapi.EINVAL, Text: "perf_event programs can only use preallocated hash map", Why: progMap},
	{Name: "SleepableProgramsOnlyUseArrayHash", Errno: uapi.EINVAL, Text: "Sleepable programs can only use array, hash, ringbuf and local storage maps", Why: progMap},
	{Name: "SleepableProgramsOnlyUsePreallocated", Errno: uapi.EINVAL, Text: "Sleepable programs can only use preallocated %s", Why: progMap},
}
