package verdicts

import (
	"fmt"
	"path/filepath"
	"runtime"
	"strings"
)

// panicPlace returns the names of the innermost functions of this module on the stack of a panic.
// Call it from the deferred function that recovers.
func panicPlace() string {
	var out strings.Builder
	pcs := make([]uintptr, 64)
	frames := runtime.CallersFrames(pcs[:runtime.Callers(3, pcs)])
	for n := 0; n < 4; {
		f, more := frames.Next()
		if strings.Contains(f.Function, "/verifier") && !strings.Contains(f.Function, "conformance") {
			fmt.Fprintf(&out, " < %s:%d", filepath.Base(f.File), f.Line)
			n++
		}
		if !more {
			break
		}
	}
	return out.String()
}
