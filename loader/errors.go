package loader

import (
	"errors"
	"fmt"
	"strings"
)

// Kinds of failures, for errors.Is.
var (
	// ErrNotObject: the file is not a BPF ELF object (empty, a directory, another format or
	// machine).
	ErrNotObject = errors.New("not a BPF object")
	// ErrMalformed: the ELF file is inconsistent or truncated.
	ErrMalformed = errors.New("malformed BPF object")
	// ErrBTF: the .BTF or .BTF.ext section cannot be read.
	ErrBTF = errors.New("malformed type information")
	// ErrMapDef: a map definition is not understood.
	ErrMapDef = errors.New("bad map definition")
	// ErrRelocation: an ELF relocation cannot be applied.
	ErrRelocation = errors.New("bad relocation")
	// ErrSection: a section name or type is unknown.
	ErrSection = errors.New("unknown section name")
	// ErrCORE: a CO-RE relocation failed with an error.
	ErrCORE = errors.New("CO-RE relocation failed")
	// ErrExtern: the target does not have a strong extern.
	ErrExtern = errors.New("unresolved extern")
	// ErrByteOrder: object and target differ in byte order.
	ErrByteOrder = errors.New("byte order differs")
	// ErrNoHook: the target does not have the hook.
	ErrNoHook = errors.New("attach point not on this kernel")
	// ErrUnlistedHook: BTF does not list the hook, but the kernel may still have it.
	ErrUnlistedHook = errors.New("not in this BTF")
	// ErrUnknownToTarget: the target kernel does not know a helper, map type,
	// program type, attach type or instruction.
	ErrUnknownToTarget = errors.New("not known to this kernel")
	// ErrKernelBTF: the target's kernel refuses the object's BTF, which the object needs.
	ErrKernelBTF = errors.New("BTF refused by this kernel")
	// ErrNotAllowed: the kernel does not allow a helper, kfunc or feature to programs of that type
	// or licence.
	ErrNotAllowed = errors.New("not allowed")
	// ErrInstruction: the kernel's structural checks refuse an instruction.
	ErrInstruction = errors.New("invalid instruction")
	// ErrOption: a name in the options does not exist or does not fit.
	ErrOption = errors.New("bad option")
	// ErrTooLarge: the object exceeds a limit of this package.
	ErrTooLarge = errors.New("object too large")
)

// Error describes a failure with its position. Fields that are not known are zero.
type Error struct {
	Object  string // name of the object
	Section string // ELF section
	Program string // program or subprogram
	Insn    int    // instruction in Program, -1 if none
	Source  string // "file.c:12:3 source text", empty without line information
	Err     error  // kind and cause, for errors.Is
	Detail  string // what was found
	Hint    string // what to do next
}

// Error describes what failed and where, with the source line and the hint.
func (e *Error) Error() string {
	var b strings.Builder
	if e.Object != "" {
		b.WriteString(e.Object)
		b.WriteString(": ")
	}
	switch {
	case e.Program != "" && e.Section != "" && e.Section != e.Program:
		fmt.Fprintf(&b, "program %s (section %s)", e.Program, e.Section)
	case e.Program != "":
		fmt.Fprintf(&b, "program %s", e.Program)
	case e.Section != "":
		fmt.Fprintf(&b, "section %s", e.Section)
	}
	if e.Insn >= 0 && (e.Program != "" || e.Section != "") {
		fmt.Fprintf(&b, " insn %d", e.Insn)
	}
	if e.Program != "" || e.Section != "" {
		b.WriteString(": ")
	}
	if e.Err != nil {
		b.WriteString(e.Err.Error())
	}
	if e.Detail != "" {
		if e.Err != nil {
			b.WriteString(": ")
		}
		b.WriteString(e.Detail)
	}
	if e.Source != "" {
		fmt.Fprintf(&b, " [%s]", e.Source)
	}
	if e.Hint != "" {
		fmt.Fprintf(&b, " (%s)", e.Hint)
	}
	return b.String()
}

// Unwrap returns Err.
func (e *Error) Unwrap() error { return e.Err }

// kindError combines a kind of this package with a cause, so that errors.Is finds both and the text
// repeats neither.
type kindError struct{ kind, cause error }

func (e *kindError) Error() string   { return e.kind.Error() + ": " + e.cause.Error() }
func (e *kindError) Unwrap() []error { return []error{e.kind, e.cause} }

func because(kind, cause error) error { return &kindError{kind, cause} }

func failf(kind error, format string, args ...any) *Error {
	return &Error{Insn: -1, Err: kind, Detail: fmt.Sprintf(format, args...)}
}

func (e *Error) section(name string) *Error { e.Section = name; return e }
func (e *Error) hint(format string, args ...any) *Error {
	e.Hint = fmt.Sprintf(format, args...)
	return e
}
