package verdicts

import (
	"regexp"
	"strings"
	"sync"

	"github.com/bpfrun/bpfrun/internal/lazyre"
)

// ClassUnclear is the class of messages that match no row of classes.
const ClassUnclear = "unclear"

// classes maps messages of kernel/bpf/verifier.c and related files to their subject. The wording
// differs between releases; the first matching row wins. The patterns are compiled on first use,
// since no other command needs them.
var classes = sync.OnceValue(func() []class {
	return []class{
		{"none", regexp.MustCompile(`^$`)},
		{"complexity", regexp.MustCompile(`too large\. Processed|too complex|infinite loop detected|iteration limit|is not converging`)},
		{"stack-size", regexp.MustCompile(`combined stack size|stack size of subprog|call stack of|stack size \d+\(extra`)},
		{"exit-range", regexp.MustCompile(`^At (program|callback|subprogram|async|exception)|should have been in|R0 (not a|has|leaks)|R0 !read_ok|return value|R\d+ leaks addr as return|R0 has`)},
		{"reference", regexp.MustCompile(`[Rr]eference|Unreleased|unacquired|reference leak|must be referenced|owning|non-own|acquire|release`)},
		{"lock", regexp.MustCompile(`spin_(un)?lock|spin_\{|_lock-ed|rcu_read|rcu read|preempt|irq|IRQ|lock(ed)? region|holding a lock|RCU CS|spin lock|res_spin|unlock|critical section|non-preemptible|sleep|atomic context`)},
		{"uninitialised", regexp.MustCompile(`!read_ok|invalid (indirect )?read from stack|uninit stack|slot poisoned|invalid indirect read`)},
		{"dynptr-iter", regexp.MustCompile(`dynptr|iter_|iterator|expected (un)?initialized`)},
		{"null", regexp.MustCompile(`_or_null'|null-check|NULL pointer|Possibly NULL|or_null`)},
		{"special-field", regexp.MustCompile(`kptr|timer|bpf_wq|workqueue|list_head|list_node|rb_root|rb_node|refcount|task_work|cannot be accessed directly|has no valid|uptr`)},
		{"packet", regexp.MustCompile(`packet|pkt`)},
		{"map-access", regexp.MustCompile(`map (value|key|forbidden)|map forbidden|key_size|value_size|map_ptr access|invalid map_ptr|readonly map|map_value|direct value`)},
		{"map-use", regexp.MustCompile(`cannot pass map_type|can only use array|map type|map_type|map '|isn't map pointer|cannot update sockmap|of different maps|arena|cgroup storage|maps per program|map in map|not pointing to valid bpf_map|sockmap`)},
		{"stack", regexp.MustCompile(`stack`)},
		{"context", regexp.MustCompile(`bpf_context|context|ctx|access beyond struct|func '.*' (arg|doesn't|size)|flow keys|bpf_sock|sock_common|xdp_sock|tcp_sock`)},
		{"btf-access", regexp.MustCompile(`struct |access(es)? (ptr|to)|only read|type=|ptr_|cannot access ptr|is_ptr|untrusted|trusted|dereference|percpu|access user memory`)},
		{"memory", regexp.MustCompile(`invalid mem access|memory, mem_size|unbounded memory|allowed memory range|unbounded|buffer access|beyond|min value is negative|zero-sized read|invalid negative access|rdonly|invalid access to memory|out of bounds`)},
		{"arithmetic", regexp.MustCompile(`pointer arithmetic|math between|bitwise operator|pointer comparison|subtraction|prohibited|pointer operation|partial copy|makes .* pointer be|unsupported alu|div by zero|invalid shift|leaks addr|arithmetic`)},
		{"permission", regexp.MustCompile(`cannot use helper|unknown func|invalid func|not supported for program type|calling kernel function .* is not allowed|GPL|helper call (is not|might)|not allowed (in|for)|supported only for|kfunc|kernel function|is not allowed|non-JITed|destructive`)},
		{"structure", regexp.MustCompile(`unreachable insn|back-edge|jump out of range|jump into the middle|last insn|reserved fields|unknown opcode|unknown insn|invalid BPF_|call to invalid|ldimm64|ld_imm64|may_goto|frame pointer is read only|unrecognized|atomic|R10|invalid insn idx|is invalid|addr_space|LD_\[ABS|LD_ABS|tail_call|subprog|func_info|func info|line_info|callback|exception|gotox|invalid destination|sign extending`)},
		{"argument", regexp.MustCompile(`type=|expected|arg\s?#?\d|args|not a known|known constant|must be|format string|const string|Arg#|signed bounds`)},
		{"attach", regexp.MustCompile(`attach|Attach|BTF|btf`)},
	}
})

type class struct {
	name    string
	pattern *regexp.Regexp
}

// ClassOf returns the class of a message.
func ClassOf(message string) string {
	for _, c := range classes() {
		if c.pattern.MatchString(message) {
			return c.name
		}
	}
	return ClassUnclear
}

var (
	number   = lazyre.New(`0x[0-9a-f]+|-?\d+`)
	wordings = strings.NewReplacer("'inv'", "'scalar'", "type=inv", "type=scalar", " !", "")
)

// Shape returns a message without the parts that differ between programs refused for the same
// reason: numbers, and words that later releases spell differently.
func Shape(message string) string {
	return strings.TrimRight(number.ReplaceAllString(wordings.Replace(message), "N"), " .!\n")
}
