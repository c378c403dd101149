package verdicts

import (
	"fmt"
	"path/filepath"
	"runtime"
	"strings"
)

// panicPlace names the innermost functions of this module below a panic, for a deferred function that recovers it.
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
