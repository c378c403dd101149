package loader

import (
	"encoding/binary"
	"fmt"
	"strconv"
	"strings"

	"github.com/bpfrun/bpfrun/btf"
	"github.com/bpfrun/bpfrun/internal/uapi/since"
)

// Names of variables in .kconfig that are not configuration options (libbpf
// bpf_object__resolve_externs).
const (
	varVersion = "LINUX_KERNEL_VERSION"
	varCookie  = "LINUX_HAS_BPF_COOKIE"
	varWrapper = "LINUX_HAS_SYSCALL_WRAPPER"
	prefixKcfg = "CONFIG_"
)

// resolveKconfig sets one variable of .kconfig.
func (l *loading) resolveKconfig(e *LinkedExtern, image []byte) *Error {
	fail := func(format string, args ...any) *Error {
		return failf(ErrExtern, "kconfig %s: %s", e.Name, fmt.Sprintf(format, args...)).section(secKconfig)
	}
	switch {
	case e.Name == varVersion:
		if l.t.Version == 0 {
			if e.Weak {
				return nil
			}
			return fail("the kernel's version is unknown").hint("give it with --kernel-version")
		}
		e.Source = "kernel version (" + l.t.VersionKnown + ")"
		e.Value = strconv.FormatUint(uint64(l.t.Version), 10)
	case e.Name == varCookie:
		e.Source, e.Value = "BTF", boolDigit(l.hasCookie())
	case e.Name == varWrapper:
		e.Source, e.Value = "BTF", boolDigit(l.t.hasSyscallWrapper())
	case strings.HasPrefix(e.Name, prefixKcfg):
		var ok bool
		if e.Value, e.Source, ok = l.t.config(e.Name); !ok {
			if e.Weak {
				return nil
			}
			return fail("not in the kernel's configuration").hint("give it with --kconfig or in kernel.kconfig of a scenario, or declare it __weak")
		}
	default:
		if e.Weak {
			return nil
		}
		return fail("not a name libbpf supplies")
	}
	if err := l.setKconfig(e, image[e.Off:e.Off+e.Size]); err != nil {
		return fail("%s=%s: %v", e.Name, e.Value, err)
	}
	e.Resolved = true
	return nil
}

func boolDigit(b bool) string {
	if b {
		return "1"
	}
	return "0"
}

// setKconfig parses a value as written in .config and stores it in the variable's form: y, n, m, a
// quoted string or a number (libbpf bpf_object__process_kconfig_line).
func (l *loading) setKconfig(e *LinkedExtern, dst []byte) error {
	v := e.Value
	switch {
	case v != "" && strings.IndexByte("ynm", v[0]) >= 0: // libbpf looks at the first character only
		return e.setTristate(dst, v[0], l.o.ByteOrder)
	case strings.HasPrefix(v, `"`):
		return e.setString(dst, v)
	}
	// What libbpf itself supplies (LINUX_HAS_...) may be a bool; a numeric option may not.
	virtual := !strings.HasPrefix(e.Name, prefixKcfg)
	if e.form != kcfgInt && e.form != kcfgChar && !(e.form == kcfgBool && virtual) {
		return fmt.Errorf("a number does not fit %s", l.o.BTF.TypeString(e.Type))
	}
	n, ok := parseNumber(v)
	if !ok {
		return fmt.Errorf("neither y, n, m, a number of 64 bits nor a quoted string")
	}
	if !e.inRange(n, l.o.BTF.SkipMods(e.Type)) {
		return fmt.Errorf("does not fit %s", l.o.BTF.TypeString(e.Type))
	}
	putUint(dst, n, l.o.ByteOrder)
	return nil
}

// parseNumber parses a number like strtoull(3): decimal, octal with a leading 0, hex with 0x, after
// an optional sign. A negative number becomes its two's complement.
func parseNumber(v string) (n uint64, ok bool) {
	digits := strings.TrimLeft(v, " \t\n\v\f\r")
	negative := strings.HasPrefix(digits, "-")
	if negative || strings.HasPrefix(digits, "+") {
		digits = digits[1:]
	}
	base := 10
	switch {
	case len(digits) > 2 && (digits[:2] == "0x" || digits[:2] == "0X"):
		digits, base = digits[2:], 16
	case len(digits) > 1 && digits[0] == '0':
		digits, base = digits[1:], 8
	}
	if digits == "" || digits[0] == '+' || digits[0] == '-' {
		return 0, false
	}
	n, err := strconv.ParseUint(digits, base, 64)
	if negative {
		n = -n
	}
	return n, err == nil
}

// inRange mirrors libbpf is_kcfg_value_in_range.
func (e *LinkedExtern) inRange(n uint64, t *btf.Type) bool {
	bits := e.Size * 8
	if bits == 64 {
		return true
	}
	if e.form == kcfgBool {
		return n <= 1
	}
	if t.Signed() {
		half := uint64(1) << (bits - 1)
		return n+half < half<<1
	}
	return n < 1<<bits
}

