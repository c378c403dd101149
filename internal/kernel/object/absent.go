package object

import (
	"fmt"
	"strings"
)

// AbsentError is a hook that the target's BTF lacks.
type AbsentError struct {
	Hook, What string
	Nearest    []string
}

// Error names what was looked for.
func (e *AbsentError) Error() string {
	s := fmt.Sprintf("%s: the kernel has no %s", e.Hook, e.What)
	if len(e.Nearest) > 0 {
		s += " (nearest: " + strings.Join(e.Nearest, ", ") + ")"
	}
	return s
}
