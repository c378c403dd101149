package verifier_test

import (
	"bytes"
	"context"
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/btf"
	"github.com/bpfrun/bpfrun/decode"
	"github.com/bpfrun/bpfrun/internal/uapi"
	"github.com/bpfrun/bpfrun/internal/verifier"
	"github.com/bpfrun/bpfrun/internal/verifier/refusal"
	"github.com/bpfrun/bpfrun/loader"
)

// subject is a program to be changed, and the kernel that verifies it.
type subject struct {
	*verifier.Program
	kernel *verifier.Kernel
}

// base is what a neighbour is made from: a program in assembler ("TYPE: TEXT", with / for new
// lines), or of an object ("OBJECT PROGRAM").
type base string

// built are refusals of what neither the assembler nor a compiler writes. The base is accepted on
// the release, and refused once it is changed.
var built = []struct {
	refusal, release string
	base             base
	change           func(*subject)
}{
	// Instructions.
	{"AddrSpaceCastInsnOnlyUsed", "6.18", "socket_filter: r2 = 0/r1 = r2/r0 = 0/exit", func(s *subject) { s.Insns[1].Off, s.Insns[1].Imm = 1, 1 }},
	{"BPFAtomicUsesInvalidAtomicOpcode", "6.18", atomicAdd, func(s *subject) { s.Insns[2].Imm = 0x77 }},
	{"InvalidAtomicOperandSize", "6.18", atomicAdd, func(s *subject) { s.Insns[2].Code = 0xd3 }},
	{"InvalidAtomicOperandSize", "6.18", atomicAdd, func(s *subject) { s.Insns[2].Code = 0xcb }},
	{"BPFAtomicLoadsRNotAllowed", "6.18", "socket_filter: *(u64 *)(r10 - 8) = 1/r2 = load_acquire((u64 *)(r10 - 8))/r0 = 0/exit",
		func(s *subject) { s.Insns[1].Src, s.Insns[1].Off = 1, 0 }},
	{"JumpIntoMiddleLdimm64Insn", "6.18", "socket_filter: r2 = 0/if r2 == 0 goto +0/r0 = 1 ll/exit", func(s *subject) { s.Insns[1].Off = 1 }},
	{"Invalid", "6.18", "socket_filter: r0 = 1/exit", func(s *subject) { s.Insns[0].Dst = 11 }},
	{"BPFCALLUsesReservedFields", "6.18", "socket_filter: call 7/r0 = 0/exit", func(s *subject) { s.Insns[0].Dst = 1 }},
	{"BPFEXITUsesReservedFields", "6.18", "socket_filter: r0 = 1/exit", func(s *subject) { s.Insns[1].Imm = 1 }},
	{"BPFJMPJmp32UsesReservedFields", "6.18", "socket_filter: r0 = 1/if r0 == 0 goto +0/exit", func(s *subject) { s.Insns[1].Src = 2 }},
	{"BPFLDImm64UsesReservedFields", "6.18", longLoad, func(s *subject) { s.Insns[0].Off = 1 }},
	{"InvalidBpfLdImm64Insn", "6.18", longLoad, func(s *subject) { s.Insns[1].Dst = 1 }},
	{"UnrecognizedBpfLdImm64Insn", "6.18", longLoad, func(s *subject) { s.Insns[0].Src = 7 }},
	{"FdNotPointingValidBpfMap", "6.18", longLoad, func(s *subject) { s.Insns[0].Src = decode.PseudoMapFD }},
	{"MissingBtfFuncInfo", "6.18", "socket_filter: r2 = 4 ll/call +2/r0 = 0/exit/r0 = 0/exit", func(s *subject) { s.Insns[0].Src = decode.PseudoFunc }},
	{"InvalidKernelFunctionCallNotEliminated", "6.18", "socket_filter: call 7/r0 = 0/exit", func(s *subject) { s.Insns[0].Src, s.Insns[0].Imm = 2, 0 }},
	{"KernelBtfIdNotFunction", "6.18", "socket_filter: call 7/r0 = 0/exit", func(s *subject) { s.Insns[0].Src = 2 }},
	{"TooManySubprograms", "6.18", "socket_filter: r0 = 0/exit", func(s *subject) { s.text(calls(256)) }},
	{"SequenceJumpsTooComplex", "6.18", "socket_filter: call 7/r0 = 0/exit", func(s *subject) { s.text("call 7\n" + fanOut(8200)) }},
	{"SequenceJumpsTooComplexAsyncCb", "6.18", "testdata/refused/rules.o SetsCallback", func(s *subject) {
		s.prepend("call 7\n" + strings.Repeat("if r0 == 1000 goto +0\n", 8192))
	}},
	{"CallsTooDeepForLiveness", "7.2", base("socket_filter: " + chain(7, 1)), func(s *subject) { s.text(chain(8, 1)) }},
	{"LivenessAnalysisExceededComplexityLimitCalls", "7.2", base("socket_filter: " + chain(7, 1)), func(s *subject) { s.text(chain(7, 4)) }},
	{"BackEdgeInsn", "6.1", "socket_filter: call 7/r0 = 0/exit", func(s *subject) {
		s.text("call 7\ngoto +1\nr0 = 0\nif r0 != 0 goto -2\nr0 = 0\nexit")
	}},
	{"ProgramTooLong", "6.18", "socket_filter: r0 = 0/exit", func(s *subject) {
		insns := make([]decode.Insn, 1_000_001)
		for i := range insns {
			insns[i] = s.Insns[0]
		}
		insns[len(insns)-1] = s.Insns[1]
		s.Insns = insns
	}},
	{"UnknownProgramType", "6.1", "socket_filter: r0 = 0/exit", func(s *subject) { s.Type = uapi.ProgTypeNetfilter }},
	{"VariableOffsetStackPointerCannotPassed", "6.18",
		"socket_filter: *(u64 *)(r10 - 8) = 0/*(u64 *)(r10 - 16) = 0/call 7/r0 &= 0/r1 = r10/r1 += -16/r1 += r0/r2 = 1/lock *(u64 *)(r1 + 0) += r2/r0 = 0/exit",
		func(s *subject) { s.Insns[3].Imm = 8 }},
	{"PointerOffsetNotAllowed", "6.18", "socket_filter: r1 = r10/r1 += 0/r1 += 0/r0 = 0/exit",
		func(s *subject) { s.Insns[1].Imm, s.Insns[2].Imm = 1<<29-1, 1<<29-1 }},
	{"MisalignedPacketAccessOffSize", "6.18", packetRead, func(s *subject) { s.Flags, s.Insns[6].Off = uapi.ProgStrictAlignment, 1 }},
	{"MisalignedPacketAccessOffSize", "6.18", packetRead, func(s *subject) { s.Flags, s.Insns[6].Off = uapi.ProgStrictAlignment, 0 }}, // behind the two bytes of NET_IP_ALIGN
	{"MisalignedPacketAccess", "7.2", packetRead, func(s *subject) { s.Flags, s.Insns[6].Off = uapi.ProgStrictAlignment, 1 }},
	{"HelperCallMightSleepInNon", "6.18", "syscall: r1 = r10/r1 += -8/r2 = 8/r3 = 0/call 148/r0 = 0/exit",
		func(s *subject) { s.Type, s.Sleepable = uapi.ProgTypeKprobe, false }},
	{"CannotCallGPLRestrictedFunctionNon", "6.18", "socket_filter: *(u64 *)(r10 - 8) = 0/r1 = r10/r1 += -8/r2 = 8/call 6/r0 = 0/exit",
		func(s *subject) { s.License = "Proprietary" }},
	{"CannotOverwriteReferencedDynptr", "6.18", "testdata/refused/kfuncs.o CannotOverwriteReferencedDynptr_ok", func(s *subject) { s.insteadOfFlags("*(u64 *)(r10 - 16) = 0") }},
	{"CannotOverwriteReferencedDynptr", "6.18", "testdata/refused/kfuncs.o CannotOverwriteReferencedDynptr_ok", func(s *subject) { s.insteadOfFlags("*(u64 *)(r10 - 8) = 0") }}, // the other half
	{"CannotOverwriteReferencedDynptr", "6.18", "testdata/refused/kfuncs.o CannotOverwriteReferencedDynptr_ok", func(s *subject) { s.insteadOfFlags("*(u8 *)(r10 - 1) = 0") }},

	// Maps.
	{"TotalNumberMapsPerProgramReached", "6.18", longLoad, func(s *subject) {
		s.text(strings.Repeat("r2 = 0 ll\n", 65) + "r0 = 0\nexit")
		for i := range 65 {
			s.refer(2*i, verifier.RefMap, &verifier.Map{Name: "m" + strconv.Itoa(i), Type: uapi.MapTypeArray, KeySize: 4, ValueSize: 4, MaxEntries: 1}, 0)
		}
	}},
	{"DirectValueOffsetNotAllowed", "6.18", longLoad, func(s *subject) { s.refer(0, verifier.RefMapValue, anArray(1), 1<<29) }},
	{"NoDirectValueAccessSupportMap2", "6.18", longLoad, func(s *subject) {
		s.refer(0, verifier.RefMapValue, &verifier.Map{Name: "m", Type: uapi.MapTypeHash, KeySize: 4, ValueSize: 4, MaxEntries: 1}, 0)
	}},
	{"InvalidAccessMapValuePointerValue", "6.18", longLoad, func(s *subject) { s.refer(0, verifier.RefMapValue, anArray(2), 0) }},
	{"InvalidAccessMapValuePointerValue2", "6.18", longLoad, func(s *subject) { s.refer(0, verifier.RefMapValue, anArray(1), 8) }},
	{"InvalidModuleBTFObjectFDSpecified", "6.18", longLoad, func(s *subject) {
		s.Insns[0].Src = 3
		s.Refs = map[int]verifier.Ref{0: {Kind: verifier.RefBTF, Missing: true}}
	}},
	{"PseudoBtfIdInLdimm64Not", "6.18", longLoad, func(s *subject) {
		s.Insns[0].Src = 3
		s.Refs = map[int]verifier.Ref{0: {Kind: verifier.RefBTF, TypeID: s.id(btf.KindStruct, "task_struct")}}
	}},
	{"BpfStructOpsMapCannotUsed", "6.18", longLoad, func(s *subject) {
		s.refer(0, verifier.RefMap, &verifier.Map{Name: "m", Type: uapi.MapTypeStructOps, KeySize: 4, ValueSize: 4, MaxEntries: 1}, 0)
	}},
	{"NoDirectValueAccessSupportMap", "6.18", "testdata/refused/ctx.o StringNotZeroTerminated_ok", func(s *subject) {
		for pc, r := range s.Refs {
			if r.Map != nil && r.Kind == verifier.RefMapValue {
				m := *r.Map
				m.Type, m.KeySize = uapi.MapTypeHash, 4
				s.text("*(u32 *)(r10 - 4) = 0\nr1 = 0 ll\nr2 = r10\nr2 += -4\ncall 1\nif r0 == 0 goto +6\nr3 = r0\n*(u64 *)(r10 - 8) = 0\nr1 = r10\nr1 += -8\nr2 = 4\ncall 182\nr0 = 0\nexit")
				s.Funcs, s.Lines = s.Funcs[:1], nil
				s.Refs = nil
				s.refer(1, verifier.RefMap, &m, 0)
				_ = pc
				return
			}
		}
	}},

	// Indirect jumps.
	{"TypeExpectedPTRTOINSN", "7.2", "gotox", func(s *subject) { s.Insns[3] = decode.Insn{Code: 0xb7, Dst: 1} }},
	{"NoJumpTablesFoundSubprogStarting", "7.2", "gotox", func(s *subject) { s.Refs[0].Map.Slots = nil }},
	{"JumpTableInsnPointsOutsideSubprog", "7.2", "gotox", func(s *subject) { s.Refs[0].Map.Slots[1] = 99 }},
	{"PointsOutsideJumpTable", "7.2", "gotox", func(s *subject) { jumpAt(s, decode.Insn{Code: 0x07, Dst: 1, Imm: 16}) }},
	{"UminBeyondJumpTables", "7.2", "gotox", func(s *subject) { jumpAt(s, decode.Insn{Code: 0x07, Dst: 1, Imm: -8}) }},
	{"UminSumBeyondJumpTables", "6.19", "gotox", func(s *subject) { jumpAt(s, decode.Insn{Code: 0x07, Dst: 1, Imm: -8}) }},
	{"UmaxBeyondJumpTables", "7.2", "gotox", anyJump},
	{"UmaxSumBeyondJumpTables", "6.19", "gotox", anyJump},
	{"InvalidReadBytesInsnArray", "7.2", "gotox", func(s *subject) { s.Insns[3].Off = 4 }},
	{"BPFJABPFXUsesReserved", "7.2", "gotox", func(s *subject) { s.Insns[4].Imm = 1 }},
	{"InvalidAccessInsnArrayMap", "7.2", "gotox", func(s *subject) {
		s.text("r1 = 0 ll\nr2 = 8\ncall 16\nr0 = 0\nexit")
		s.Insns[0].Src = decode.PseudoMapValue
	}},

	// Functions and their types.
	{"LDABSNotAllowedInSubprogs", "6.18", "testdata/refused/calls.o LDABSOnlyAllowedInFunctions_ok", func(s *subject) { s.Funcs, s.BTF = nil, nil }},
	{"TailCallNotAllowedInSubprogs", "6.18", "testdata/refused/calls.o TailCallOnlyAllowedInFunctions_ok", func(s *subject) { s.Funcs, s.BTF = nil, nil }},
	{"NumberFuncsInFuncInfoNot", "6.18", "testdata/refused/calls.o TailCallOnlyAllowedInFunctions_ok", func(s *subject) { s.Funcs = s.Funcs[:1] }},
	{"NonzeroInsnOffFirstFuncInfo", "6.18", "testdata/refused/calls.o TailCallOnlyAllowedInFunctions_ok", func(s *subject) { s.Funcs[0].Insn = 1 }},
	{"SameOrSmallerInsnOffset", "6.18", "testdata/refused/calls.o TailCallOnlyAllowedInFunctions_ok", func(s *subject) { s.Funcs[1].Insn = 0 }},
	{"InvalidTypeIdInFuncInfo", "6.18", "testdata/refused/calls.o TailCallOnlyAllowedInFunctions_ok", func(s *subject) { s.Funcs[1].Type = btf.ID(s.BTF.NumTypes()) }},
	{"FuncInfoBTFSectionNotMatch", "6.18", "testdata/refused/calls.o TailCallOnlyAllowedInFunctions_ok", func(s *subject) { s.Funcs[1].Insn++ }},
	{"GlobalFunctionArgsBuggyCompiler", "6.18", "testdata/refused/calls.o NotScalar_ok", func(s *subject) {
		p := s.BTF.MustType(s.BTF.MustType(s.Funcs[1].Type).Ref)
		for range 5 {
			p.Params = append(p.Params, p.Params[0])
		}
	}},
	{"CallbackFunctionCannotMainProgram", "7.2.13", "testdata/refused/calls.o CallbackFunctionNotStatic_ok", func(s *subject) {
		for pc, r := range s.Refs {
			if r.Kind == verifier.RefMap {
				s.Insns[pc].Src, s.Insns[pc].Imm = decode.PseudoFunc, int32(-1-pc)
				s.Refs[pc] = verifier.Ref{Kind: verifier.RefFunc}
			}
		}
		s.Funcs[0].Static = true
	}},
	{"ExceptionCallbackTypeIdNotFound", "6.18", "testdata/refused/calls.o ExceptionCallbackMustGlobalLinkage_ok", func(s *subject) {
		for i := range s.Funcs {
			if s.BTF.MustType(s.Funcs[i].Type).Name == "one_arg" {
				s.Funcs[i].Type = s.Funcs[1].Type + s.Funcs[0].Type - s.Funcs[1].Type
			}
		}
	}},
	{"CannotCallKernelFunctionNonGPL", "6.18", "testdata/refused/locks.o CannotUsedInsideBpfRcuRead_ok", func(s *subject) { s.License = "Proprietary" }},
	{"JITNotSupportCallingKfunc", "6.18", "testdata/refused/calls.o ExceptionCbOnlySupportsSingleInteger_ok", func(s *subject) {
		// The state of the unwinder that walks frame pointers.
		raw := bytes.Replace(s.kernel.BTF.Raw(), []byte("\x00full_regs\x00"), []byte("\x00next_bp\x00s\x00"), 1)
		spec, err := btf.Parse(raw, nil)
		if err != nil {
			panic(err)
		}
		s.kernel.BTF = spec
	}},
	{"BpfObjNewBpfPercpuObj", "6.18", "testdata/refused/graph.o LocalTypeIDArgumentMustIn_ok", func(s *subject) { s.Funcs, s.BTF = nil, nil }},
	{"TooManyDifferentKernelFunctionCalls", "6.18", "socket_filter: r0 = 0/exit", func(s *subject) {
		s.text(strings.Repeat("call 7\n", 300) + "r0 = 0\nexit")
		s.Refs = map[int]verifier.Ref{}
		for id := btf.ID(1); len(s.Refs) < 300; id++ {
			if t := s.kernel.BTF.MustType(id); t.Kind == btf.KindFunc {
				pc := len(s.Refs)
				s.Insns[pc].Src, s.Insns[pc].Imm = 2, int32(id)
				s.Refs[pc] = verifier.Ref{Kind: verifier.RefKfunc, Name: t.Name, TypeID: id}
			}
		}
	}},

	// Attach targets.
	{"TracingProgramsMustProvideBtfId", "6.18", "fentry security_file_open", func(s *subject) { s.AttachID, s.AttachTo = 0, "" }},
	{"AttachBtfIdInvalid", "6.18", "fentry security_file_open", func(s *subject) { s.AttachID = btf.ID(s.kernel.BTF.NumTypes()) }},
	{"AttachBtfIdNotFunction", "6.18", "fentry security_file_open", func(s *subject) { s.AttachID = s.id(btf.KindStruct, "task_struct") }},
	{"AttachBtfIdNotTypedef", "6.18", "tp_btf sched_switch", func(s *subject) { s.AttachID = s.id(btf.KindFunc, "do_exit") }},
	{"AttachBtfIdPointsWrongType", "6.18", "tp_btf sched_switch", func(s *subject) { s.AttachID = s.id(btf.KindTypedef, "u32") }},
	{"UnknownAttachType", "6.18", "fentry security_file_open", func(s *subject) { s.Attach = uapi.AttachXDP }},
	{"CannotReplaceKernelFunctions", "6.18", "fentry security_file_open", func(s *subject) { s.Type, s.Attach = uapi.ProgTypeExt, 0 }},
	{"DeniedTarget", "6.18", "fentry security_file_open", func(s *subject) { s.attach("migrate_disable") }},
	{"NotSleepable", "6.18", "fentry do_exit", func(s *subject) { s.Sleepable = true }},
	{"NotModifiable", "6.18", "fmod_ret security_file_open", func(s *subject) { s.attach("do_exit") }},
	{"AttachingFexitFmodRetNoreturnFunction", "6.18", "fentry do_exit", func(s *subject) { s.Attach = uapi.AttachTraceFexit }},
	{"HelperCallNotAllowedInProbe", "6.18", "fentry do_exit", func(s *subject) { s.text("call 147\nr0 = 0\nexit") }},
	{"AttachingFexitFsessionFmodRetNoreturn", "7.2", "fentry do_exit", func(s *subject) { s.Attach = uapi.AttachTraceFexit }},
	{"FunctionArgumentsTooMany", "6.18", "fentry security_file_open", func(s *subject) { s.attach("rtnl_fill_ifinfo") }},
	{"FunctionVariableArgsUnsupported", "6.18", "fentry security_file_open", func(s *subject) { s.attach("__btf_verifier_log") }},
	{"FunctionReturnTypeUnsupported", "6.18", "fentry security_file_open", func(s *subject) { s.attach("make_kuid") }},
	{"FunctionArgTypeUnsupported", "5.15", "fentry security_file_open", func(s *subject) { s.attach("from_kuid") }},
	{"SleepableProgramCannotAttachNonFaultable", "7.2", "tp_btf sched_switch", func(s *subject) { s.Sleepable = true }},
	{"LSMProgramsMustGPLCompatibleLicense", "6.18", "lsm file_open", func(s *subject) { s.License = "Proprietary" }},
	{"AttachBtfIdPointsDisabledHook", "6.18", "lsm file_open", func(s *subject) { s.attach("bpf_lsm_vm_enough_memory") }},
	{"SyscallProgramsOnlySleepable", "6.18", "syscall: r0 = 0/exit", func(s *subject) { s.Sleepable = false }},
	{"OnlyFentryFexitFmodRetLsm", "6.18", "socket_filter: r0 = 0/exit", func(s *subject) { s.Sleepable = true }},
	{"OnlyFsessionFmodRetLsm", "7.1", "socket_filter: r0 = 0/exit", func(s *subject) { s.Sleepable = true }},
	{"TypeCannotSleep", "7.2", "socket_filter: r0 = 0/exit", func(s *subject) { s.Sleepable = true }},
	{"OnlyFentryFexitFmodRetLsm2", "5.15", "socket_filter: r0 = 0/exit", func(s *subject) { s.Sleepable = true }},
	{"NoteBPFLSMCgroupAttachVoid", "6.18", "lsm_cgroup sk_clone_security", func(s *subject) { s.Insns[0].Imm = 2 }},
	{"BPFLSMCgroupAttachVoidLSM", "6.18", "lsm_cgroup sk_clone_security", func(s *subject) { s.text("r1 = 0\ncall 187\nr0 = 1\nexit") }},
	{"R1NotScalar", "7.2", "lsm_cgroup socket_bind", func(s *subject) { s.text("call 187\nr0 = 1\nexit") }},
	{"FuncArgTypeNotStruct", "6.18", "fentry security_file_open", func(s *subject) { s.attach("__netif_receive_skb_core"); s.text("r0 = *(u64 *)(r1 + 0)\nr0 = 0\nexit") }},
	{"RetTypeNotAllowedFmodRet", "6.18", "fmod_ret security_file_open", func(s *subject) { s.attach("security_bpf_map_free"); s.text("r0 = *(u64 *)(r1 + 8)\nr0 = 0\nexit") }},
	{"FuncArgTypeOnlyPointerAccess", "6.18", "fexit security_file_open", func(s *subject) { s.attach("security_bpf_map_free"); s.text("r0 = *(u64 *)(r1 + 8)\nr0 = 0\nexit") }},
	{"StructNotFieldOffset", "6.18", "tp_btf sched_switch", func(s *subject) {
		s.text("r2 = *(u64 *)(r1 + 8)\nr0 = *(u8 *)(r2 + 0)\nr0 = 0\nexit")
		t := s.kernel.BTF.MustType(s.id(btf.KindStruct, "task_struct"))
		end := 0
		for i := range t.Members {
			m := &t.Members[i]
			if int(m.BitOffset/8) > end && m.BitfieldSize == 0 {
				s.Insns[1].Off = int16(end)
				return
			}
			n, _ := s.kernel.BTF.Sizeof(m.Type)
			end = int(m.BitOffset/8) + int(n)
		}
	}},

	// Programs that are attached to programs.
	{"CannotReplaceStaticFunctions", "6.12", "err_static target", nil},
	{"ArgsWhileArgs", "6.12", "err_arguments target", nil},
	{"ArgInWhile", "6.12", "err_arguments target:length", nil},
	{"SubprogNotExist", "6.12", "new_add target", func(s *subject) { s.AttachID = s.AttachProg.BTF.MustType(s.AttachID).Ref }},
	{"CannotModifyReturnCodesBPFPrograms", "6.12", "on_add target", func(s *subject) { s.Attach = uapi.AttachModifyReturn }},
	{"IteratorOfProgram", "6.12", "on_add target", func(s *subject) { s.Attach = uapi.AttachTraceIter }},
	{"OnlyFentryFexitProgsAttachableAnother", "6.12", "on_add target", func(s *subject) { s.Attach = uapi.AttachTraceRawTp }},
	{"OnlySessionProgsAttachableAnother", "7.2", "on_add target", func(s *subject) { s.Attach = uapi.AttachTraceRawTp }},
	{"CannotRecursivelyAttach", "6.7", "on_add target", func(s *subject) { s.AttachProg.Type = uapi.ProgTypeTracing }},
	{"CannotNestTracingProgramAttachMore", "6.12", "on_add target", func(s *subject) {
		s.AttachProg.Type, s.AttachProg.AttachProg = uapi.ProgTypeTracing, &verifier.Program{Type: uapi.ProgTypeTracing}
	}},
	{"CannotExtendFentryFexit", "6.12", "new_add target", func(s *subject) {
		s.AttachProg.Type, s.AttachProg.Attach = uapi.ProgTypeTracing, uapi.AttachTraceFentry
	}},
	{"CannotExtendFentryFexitFsession", "7.2", "new_add target", func(s *subject) {
		s.AttachProg.Type, s.AttachProg.Attach = uapi.ProgTypeTracing, uapi.AttachTraceFsession
	}},
	{"FentryFexitProgramOnlyAttachedAnother", "6.12", "new_add target", func(s *subject) { s.AttachProg.BTF = nil }},
	{"TracingProgramOnlyAttachedAnother", "7.2", "new_add target", func(s *subject) { s.AttachProg.BTF = nil }},
	{"ProgramExtensionRequiresBTF", "6.12", "new_add target", func(s *subject) { s.Funcs, s.BTF = nil, nil }},
	{"NotGlobalFunction", "6.12", "new_add target", func(s *subject) { s.BTF.MustType(s.Funcs[0].Type).Linkage = btf.LinkageStatic }},
	{"ReturnTypeNotMatchType", "6.12", "new_add target", func(s *subject) { s.ownProto().Ref = 0 }},
	{"ArgInNotPointerContext", "6.12", "new_length target", func(s *subject) {
		p := s.ownProto()
		s.BTF.MustType(p.Params[0].Type).Ref = p.Ref
	}},
	{"ArgStructNotMatchStruct", "6.12", "new_length target", func(s *subject) {
		p := s.ownProto()
		s.BTF.SkipMods(s.BTF.SkipMods(p.Params[0].Type).Ref).Name = "other"
	}},
	{"ArgInSizeWhile", "6.12", "new_add target", func(s *subject) {
		p := s.ownProto()
		s.BTF.SkipMods(p.Params[0].Type).Size = 8
	}},
	{"ArgInUnrecognizedType", "6.12", "new_add target", func(s *subject) {
		id := s.ownProto().Params[0].Type
		for _, spec := range []*btf.Spec{s.BTF, s.AttachProg.BTF} {
			spec.SkipMods(id).Kind = btf.KindArray
		}
	}},
	{"ProgramsCannotAttachExceptionCallback", "6.12", "new_add target", func(s *subject) {
		for _, f := range s.AttachProg.Funcs {
			if f.Type == s.AttachID {
				s.AttachProg.ExceptionCallback = f.Insn
			}
		}
	}},
	{"ExtensionProgramChangesPacketDataWhile", "6.18", "new_length target", func(s *subject) {
		s.text("r2 = 0\ncall 44\nr0 = 0\nexit")
		s.Refs, s.Lines = nil, nil
	}},

	// Operations of the kernel's structs.
	{"StructOpsProgramsMustGPLCompatible", "6.18", opsProgram, func(s *subject) { s.License = "Proprietary" }},
	{"AttachInvalidMemberIdxStruct", "6.18", opsProgram, func(s *subject) { s.StructOps.Index = 1000 }},
	{"AttachInvalidMemberIdxStruct2", "6.18", opsProgram, func(s *subject) { s.member("flags") }},
	{"AttachUnsupportedMemberStruct", "6.18", opsProgram, func(s *subject) { s.member("get_info") }},
}

