package mem

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestPlainIsWhatReadAdmits: at every offset and length around objects, Plain gives the bytes Read
// gives, nil where Read faults or there is more to do, and is not nil for plain objects of whole
// granules.
func TestPlainIsWhatReadAdmits(t *testing.T) {
	m := newMem(t, Config{})
	var last *Region
	for _, r := range []Region{{Name: "a"}, {Name: "read-only", ReadOnly: true}, {Name: "view", View: &byteView{make([]byte, 128)}}, {Name: "watched"}} {
		for _, size := range []uint64{1, 7, 8, 12, 16, 64, 72} {
			o, err := m.Alloc(size, r)
			require.NoError(t, err)
			if r.Name == "watched" {
				m.AddWatch(o.Base, 1, true, false)
			}
			b := m.Bytes(o)
			for i := range b {
				b[i] = byte(i + 1)
			}
			for off := -17; off < int(size)+17; off++ {
				for n := range uint64(70) {
					addr := o.Base + uint64(off)
					got, p := m.Plain(addr, n), make([]byte, n)
					if f := m.Read(addr, p); f != nil || n == 0 {
						require.Nil(t, got, "%s of %d bytes, %d at %d", r.Name, size, n, off)
					} else if got != nil {
						require.Equal(t, p, got)
						require.NotEqual(t, "view", r.Name)
					}
					inside := off >= 0 && uint64(off)+n <= size&^7
					if r.Name == "a" && inside && n > 0 && n <= maxPlain {
						require.NotNil(t, got, "%d bytes, %d at %d", size, n, off)
					}
				}
			}
			last = o
		}
	}
	m.OnWatch = func(Hit) {}
	assert.Nil(t, m.Plain(last.Base, 1), "a watch wants to see it")
	assert.Nil(t, m.Plain(m.base+m.limit-1, 57))
	assert.Nil(t, m.Plain(m.base+m.limit, 1))
	assert.Nil(t, m.Plain(0, 8))
	assert.Nil(t, m.Plain(^uint64(0), 8))
	m.Close()
	assert.Nil(t, m.Plain(last.Base, 1))
}
