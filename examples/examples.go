// Package examples contains the objects of the examples, for the playground.
//
// This package belongs to the command; it is not part of the Go API (docs/api.md).
package examples

import "embed"

// Objects are the compiled examples: NAME/NAME.bpf.o.
//
//go:embed */*.bpf.o
var Objects embed.FS
