package verifier

import (
	"regexp"
	"sync"

	"github.com/bpfrun/bpfrun/uapi"
)

// reasons explain lines of the kernel's log and what to do about them. The first match wins. The patterns are compiled
// at the first refusal.
var reasons = sync.OnceValue(func() []meaning {
	return []meaning{
		{re(`^BPF program is too large`), "the verifier walked more than a million instructions over all paths: split the program, bound loops with bpf_loop or may_goto, or make functions global so that they are verified once"},
		{re(`^infinite loop detected`), "the loop returns to an earlier state: nothing that the verifier tracks changes from one iteration to the next"},
		{re(`^The sequence of \d+ jumps is too complex`), "too many branches are pending at once: reduce the branches in unrolled loops"},
		{re(`^combined stack size|^stack depth|^Looks like the BPF stack limit`), "the functions of a call chain use more than 512 bytes of stack together: move data to a map"},
		{re(`^the call stack of`), "calls nest more than 8 deep: remove the recursion, or inline some functions of the chain"},
		{re(`subtraction from stack pointer|pointer arithmetic .*prohibited|bitwise operator .* on pointer`), "only bounded numbers can be added to or subtracted from a pointer, and only after its null check: if the compiler moved the arithmetic before the check, copy the value or use a barrier"},
		{re(`^(write|read) (into|from) map forbidden`), "the map is read-only or write-only for programs; const variables are in .rodata, which is frozen"},
		{re(`^jump out of range`), "a jump leaves its function: check inline assembly and how the functions were linked"},
		{re(`!read_ok$`), "the register was not set on this path, or a call clobbered it (calls clobber R1 to R5)"},
		{re(`invalid mem access '(.*_)?or_null`), "the pointer may be null here: check it for null first, on every path that leads here"},
		{re(`invalid mem access '(scalar|inv)'`), "the register holds a number, not a pointer: read kernel memory with bpf_probe_read_kernel, or find where the pointer lost its type (arithmetic, a partial spill to the stack, a call)"},
		{re(`invalid mem access|type=\S+ expected=`), "a pointer of this kind is not allowed here"},
		{re(`invalid access to packet`), "the packet may be shorter than this access: compare the pointer with data_end first, on this path, with the same offset"},
		{re(`invalid access to map value|memory region|min value is outside|max value is outside|unbounded memory access|R\d+ min value is negative`), "the offset or size may exceed the memory: bound it on this path, in the register that is used (compilers may check one copy and use another)"},
		{re(`math between .* pointer`), "the number added to a pointer has no bounds: mask or compare it first"},
		{re(`invalid bpf_context access`), "this program type may not read or write the context at this offset with this size"},
		{re(`^dereference of modified ctx ptr`), "the context pointer was modified before this access: keep the offset in the instruction (if the compiler merged paths, use a barrier)"},
		{re(`invalid (read|write) from stack|invalid (indirect )?read from stack|invalid stack`), "the access reads stack bytes that were not written on this path, or is outside the frame"},
		{re(`Unreleased reference|would lead to reference leak`), "a reference leak: release what was acquired on every path"},
		{re(`must be referenced or trusted|must be a rcu pointer|is untrusted|Possibly NULL pointer`), "the function takes only pointers known to be valid and not null: hook arguments, referenced pointers, or pointers inside an RCU section"},
		{re(`bpf_spin_lock|holding a lock|-ed region`), "a lock or critical section is held where that is not allowed, or not released on this path"},
		{re(`unknown#195896080`), "a CO-RE relocation failed here and the kernel can reach it: see bpfrun relo"},
		{re(`^program of this type cannot use helper|^unknown func|^invalid func`), "this release, program type or attach point does not have the function"},
		{re(`calling kernel function .* is not allowed`), "this release does not let this program type call the kernel function"},
		{re(`GPL-restricted|non-GPL`), "only programs with a GPL-compatible licence may call the function"},
		{re(`should have been in|smin=.*should|At program exit|has (unknown scalar )?value|invalid return value`), "the program's return value is outside the range that this hook allows"},
		{re(`unreachable insn`), "an instruction is unreachable; compilers remove such code, so check inline assembly and jumps"},
		{re(`back-edge|loop detected`), "this release does not allow loops here"},
		{re(`same insn cannot be used with different pointers`), "two paths reach one instruction with pointers of different kinds (the compiler merged them): keep the accesses apart with a barrier"},
		{re(`reserved fields|unknown opcode`), "this release does not know the instruction: compile for an older instruction set (-mcpu=v3)"},
		{re(`isn't enabled|attach|hook|trampoline|is not a kernel function`), "the hook does not exist or does not accept this program"},
		{re(`invalid args into func|expects pointer|is not a scalar|expected pointer`), "an argument does not match the function's prototype and tags"},
	}
})

type meaning struct {
	text *regexp.Regexp
	why  string
}

func re(s string) *regexp.Regexp { return regexp.MustCompile(s) }

// reason explains a refusal.
func reason(message string, errno uapi.Errno) string {
	for _, r := range reasons() {
		if r.text.MatchString(message) {
			return r.why
		}
	}
	if errno == uapi.E2BIG {
		return "the program is larger than the kernel allows"
	}
	return ""
}
