package debug

import "github.com/bpfrun/bpfrun/debug/expr"

// Names of package expr that front ends need.
type (
	// Value is the value of an expression.
	Value = expr.Value
	// Type is the type of a value.
	Type = expr.Type
	// FormatOptions describes how a value is written.
	FormatOptions = expr.FormatOptions
	// UnknownError is a name that means nothing here.
	UnknownError = expr.UnknownError
	// UnavailableError is something that exists but has no value here.
	UnavailableError = expr.UnavailableError
	// SyntaxError is an expression that cannot be read.
	SyntaxError = expr.SyntaxError
	// MemoryError is memory that cannot be read or written.
	MemoryError = expr.MemoryError
)

// FunctionNames lists the functions that expressions can call.
func FunctionNames() []string { return expr.FunctionNames() }

// IsUnknown reports whether an error is about a name that means nothing here, or text that is not an expression.
func IsUnknown(err error) bool { return expr.IsUnknown(err) }
