package debug

import "github.com/bpfrun/bpfrun/internal/debug/expr"

// Types of package expr that front ends need.
type (
	// Value is the value of an expression.
	Value = expr.Value
	// Type is the type of a value.
	Type = expr.Type
	// FormatOptions describes how a value is formatted.
	FormatOptions = expr.FormatOptions
	// UnknownError is an unknown name.
	UnknownError = expr.UnknownError
	// UnavailableError is a name that exists but has no value here.
	UnavailableError = expr.UnavailableError
	// SyntaxError is an expression that cannot be parsed.
	SyntaxError = expr.SyntaxError
	// MemoryError is memory that cannot be read or written.
	MemoryError = expr.MemoryError
)

// FunctionNames lists the functions that expressions can call.
func FunctionNames() []string { return expr.FunctionNames() }

// IsUnknown reports whether an error is about an unknown name or a syntax error.
func IsUnknown(err error) bool { return expr.IsUnknown(err) }
