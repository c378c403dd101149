// Package examples contains the objects of the examples, for the playground.
package examples

import "embed"

// Objects are the compiled examples: NAME/NAME.bpf.o.
//
//go:embed */*.bpf.o
var Objects embed.FS