const (
	atomicAdd  base = "socket_filter: r1 = 1/*(u64 *)(r10 - 8) = r1/lock *(u64 *)(r10 - 8) += r1/r0 = 0/exit"
	longLoad   base = "socket_filter: r2 = 0 ll/r0 = 0/exit"
	packetRead base = "xdp: r2 = *(u32 *)(r1 + 0)/r3 = *(u32 *)(r1 + 4)/r4 = r2/r4 += 16/r0 = 2/if r4 > r3 goto +1/r5 = *(u32 *)(r2 + 2)/exit"
	opsProgram base = "../../examples/structops/structops.bpf.o halve_undo_cwnd"
)

func anArray(entries uint32) *verifier.Map {
	return &verifier.Map{Name: "m", Type: uapi.MapTypeArray, KeySize: 4, ValueSize: 8, MaxEntries: entries}
}

// calls is a program of that many functions beside itself, each called once.
func calls(n int) string {
	var out strings.Builder
	for i := range n {
		out.WriteString("call +" + strconv.Itoa(n-i+1+2*i-0) + "\n")
	}
	return out.String() + "r0 = 0\nexit\n" + strings.Repeat("r0 = 0\nexit\n", n)
}

// fanOut is that many branches to the program's end.
func fanOut(n int) string {
	var out strings.Builder
	for i := range n {
		out.WriteString("if r0 == " + strconv.Itoa(i+10) + " goto +" + strconv.Itoa(n-i) + "\n")
	}
	return out.String() + "r0 = 0\nr0 = 0\nexit"
}

