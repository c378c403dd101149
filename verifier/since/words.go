package since

import (
	"fmt"
	"strings"
)

// Kernels names the kernels that have a rule: "Linux 6.3 and later (and 6.1 from 6.1.192 on)". Messages take releases
// from here, so that they say what verdicts do.
func (r Rule) Kernels() string {
	text := fmt.Sprintf("Linux %s and later", rows[r].from)
	var updates []string
	for _, u := range rows[r].stable {
		name := u.release.String()
		if u.patch > 0 {
			name += fmt.Sprintf(" from %s.%d on", u.release, u.patch)
		}
		updates = append(updates, name)
	}
	if len(updates) > 0 {
		text += " (and " + strings.Join(updates, ", ") + ")"
	}
	return text
}
