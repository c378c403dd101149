package btf

import (
	"errors"
	"fmt"
	"strings"
)

// Kinds of errors, for errors.Is.
var (
	// ErrNotBTF: the data does not start with the BTF magic 0xeb9f in either byte order and is no
	// known container of BTF.
	ErrNotBTF = errors.New("not BTF")
	// ErrNoBTF: an ELF file without a .BTF section, or an archive without BTF.
	ErrNoBTF = errors.New("no BTF in the file")
	// ErrVersion: a BTF version other than 1.
	ErrVersion = errors.New("unsupported BTF version")
	// ErrTruncated: a header, section or type extends past the end of the data.
	ErrTruncated = errors.New("truncated BTF")
	// ErrHeader: header fields contradict each other.
	ErrHeader = errors.New("malformed BTF header")
	// ErrUnknownKind: a kind this package does not know. Types after it cannot be found, because
	// its length is unknown.
	ErrUnknownKind = errors.New("unknown BTF kind")
	// ErrStringTable: the string table does not start or end with a zero byte.
	ErrStringTable = errors.New("malformed BTF string table")
	// ErrBadString: a string offset outside the string table.
	ErrBadString = errors.New("BTF string offset out of range")
	// ErrBadID: a type id that does not exist.
	ErrBadID = errors.New("BTF type id out of range")
	// ErrInvalid: a type that breaks a rule of its kind.
	ErrInvalid = errors.New("invalid BTF type")
	// ErrCycle: a chain of types that refers back to itself where it must end.
	ErrCycle = errors.New("BTF type refers to itself")
	// ErrUnsized: a type without a size: void, a forward declaration, a function.
	ErrUnsized = errors.New("type has no size")
	// ErrTooLarge: raw data, decompressed data or a type exceeds a limit.
	ErrTooLarge = errors.New("too large")
	// ErrNotFound: no member, type or enumerator has that name.
	ErrNotFound = errors.New("not found")
	// ErrValue: a value does not fit the type it is written to.
	ErrValue = errors.New("value does not fit")
	// ErrExt: malformed .BTF.ext.
	ErrExt = errors.New("malformed .BTF.ext")
	// ErrRelocate: split BTF cannot be moved onto a new base.
	ErrRelocate = errors.New("cannot relocate split BTF")
)

// Error describes an error in BTF data. Fields that are not known are zero.
type Error struct {
	ID     ID     // the type, 0 if none
	Kind   Kind   // the type's kind
	Offset int64  // bytes from the start of the raw BTF, -1 if none
	Detail string // what was found and what was expected
	Err    error  // one of the Err values
}

// Error describes the error, the type and the offset.
func (e *Error) Error() string {
	var b strings.Builder
	b.WriteString("btf: ")
	b.WriteString(e.Err.Error())
	if e.ID != 0 {
		fmt.Fprintf(&b, ": type [%d]", e.ID)
		if e.Kind != KindVoid {
			fmt.Fprintf(&b, " %s", e.Kind)
		}
	}
	if e.Detail != "" {
		b.WriteString(": ")
		b.WriteString(e.Detail)
	}
	if e.Offset >= 0 {
		fmt.Fprintf(&b, " (at byte %d)", e.Offset)
	}
	return b.String()
}

// Unwrap returns Err.
func (e *Error) Unwrap() error { return e.Err }

func headerError(kind error, format string, args ...any) error {
	return &Error{Offset: -1, Detail: fmt.Sprintf(format, args...), Err: kind}
}

func typeError(t *Type, kind error, format string, args ...any) error {
	return &Error{ID: t.ID, Kind: t.Kind, Offset: -1, Detail: fmt.Sprintf(format, args...), Err: kind}
}
