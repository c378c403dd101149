package usdt

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/bpfrun/bpfrun/internal/lazyre"
)

// Kind is where an argument is; the numbers are those of enum __bpf_usdt_arg_type (usdt.bpf.h).
type Kind int

// Kinds of arguments.
const (
	Const Kind = iota // the value is in the note
	Reg               // a register
	Deref             // memory at an offset from a register
	Index             // memory at an offset from a register and a scaled second one
)

// MaxArgs limits the arguments of a probe (BPF_USDT_MAX_ARG_CNT).
const MaxArgs = 12

// Arg is an argument of a probe.
type Arg struct {
	Kind   Kind
	Size   int // in bytes: 1, 2, 4 or 8
	Signed bool
	Value  int64 // the constant, or the offset of memory
	// Reg and Index name registers by paths in struct pt_regs. Shift is the binary logarithm of
	// what Index is multiplied by.
	Reg, Index string
	Shift      int
}

// Bits is the number of bits of a 64-bit word that the argument does not have (arg_bitshift).
func (a *Arg) Bits() int { return 64 - 8*a.Size }

// Extend returns a value as bpf_usdt_arg returns it: cut to the argument's size, with sign or
// zeros.
func (a *Arg) Extend(v uint64) uint64 {
	if a.Signed {
		return uint64(int64(v<<a.Bits()) >> a.Bits())
	}
	return v << a.Bits() >> a.Bits()
}

// ArgError is an argument that libbpf does not parse, or an architecture whose notation is not
// known here.
type ArgError struct{ Arg, Why string }

// Error names the argument and what is wrong.
func (e *ArgError) Error() string { return fmt.Sprintf("USDT argument %q: %s", e.Arg, e.Why) }

// form is one way in which an architecture writes an argument. The subexpressions are size, offset,
// register, index and scale, as named.
type form struct {
	kind Kind
	re   *lazyre.Regexp
}

const (
	sizePart   = `^\s*(?P<size>-?\d+)\s*@\s*`
	offsetPart = `(?P<offset>-?\d+)`
	regPart    = `%(?P<reg>[a-z0-9]+)`
	armPart    = `(?P<reg>[a-z][a-z0-9]*)`
	endPart    = `(?:\s+|$)`
)

// notations are the forms by architecture, in libbpf's order (parse_usdt_arg of usdt.c).
var notations = sync.OnceValue(func() map[string][]form {
	return map[string][]form{
		"x86": {
			{Index, lazyre.New(sizePart + offsetPart + `?\s*\(\s*` + regPart + `\s*,\s*%(?P<index>[a-z0-9]+)\s*(?:,\s*(?P<scale>\d+)\s*)?\)` + endPart)},
			{Deref, lazyre.New(sizePart + offsetPart + `?\s*\(\s*` + regPart + `\s*\)` + endPart)},
			{Reg, lazyre.New(sizePart + regPart + endPart)},
			{Const, lazyre.New(sizePart + `\$` + offsetPart + endPart)},
		},
		"arm64": {
			{Deref, lazyre.New(sizePart + `\[\s*` + armPart + `\s*(?:,\s*` + offsetPart + `\s*)?\]` + endPart)},
			{Const, lazyre.New(sizePart + offsetPart + endPart)},
			{Reg, lazyre.New(sizePart + armPart + endPart)},
		},
	}
})

// Parse parses the arguments of a probe as a note has them: "-4@%edi 8@-16(%rbp) 8@$5".
func Parse(arch, text string) ([]Arg, error) {
	forms := notations()[arch]
	if forms == nil {
		return nil, &ArgError{text, "the notation of " + arch + " is not known; those of x86 and arm64 are"}
	}
	args := []Arg{}
	for rest := strings.TrimSpace(text); rest != ""; {
		if len(args) == MaxArgs {
			return nil, &ArgError{rest, fmt.Sprintf("a probe has at most %d arguments", MaxArgs)}
		}
		a, n, err := next(arch, forms, rest)
		if err != nil {
			return nil, err
		}
		args = append(args, a)
		rest = strings.TrimSpace(rest[n:])
	}
	return args, nil
}