// chain is a program whose function calls the next so many times, down to a depth, each with a
// pointer to its stack.
func chain(depth, times int) string {
	var out strings.Builder
	for range depth {
		out.WriteString("*(u64 *)(r10 - 8) = 0\n")
		for left := times - 1; left >= 0; left-- {
			fmt.Fprintf(&out, "r1 = r10\nr1 += -8\ncall +%d\n", 3*left+2)
		}
		out.WriteString("r0 = 0\nexit\n")
	}
	return out.String() + "*(u64 *)(r1 + 0) = 1\nr0 = 0\nexit"
}

// prepend puts instructions before the program.
func (s *subject) prepend(text string) {
	more, err := decode.Assemble(text)
	if err != nil {
		panic(err)
	}
	n := len(more)
	s.Insns = append(more, s.Insns...)
	refs := map[int]verifier.Ref{}
	for pc, r := range s.Refs {
		if r.Kind == verifier.RefFunc {
			r.Func += n
		}
		refs[pc+n] = r
	}
	s.Refs, s.Lines = refs, nil
	for i := 1; i < len(s.Funcs); i++ {
		s.Funcs[i].Insn += n
	}
}

// insteadOfFlags puts an instruction in the place of the one that sets the flags of the last call.
func (s *subject) insteadOfFlags(text string) {
	insns, err := decode.Assemble(text)
	if err != nil {
		panic(err)
	}
	for pc := len(s.Insns) - 1; pc >= 0; pc-- {
		if in := s.Insns[pc]; in.Code == 0xb7 && in.Dst == 2 {
			s.Insns[pc] = insns[0]
			return
		}
	}
	panic("no call with flags")
}

