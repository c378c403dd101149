package loader

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

// TestPlaceholders: a target that only looks like a placeholder is offered --attach, whatever the
// kernel has that resembles it.
func TestPlaceholders(t *testing.T) {
	for target, want := range map[string]bool{
		"dummy_fentry": true, "dummy": true, "PLACEHOLDER": true, "placeholder_hook": true, "replace_me": true, "todo": true, "xxx": true, "XXX": true,
		"vfs_read": false, "is_dummy": false, "tcp_connect": false, "": false, "todo_list": false, "xxxx": false,
	} {
		assert.Equal(t, want, placeholder(target), target)
		lp := &LinkedProgram{Program: &Program{Name: "p"}}
		lp.AttachTo = target
		got := offer(lp, nil)
		if want {
			assert.Contains(t, got, "--attach p=NAME")
		} else {
			assert.Empty(t, got)
		}
	}
}