// next parses the first argument of a text, and returns its length.
func next(arch string, forms []form, text string) (a Arg, n int, err error) {
	for _, f := range forms {
		m := f.re.FindStringSubmatch(text)
		if m == nil {
			continue
		}
		part := func(name string) string {
			if i := f.re.SubexpIndex(name); i >= 0 {
				return m[i]
			}
			return ""
		}
		shown := strings.TrimSpace(m[0])
		a.Kind = f.kind
		if a.Size, err = strconv.Atoi(part("size")); err != nil {
			return a, 0, &ArgError{shown, "its size is no number"}
		}
		if a.Signed = a.Size < 0; a.Signed {
			a.Size = -a.Size
		}
		if !slices.Contains([]int{1, 2, 4, 8}, a.Size) {
			return a, 0, &ArgError{shown, "want a size of 1, 2, 4 or 8 bytes, negative if it is signed"}
		}
		if v := part("offset"); v != "" {
			if a.Value, err = strconv.ParseInt(v, 10, 64); err != nil {
				return a, 0, &ArgError{shown, "its number does not fit into 64 bits"}
			}
		}
		for name, to := range map[string]*string{part("reg"): &a.Reg, part("index"): &a.Index} {
			if name == "" {
				continue
			}
			if *to = register(arch, name); *to == "" {
				return a, 0, &ArgError{shown, "libbpf knows no register " + name}
			}
		}
		if v := part("scale"); v != "" {
			if a.Shift = slices.Index([]string{"1", "2", "4", "8"}, v); a.Shift < 0 {
				return a, 0, &ArgError{shown, "want a scale of 1, 2, 4 or 8"}
			}
		}
		return a, len(m[0]), nil
	}
	first, _, _ := strings.Cut(text, " ")
	return a, 0, &ArgError{first, "want SIZE@WHERE as " + arch + " has it: " + examples[arch]}
}

var examples = map[string]string{
	"x86":   "-4@%edi, 8@-16(%rbp), 4@8(%rax,%rbx,4) or 8@$5",
	"arm64": "-4@x0, 8@[sp, 16] or 8@5",
}

// wide are registers of x86 by the path of the whole, with the names of their parts
// (calc_pt_regs_off).
var wide = map[string][]string{
	"ip": {"rip", "eip"}, "ax": {"rax", "eax", "ax", "al"}, "bx": {"rbx", "ebx", "bx", "bl"}, "cx": {"rcx", "ecx", "cx", "cl"}, "dx": {"rdx", "edx", "dx", "dl"},
	"si": {"rsi", "esi", "si", "sil"}, "di": {"rdi", "edi", "di", "dil"}, "bp": {"rbp", "ebp", "bp", "bpl"}, "sp": {"rsp", "esp", "sp", "spl"},
}

// register returns the path of a register in struct pt_regs, "" for one that libbpf does not know.
func register(arch, name string) string {
	if arch == "arm64" {
		if name == "sp" {
			return name
		}
		if n, err := strconv.Atoi(strings.TrimPrefix(name, "x")); err == nil && name == "x"+strconv.Itoa(n) && n >= 0 && n < 31 {
			return "regs[" + strconv.Itoa(n) + "]"
		}
		return ""
	}
	for path, names := range wide {
		if slices.Contains(names, name) {
			return path
		}
	}
	digits := strings.TrimRight(strings.TrimPrefix(name, "r"), "dwb")
	if n, err := strconv.Atoi(digits); err == nil && n >= 8 && n <= 15 {
		whole := "r" + strconv.Itoa(n)
		if slices.Contains([]string{whole, whole + "d", whole + "w", whole + "b"}, name) {
			return whole
		}
	}
	return ""
}