func (s *subject) text(text string) {
	insns, err := decode.Assemble(text)
	if err != nil {
		panic(err)
	}
	s.Insns = insns
}

func (s *subject) refer(pc int, kind verifier.RefKind, m *verifier.Map, off uint32) {
	if s.Refs == nil {
		s.Refs = map[int]verifier.Ref{}
	}
	s.Insns[pc].Src = decode.PseudoMapFD
	if kind == verifier.RefMapValue {
		s.Insns[pc].Src = decode.PseudoMapValue
	}
	s.Refs[pc] = verifier.Ref{Kind: kind, Map: m, Off: off}
}

func (s *subject) id(kind btf.Kind, name string) btf.ID {
	id, ok := s.kernel.BTF.FindID(kind, name)
	if !ok {
		panic("no " + name)
	}
	return id
}

func (s *subject) attach(function string) {
	s.AttachTo, s.AttachID = function, s.id(btf.KindFunc, function)
}

// jumpAt changes the pointer of an indirect jump after it was loaded from the jump table.
func jumpAt(s *subject, in decode.Insn) { s.Insns[2], s.Insns[3] = s.Insns[3], in }

// anyJump makes the place in the jump table one before or behind the first.
func anyJump(s *subject) {
	m := s.Refs[0].Map
	s.text("r2 = *(u32 *)(r1 + 0)\nr2 &= 15\nr2 += -8\nr1 = 0 ll\nr1 = *(u64 *)(r1 + 0)\nr1 += r2\nr0 = 0\nr0 = 0\nexit\nr0 = 1\nexit")
	s.Insns[7] = decode.Insn{Code: 0x0d, Dst: 1}
	m.Slots = []uint32{8, 10}
	s.Refs = nil
	s.refer(3, verifier.RefMapValue, m, 0)
}

