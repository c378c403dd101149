package corerelo

import (
	"errors"
	"fmt"
)

// Kinds of failures, for errors.Is. With each of them libbpf refuses the whole object. A field that
// merely does not exist is not a failure: see Result.Poison.
var (
	// ErrInvalidRecord: the record does not match the object's own BTF.
	ErrInvalidRecord = errors.New("invalid CO-RE record")
	// ErrUnsupported: the relocation kind is unknown.
	ErrUnsupported = errors.New("unrecognized CO-RE relocation")
	// ErrAnonymous: the root type has no name, so no candidate can be found.
	ErrAnonymous = errors.New("root type is anonymous")
	// ErrTooDeep: a path or a type nests deeper than libbpf follows.
	ErrTooDeep = errors.New("nesting too deep")
	// ErrTooComplex: matching took more steps than any real type needs. libbpf has no such limit
	// and could run for hours.
	ErrTooComplex = errors.New("types too complex to match")
	// ErrUnsized: a relocation asks for the size of a type that has none.
	ErrUnsized = errors.New("type has no size")
	// ErrBitfield: no load of up to 8 bytes holds the bitfield.
	ErrBitfield = errors.New("bitfield does not fit any load")
	// ErrArrayAccess: signedness and shifts are undefined for array elements.
	ErrArrayAccess = errors.New("relocation can't be applied to array access")
	// ErrAmbiguous: several candidates match with different results.
	ErrAmbiguous = errors.New("candidates disagree")
	// ErrInsn: the instruction cannot carry a CO-RE relocation.
	ErrInsn = errors.New("instruction can't be relocated")
	// ErrUnexpectedValue: the instruction does not contain the value that the object's own BTF
	// implies.
	ErrUnexpectedValue = errors.New("unexpected value in instruction")
	// ErrRange: the new value does not fit the instruction.
	ErrRange = errors.New("value out of range")
	// ErrMemSize: the instruction's access size cannot be changed to that of the field.
	ErrMemSize = errors.New("unexpected memory size")
)

// Error numbers that libbpf returns for these failures.
const (
	eINVAL     = -22
	e2BIG      = -7
	eRANGE     = -34
	eOPNOTSUPP = -95
)

// Stage identifies the step of a relocation that failed.
type Stage uint8

// The steps, in order.
const (
	StageParse  Stage = iota // access string to local spec
	StageSearch              // candidate search
	StageMatch               // match of the local spec against a candidate
	StageValue               // value from a spec
	StageDecide              // one result from several candidates
	StagePatch               // value into an instruction
)

var stageNames = [...]string{"parse", "search", "match", "value", "decide", "patch"}

// String returns the name of the step: "parse".
func (s Stage) String() string {
	if int(s) < len(stageNames) {
		return stageNames[s]
	}
	return "unknown"
}

// Error describes a failed relocation.
type Error struct {
	Record Record
	Stage  Stage
	Err    error  // one of the Err variables
	Detail string // what was found; may be empty
	Errno  int    // negative error number that libbpf returns: -22, -7, -34, -95
	Insn   int    // index passed to Apply (StagePatch only)

	log string // libbpf's warnings, a line each, without "prog 'x': relo #n: "
}

// Error describes the record and why it failed.
func (e *Error) Error() string {
	text := e.Err.Error()
	if e.Detail != "" {
		text += ": " + e.Detail
	}
	return fmt.Sprintf("CO-RE %s of type %d, access %q, at insn #%d: %s",
		e.Record.Kind, e.Record.TypeID, e.Record.Access, e.Record.InsnOff/8, text)
}

// Unwrap returns Err.
func (e *Error) Unwrap() error { return e.Err }

func errnoName(errno int) string {
	switch errno {
	case eINVAL:
		return "-EINVAL"
	case e2BIG:
		return "-E2BIG"
	case eRANGE:
		return "-ERANGE"
	case eOPNOTSUPP:
		return "-EOPNOTSUPP"
	}
	return fmt.Sprint(errno)
}

// fault is a failure within one stage; Resolver and Apply convert it to an Error.
type fault struct {
	err    error
	detail string
	errno  int
	log    string
}

func faultf(err error, errno int, format string, args ...any) *fault {
	return &fault{err: err, errno: errno, detail: fmt.Sprintf(format, args...)}
}

func (f *fault) at(rec Record, stage Stage) *Error {
	return &Error{Record: rec, Stage: stage, Err: f.err, Detail: f.detail, Errno: f.errno, log: f.log}
}
