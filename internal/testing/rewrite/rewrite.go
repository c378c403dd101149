// Package rewrite defines the flag with which tests rewrite their expected output: golden files,
// generated documentation, transcripts.
//
//	go test ./internal/scenario -update
//	make update                 in every package that has something to rewrite
//
// It does not rewrite recordings of a running kernel; their tests have a flag -record.
package rewrite

import "flag"

// Flag is set by -update.
var Flag = flag.Bool("update", false, "rewrite golden files, generated documentation and transcripts instead of comparing with them")
