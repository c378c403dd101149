package kernel

import (
	"github.com/bpfrun/bpfrun/kernel/clock"
	"github.com/bpfrun/bpfrun/kernel/object"
)

// Names of the parts, so that users of a whole kernel import this package alone.
type (
	// Clock is simulated time.
	Clock = clock.Clock
	// ClockConfig sets a clock.
	ClockConfig = clock.Config
	// Object is kernel memory of one type.
	Object = object.Object
	// Access is one guest access to an object.
	Access = object.Access
	// Types is the cache of what objects need of a target's BTF; several kernels may share it.
	Types = object.Types
	// Field is a place in an object.
	Field = object.Field
	// Pointer is an address as a value of a field.
	Pointer = object.Pointer
	// Mode decides what a read of a field nobody has set yields.
	Mode = object.Mode
	// PathError is a path that does not lead to a field.
	PathError = object.PathError
	// ValueError is a value that cannot be put into a field.
	ValueError = object.ValueError
	// TypeError is a type no object can be made of.
	TypeError = object.TypeError
	// AbsentError is a hook or variable the target's BTF does not have.
	AbsentError = object.AbsentError
)

// Modes of package object.
const (
	ModeDefault  = object.ModeDefault
	ModeScenario = object.ModeScenario
	ModeStrict   = object.ModeStrict
)

// NewTypes returns an empty cache.
func NewTypes() *Types { return object.NewTypes() }

// Kinds of errors of package object.
var (
	ErrNoField  = object.ErrNoField
	ErrBadPath  = object.ErrBadPath
	ErrValue    = object.ErrValue
	ErrNoMemory = object.ErrNoMemory
)
