package order

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

// TestWhichAccessesConflict: those with a common byte, of which one writes.
func TestWhichAccessesConflict(t *testing.T) {
	for _, tt := range []struct {
		a, b     Touch
		overlaps bool
	}{
		{Touch{Addr: 8, Size: 4}, Touch{Addr: 8, Size: 4}, true},
		{Touch{Addr: 8, Size: 4}, Touch{Addr: 11, Size: 4}, true},
		{Touch{Addr: 8, Size: 4}, Touch{Addr: 12, Size: 4}, false},
		{Touch{Addr: 8, Size: 8}, Touch{Addr: 10, Size: 1}, true},
		{Touch{Addr: 8, Size: 1}, Touch{Addr: 9, Size: 1}, false},
	} {
		for _, write := range []struct{ a, b, either bool }{{false, false, false}, {true, false, true}, {false, true, true}, {true, true, true}} {
			a, b := tt.a, tt.b
			a.Write, b.Write = write.a, write.b
			assert.Equal(t, tt.overlaps, a.Overlaps(b), "%v %v", a, b)
			assert.Equal(t, tt.overlaps, b.Overlaps(a), "%v %v", b, a)
			assert.Equal(t, tt.overlaps && write.either, a.Conflicts(b), "%v %v", a, b)
			assert.Equal(t, tt.overlaps && write.either, conflict([]Touch{{Addr: 99, Size: 1, Write: true}, a}, []Touch{b}), "%v %v", a, b)
		}
	}
	assert.False(t, conflict(nil, []Touch{{Addr: 1, Size: 1, Write: true}}))
}