func (e *LinkedExtern) setTristate(dst []byte, v byte, bo binary.ByteOrder) error {
	switch e.form {
	case kcfgBool:
		if v == 'm' {
			return fmt.Errorf("m does not fit a bool")
		}
		dst[0] = map[byte]byte{'y': 1}[v]
	case kcfgTristate: // enum libbpf_tristate {NO, YES, MODULE}
		putUint(dst, map[byte]uint64{'y': 1, 'm': 2}[v], bo)
	case kcfgChar:
		dst[0] = v
	default:
		return fmt.Errorf("%c needs bool, char or enum libbpf_tristate", v)
	}
	return nil
}

func (e *LinkedExtern) setString(dst []byte, v string) error {
	if e.form != kcfgCharArray {
		return fmt.Errorf("a string needs char[]")
	}
	if len(v) < 2 || v[len(v)-1] != '"' {
		return fmt.Errorf("unterminated string")
	}
	clear(dst)
	copy(dst[:len(dst)-1], v[1:len(v)-1]) // longer strings are truncated, as in libbpf
	return nil
}

// putUint writes the low bytes of n.
func putUint(dst []byte, n uint64, bo binary.ByteOrder) {
	var b [8]byte
	if len(dst) > len(b) {
		dst = dst[:len(b)]
	}
	if bo == binary.BigEndian {
		binary.BigEndian.PutUint64(b[:], n)
		copy(dst, b[8-len(dst):])
		return
	}
	binary.LittleEndian.PutUint64(b[:], n)
	copy(dst, b[:len(dst)])
}

// hasCookie reports whether bpf_get_attach_cookie works for perf events: the kernel's struct
// bpf_link_perf... came with the helper in 5.15.
func (l *loading) hasCookie() bool {
	if _, ok := l.t.BTF.EnumValue(enumHelpers, "BPF_FUNC_get_attach_cookie"); ok {
		return true
	}
	return l.t.Version != 0 && since.Of(l.t.Version).Has(since.PerfCookies)
}

// syscallPrefix is the prefix of system call functions, by architecture, on kernels with wrappers
// that take struct pt_regs (libbpf arch_specific_syscall_pfx).
var syscallPrefix = map[string]string{
	"x86": "__x64_sys_", "arm64": "__arm64_sys_", "s390": "__s390x_sys_", "riscv": "__riscv_sys_", "arm": "sys_",
	"powerpc": "sys_", "mips": "sys_", "loongarch": "sys_",
}

// hasSyscallWrapper reports whether system calls have wrappers (libbpf
// probe_kern_syscall_wrapper: the function of bpf(2) exists under the wrapper's name).
func (t *Target) hasSyscallWrapper() bool {
	prefix := syscallPrefix[t.Arch]
	if t.Arch == "x86" && t.BTF.PointerSize() == 4 {
		prefix = "__ia32_sys_"
	}
	return prefix != "" && prefix != "sys_" && t.HasFunc(prefix+"bpf")
}

// config looks up a kernel configuration value: the one given, else what BTF implies, else a
// default that holds for any kernel with BTF.
func (t *Target) config(name string) (value, source string, ok bool) {
	if v, ok := t.Kconfig[name]; ok || t.KconfigWhole {
		return v, "given", ok
	}
	if v, ok := t.configByArch(name); ok {
		return v, "BTF", true
	}
	for _, c := range inferredConfig {
		if c.name == name && t.BTF != nil {
			if v, ok := c.infer(t.BTF); ok {
				return v, "BTF", true
			}
		}
	}
	if v, ok := defaultConfig[name]; ok {
		return v, "default", true
	}
	return "", "", false
}

// Config returns what is known of the kernel's configuration: the values given, else those that BTF
// implies and those that kernels with BTF have.
func (t *Target) Config() map[string]string {
	out := map[string]string{}
	if !t.KconfigWhole {
		for _, list := range []map[string]string{defaultConfig, archConfig} {
			for name := range list {
				if v, _, ok := t.config(name); ok {
					out[name] = v
				}
			}
		}
		for _, c := range inferredConfig {
			if v, _, ok := t.config(c.name); ok {
				out[c.name] = v
			}
		}
	}
	for name, v := range t.Kconfig {
		out[name] = v
	}
	return out
}

// archConfig are the options that follow from the architecture; configByArch has their values.
var archConfig = map[string]string{
	"CONFIG_X86": "", "CONFIG_X86_64": "", "CONFIG_X86_32": "", "CONFIG_ARM64": "", "CONFIG_ARM": "", "CONFIG_RISCV": "", "CONFIG_S390": "",
	"CONFIG_PPC": "", "CONFIG_LOONGARCH": "", "CONFIG_MIPS": "", "CONFIG_64BIT": "", "CONFIG_ARCH_HAS_SYSCALL_WRAPPER": "",
}

