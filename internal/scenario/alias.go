package scenario

import "github.com/bpfrun/bpfrun/internal/scenario/grammar"

// What users of scenarios see of their grammar.
type (
	// Error is a mistake in a scenario file.
	Error = grammar.Error
	// Errors are several.
	Errors = grammar.Errors
	// Expectation is one checked expectation.
	Expectation = grammar.Expectation
	// Node is a value in a scenario file.
	Node = grammar.Node
	// Pair is a member of a mapping.
	Pair = grammar.Pair
	// Pos is a position in a scenario file.
	Pos = grammar.Pos
)