// A load from a jump table takes the element at the offset of the pointer and of the instruction,
// not the first one.
func TestJumpTableElementsHaveOffsets(t *testing.T) {
	for _, test := range []struct {
		name  string
		add   int32
		load  int16
		after int32
		bad   int // the only instruction that is refused when the jump gets there
		want  verifier.Outcome
	}{
		{"first, second is bad", 0, 0, 0, 7, verifier.Accepted},
		{"first, first is bad", 0, 0, 0, 5, verifier.Refused},
		{"second by the pointer", 8, 0, 0, 5, verifier.Accepted},
		{"second by the pointer, is bad", 8, 0, 0, 7, verifier.Refused},
		{"second by the load", 0, 8, 0, 5, verifier.Accepted},
		{"second by the load, is bad", 0, 8, 0, 7, verifier.Refused},
		{"second after the load", 0, 0, 8, 5, verifier.Accepted},
		{"first, as far forward as back", 0, 8, -8, 7, verifier.Accepted},
	} {
		for _, release := range []uapi.Release{uapi.Release(6<<8 | 19), uapi.Release(7<<8 | 2)} {
			t.Run(fmt.Sprintf("%s on %s", test.name, release), func(t *testing.T) {
				s := &subject{&verifier.Program{Type: uapi.ProgTypeSocketFilter, License: "GPL"}, &verifier.Kernel{Release: release}}
				s.text("r1 = 0 ll\nr1 += 0\nr1 = *(u64 *)(r1 + 0)\nr1 += 0\nr0 = 0\nr0 = 0\nexit\nr0 = 1\nexit")
				s.Insns[2].Imm, s.Insns[3].Off, s.Insns[4].Imm = test.add, test.load, test.after
				s.Insns[5] = decode.Insn{Code: 0x0d, Dst: 1}
				s.Insns[test.bad+1] = decode.Insn{Code: 0xbf, Src: 9} // never set
				m := &verifier.Map{Name: "m", Type: uapi.MapTypeInsnArray, KeySize: 4, ValueSize: 8, MaxEntries: 2, Slots: []uint32{6, 8}}
				s.refer(0, verifier.RefMapValue, m, 0)
				v, err := verifier.Verify(context.Background(), s.kernel, s.Program, verifier.Options{})
				require.NoError(t, err)
				require.Equal(t, test.want, v.Outcome, v.Message)
			})
		}
	}
}

