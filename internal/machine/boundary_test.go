package machine

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

// TestWhatIsAChange: a new slot of a per-CPU value that is zero is none, a new element of a hash
// always is one, and so are elements that are gone.
func TestWhatIsAChange(t *testing.T) {
	zero, one := make([]byte, 4), []byte{1, 0, 0, 0}
	for name, c := range map[string]struct {
		before, after []byte // nil: not there
		cpu           int
		want          bool
	}{
		"the same": {one, one, -1, false}, "another value": {one, zero, -1, true}, "new": {nil, one, -1, true}, "new and zero": {nil, zero, -1, true},
		"gone": {one, nil, -1, true}, "zero and gone": {zero, nil, -1, true},
		"a CPU's new value": {nil, one, 0, true}, "a CPU's new zero": {nil, zero, 0, false}, "a CPU's zero is gone": {zero, nil, 1, false}, "a CPU's value is gone": {one, nil, 1, true},
	} {
		state := func(v []byte) []element {
			if v == nil {
				return nil
			}
			return []element{{[]byte("k"), v, c.cpu}}
		}
		got := diffElements("m", state(c.before), state(c.after))
		if assert.Equal(t, c.want, len(got) == 1, name) && c.want {
			assert.Equal(t, Change{Map: "m", Key: []byte("k"), CPU: c.cpu, Old: c.before, New: c.after}, got[0], name)
		}
	}
}
