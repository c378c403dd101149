package since

import (
	"fmt"
	"strings"
)

// Kernels names the kernels that have a rule: "Linux 6.3 and later (and 6.1 from 6.1.192 on)".
// Messages take releases from here, so that they say what verdicts do.
func (r Rule) Kernels() string {
	first := r.First()
	text := fmt.Sprintf("Linux %s and later", r.From())
	if first.Patch > 0 {
		text = fmt.Sprintf("Linux %s.%d and later", first.Release, first.Patch)
	}
	var updates []string
	for _, u := range r.Row().Stable {
		if u.Release == first.Release {
			continue
		}
		name := u.Release.String()
		if u.Patch > 0 {
			name += fmt.Sprintf(" from %s.%d on", u.Release, u.Patch)
		}
		updates = append(updates, name)
	}
	if len(updates) > 0 {
		text += " (and " + strings.Join(updates, ", ") + ")"
	}
	return text
}