// ownProto is the prototype of the program, in types that it does not share with its target.
func (s *subject) ownProto() *btf.Type {
	if s.BTF == s.AttachProg.BTF {
		o, err := loader.Open("../../testdata/objects/clang-14/extends.o")
		if err != nil {
			panic(err)
		}
		s.BTF = o.BTF
	}
	return s.BTF.MustType(s.BTF.MustType(s.Funcs[0].Type).Ref)
}

func (s *subject) member(name string) {
	t := s.kernel.BTF.SkipMods(s.StructOps.Type)
	for i := range t.Members {
		if t.Members[i].Name == name {
			s.StructOps.Member, s.StructOps.Index = name, i
			return
		}
	}
	panic("no member " + name)
}

// build makes the base for a release.
func (x *refusing) build(t testing.TB, b base, release string) *subject {
	_, version, ok := loader.ParseRelease(release)
	require.True(t, ok, release)
	of, what, _ := strings.Cut(string(b), " ")
	target := func() *loader.Target {
		out := loader.NewTarget(release, x.large, loader.WithVersion(version))
		out.Release = release
		return out
	}
	plain := func(typ uapi.ProgType, attach uapi.AttachType, text string) *subject {
		s := &subject{&verifier.Program{Type: typ, Attach: attach, License: "GPL", Sleepable: typ == uapi.ProgTypeSyscall}, &verifier.Kernel{Release: uapi.ReleaseOf(version), BTF: x.large}}
		s.text(text)
		return s
	}
	fromLinked := func(l *loader.Linked, name string) *subject {
		lp, ok := l.Program(name)
		require.True(t, ok, "%s", b)
		p, err := verifier.FromLinked(l, lp)
		require.NoError(t, err, b)
		return &subject{p, verifier.KernelOf(l.Target)}
	}
	hooks := map[string]struct {
		typ    uapi.ProgType
		attach uapi.AttachType
		prefix string
		kind   btf.Kind
		text   string
	}{
		"fentry":     {uapi.ProgTypeTracing, uapi.AttachTraceFentry, "", btf.KindFunc, "r0 = 0\nexit"},
		"fexit":      {uapi.ProgTypeTracing, uapi.AttachTraceFexit, "", btf.KindFunc, "r0 = 0\nexit"},
		"fmod_ret":   {uapi.ProgTypeTracing, uapi.AttachModifyReturn, "", btf.KindFunc, "r0 = 0\nexit"},
		"tp_btf":     {uapi.ProgTypeTracing, uapi.AttachTraceRawTp, "btf_trace_", btf.KindTypedef, "r0 = 0\nexit"},
		"lsm":        {uapi.ProgTypeLSM, uapi.AttachLSMMac, "bpf_lsm_", btf.KindFunc, "r0 = 0\nexit"},
		"lsm_cgroup": {uapi.ProgTypeLSM, uapi.AttachLSMCgroup, "bpf_lsm_", btf.KindFunc, "r0 = 1\nexit"},
	}
	switch {
	case strings.HasSuffix(of, ":"):
		typ, ok := uapi.ParseProgType(strings.TrimSuffix(of, ":"))
		require.True(t, ok, "%s", b)
		text := strings.ReplaceAll(what, "/", "\n")
		return plain(typ, 0, text)
	case of == "gotox": // a jump through a table of two instructions
		s := plain(uapi.ProgTypeSocketFilter, 0, "r1 = 0 ll\nr1 += 0\nr1 = *(u64 *)(r1 + 0)\nr0 = 0\nr0 = 0\nexit\nr0 = 1\nexit")
		s.Insns[4] = decode.Insn{Code: 0x0d, Dst: 1}
		s.refer(0, verifier.RefMapValue, &verifier.Map{Name: "m", Type: uapi.MapTypeInsnArray, KeySize: 4, ValueSize: 8, MaxEntries: 2, Slots: []uint32{5, 7}}, 0)
		return s
	case hooks[of].typ != 0:
		h := hooks[of]
		s := plain(h.typ, h.attach, h.text)
		s.AttachTo, s.AttachID = h.prefix+what, s.id(h.kind, h.prefix+what)
		return s
	case strings.HasSuffix(of, ".o"):
		return fromLinked(linkAll(t, target(), of), what)
	}
	obj, err := loader.Open("../../testdata/objects/clang-14/extends.o")
	require.NoError(t, err)
	l, err := obj.Load(target(), loader.LoadOptions{AttachProgs: map[string]string{of: what}})
	require.NoError(t, err)
	return fromLinked(l, of)
}

