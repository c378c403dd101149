package verifier

import (
	"regexp"
	"sync"

	"github.com/bpfrun/bpfrun/uapi"
)

// reasons say in our words what a line of the kernel means, and what helps. The first that matches wins. They are compiled at the first refusal.
var reasons = sync.OnceValue(func() []meaning {
	return []meaning{
		{re(`^BPF program is too large`), "the paths through the program take more than a million instructions: split it, bound loops with bpf_loop or may_goto, or make functions global so that they are judged once"},
		{re(`^infinite loop detected`), "a loop comes back to a state it was in before: nothing the verifier knows changes from one iteration to the next"},
		{re(`^The sequence of \d+ jumps is too complex`), "too many branches are pending at one time: fewer branches in unrolled loops"},
		{re(`^combined stack size|^stack depth|^Looks like the BPF stack limit`), "functions that call each other have more than 512 bytes of stack together: move data to a map"},
		{re(`^the call stack of`), "functions call each other more than 8 deep: recursion, or a chain to shorten by inlining"},
		{re(`subtraction from stack pointer|pointer arithmetic .*prohibited|bitwise operator .* on pointer`), "pointers take only additions and subtractions of numbers with bounds, and none before the null check: compilers move arithmetic up to the check, copy the value or use a barrier"},
		{re(`^(write|read) (into|from) map forbidden`), "the map is read-only, or write-only, for programs: const variables are in .rodata, which is frozen"},
		{re(`^jump out of range`), "a jump leaves its function: inline assembly, or functions that were linked wrongly"},
		{re(`!read_ok$`), "the register was not set on this path, or a call before it cleared it (calls clear R1 to R5)"},
		{re(`invalid mem access '(.*_)?or_null`), "the pointer may be null here: compare it with null first, on every path that leads here"},
		{re(`invalid mem access '(scalar|inv)'`), "the register holds a number, not a pointer: memory of the kernel is read with bpf_probe_read_kernel, or the pointer lost its type in arithmetic, on the stack or by a call"},
		{re(`invalid mem access|type=\S+ expected=`), "a pointer of this kind is not allowed here"},
		{re(`invalid access to packet`), "nothing has proved that the packet is that long: compare the pointer with data_end before the access, on this path, with the same offset"},
		{re(`invalid access to map value|memory region|min value is outside|max value is outside|unbounded memory access|R\d+ min value is negative`), "the offset or size can lie outside the memory: bound it on this path, in the register that is used (compilers check one copy and use another)"},
		{re(`math between .* pointer`), "the number added to a pointer has no bounds: mask or compare it first"},
		{re(`invalid bpf_context access`), "this program type may not read or write the context at this offset with this size"},
		{re(`^dereference of modified ctx ptr`), "the context pointer has an offset when it is used: read fields with the offset in the instruction (a compiler may merge paths: use a barrier)"},
		{re(`invalid (read|write) from stack|invalid (indirect )?read from stack|invalid stack`), "the stack is read where nothing was written on this path, or outside the frame"},
		{re(`Unreleased reference|would lead to reference leak`), "something that was acquired is not released on this path"},
		{re(`must be referenced or trusted|must be a rcu pointer|is untrusted|Possibly NULL pointer`), "the function takes only pointers that are known to be valid: from the hook's arguments, with a reference, or inside an RCU section, and not null"},
		{re(`bpf_spin_lock|holding a lock|-ed region`), "a lock or section is open where that is not allowed, or not closed on this path"},
		{re(`unknown#195896080`), "a CO-RE relocation failed here and the kernel can reach it: see bpfrun relo"},
		{re(`^program of this type cannot use helper|^unknown func|^invalid func`), "this release, program type or attach point does not have the function"},
		{re(`calling kernel function .* is not allowed`), "this release does not let this program type call the kernel function"},
		{re(`GPL-restricted|non-GPL`), "the function is for programs whose licence is compatible with the GPL"},
		{re(`should have been in|smin=.*should|At program exit|has (unknown scalar )?value|invalid return value`), "the value the program returns is not in the range that this hook takes"},
		{re(`unreachable insn`), "an instruction cannot be reached: compilers remove it unless inline assembly or a broken jump is there"},
		{re(`back-edge|loop detected`), "this release takes no loops here"},
		{re(`same insn cannot be used with different pointers`), "two paths bring pointers of different kinds to one instruction (compilers merge them): keep the accesses apart with a barrier"},
		{re(`reserved fields|unknown opcode`), "this release does not know the instruction: compile for an older one (-mcpu=v3)"},
		{re(`isn't enabled|attach|hook|trampoline|is not a kernel function`), "the hook does not exist or does not take this program"},
		{re(`invalid args into func|expects pointer|is not a scalar|expected pointer`), "an argument is not what the function's prototype and tags say"},
	}
})

type meaning struct {
	text *regexp.Regexp
	why  string
}

func re(s string) *regexp.Regexp { return regexp.MustCompile(s) }

// reason describes what a refusal means.
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