// defaultConfig are options that kernels with BTF and BPF have, with the values that distributions
// choose.
var defaultConfig = map[string]string{
	"CONFIG_BPF": "y", "CONFIG_BPF_SYSCALL": "y", "CONFIG_BPF_JIT": "y", "CONFIG_BPF_EVENTS": "y", "CONFIG_DEBUG_INFO_BTF": "y",
	"CONFIG_NET": "y", "CONFIG_INET": "y", "CONFIG_KPROBES": "y", "CONFIG_UPROBES": "y", "CONFIG_PERF_EVENTS": "y",
	"CONFIG_TRACEPOINTS": "y", "CONFIG_CGROUPS": "y", "CONFIG_CGROUP_BPF": "y", "CONFIG_KALLSYMS": "y",
	"CONFIG_HZ": "250", "CONFIG_HZ_250": "y", "CONFIG_LOCALVERSION": `""`, "CONFIG_CC_VERSION_TEXT": `""`, "CONFIG_DEFAULT_HOSTNAME": `"(none)"`,
}

func (t *Target) configByArch(name string) (string, bool) {
	if t.BTF == nil {
		return "", false
	}
	wide := t.BTF.PointerSize() == 8
	on := map[string]bool{
		"CONFIG_X86": t.Arch == "x86", "CONFIG_X86_64": t.Arch == "x86" && wide, "CONFIG_X86_32": t.Arch == "x86" && !wide,
		"CONFIG_ARM64": t.Arch == "arm64", "CONFIG_ARM": t.Arch == "arm", "CONFIG_RISCV": t.Arch == "riscv", "CONFIG_S390": t.Arch == "s390",
		"CONFIG_PPC": t.Arch == "powerpc", "CONFIG_LOONGARCH": t.Arch == "loongarch", "CONFIG_MIPS": t.Arch == "mips", "CONFIG_64BIT": wide,
		"CONFIG_ARCH_HAS_SYSCALL_WRAPPER": t.hasSyscallWrapper(),
	}
	if !on[name] { // disabled options do not appear in the configuration
		return "", false
	}
	return "y", true
}

// inferredConfig are options that can be inferred from the kernel's types.
var inferredConfig = []struct {
	name  string
	infer func(*btf.Spec) (string, bool)
}{
	{"CONFIG_SMP", memberMeans("task_struct", "wake_cpu")},
	{"CONFIG_PREEMPT_RCU", memberMeans("task_struct", "rcu_read_lock_nesting")},
	{"CONFIG_PREEMPT_RT", memberMeans("task_struct", "softirq_disable_cnt")},
	{"CONFIG_FAIR_GROUP_SCHED", memberMeans("sched_entity", "my_q")},
	{"CONFIG_SCHED_CORE", memberMeans("task_struct", "core_cookie")},
	{"CONFIG_SCHED_CLASS_EXT", memberMeans("task_struct", "scx")},
	{"CONFIG_MEMCG", memberMeans("mm_struct", "owner")},
	{"CONFIG_NUMA", memberMeans("task_struct", "mempolicy")},
	{"CONFIG_UTS_NS", structMeans("uts_namespace")},
	{"CONFIG_THREAD_INFO_IN_TASK", memberMeans("task_struct", "thread_info")},
	{"CONFIG_STACKTRACE", funcMeans("stack_trace_save")},
	{"CONFIG_BPF_LSM", funcMeans("bpf_lsm_file_open")},
	{"CONFIG_FTRACE_SYSCALLS", structMeans("syscall_trace_enter")},
	{"CONFIG_NR_CPUS", nrCPUs},
}

func memberMeans(typ string, members ...string) func(*btf.Spec) (string, bool) {
	return func(s *btf.Spec) (string, bool) {
		id, ok := s.FindID(btf.KindStruct, typ)
		if !ok {
			return "", false
		}
		for _, m := range members {
			if _, ok := s.FindMember(id, m); ok {
				return "y", true
			}
		}
		return "", false
	}
}

func structMeans(typ string) func(*btf.Spec) (string, bool) {
	return func(s *btf.Spec) (string, bool) {
		_, ok := s.FindID(btf.KindStruct, typ)
		return "y", ok
	}
}

func funcMeans(name string) func(*btf.Spec) (string, bool) {
	return func(s *btf.Spec) (string, bool) {
		_, ok := s.FindID(btf.KindFunc, name)
		return "y", ok
	}
}

// nrCPUs counts the bits of struct cpumask, which is CONFIG_NR_CPUS rounded up to whole words.
func nrCPUs(s *btf.Spec) (string, bool) {
	id, ok := s.FindID(btf.KindStruct, "cpumask")
	if !ok {
		return "", false
	}
	n, err := s.Sizeof(id)
	if err != nil || n <= 0 {
		return "", false
	}
	return strconv.FormatInt(n*8, 10), true
}
