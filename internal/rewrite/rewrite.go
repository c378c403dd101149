// Package rewrite is the one flag that rewrites what tests compare with: golden files, generated documentation, transcripts.
//
//	go test ./scenario -update
//	make update                 in every package that has something to rewrite
//
// What was recorded from a running kernel is not rewritten by it: those tests have a flag -record.
package rewrite

import "flag"

// Flag is set by -update.
var Flag = flag.Bool("update", false, "rewrite golden files, generated documentation and transcripts instead of comparing with them")