// judgeBuilt verifies what is built, and its neighbour. The neighbour of an extension that is
// refused as it is, is another.
func (x *refusing) judgeBuilt(t testing.TB, i int) {
	c := built[i]
	id, ok := refusal.Named(c.refusal)
	require.True(t, ok, c.refusal)
	verify := func(s *subject) (*verifier.Verdict, string) {
		var log strings.Builder
		v, err := verifier.Verify(context.Background(), s.kernel, s.Program, verifier.Options{Log: &log, LogLevel: 1})
		require.NoError(t, err, c.refusal)
		return v, log.String()
	}
	neighbour := c.base
	if c.change == nil {
		neighbour = "new_add target"
	}
	v, _ := verify(x.build(t, neighbour, c.release))
	assert.Equal(t, verifier.Accepted, v.Outcome, "the neighbour for %s, %s: %s%s", c.refusal, neighbour, v.Message, v.Missing)
	s := x.build(t, c.base, c.release)
	if c.change != nil {
		c.change(s)
	}
	v, log := verify(s)
	assert.Equal(t, verifier.Refused, v.Outcome, "%s: %s%s", c.refusal, v.Message, v.Missing)
	said := false
	for line := range strings.SplitSeq(log, "\n") {
		said = said || id.Says(line)
	}
	if !said {
		assert.Equal(t, c.refusal, v.Refusal.String(), "%s", v.Message)
	}
}
