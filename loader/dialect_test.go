package loader

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/internal/uapi"
)

// TestDialects opens an object of maps and sections as cilium/ebpf takes them by the rules of every
// loader.
func TestDialects(t *testing.T) {
	const unknown = uapi.ProgTypeUnspec
	type sizes struct{ key, value uint32 }
	for _, c := range []struct {
		dialect         Dialect
		ingress, glued  uapi.ProgType
		events, typed   sizes
		ring, jumps     sizes
		warned, refused int
	}{
		{DialectAuto, uapi.ProgTypeSchedCls, unknown, sizes{4, 4}, sizes{4, 4}, sizes{}, sizes{4, 4}, 4, 0},
		{DialectLibbpf, unknown, unknown, sizes{}, sizes{0, 12}, sizes{0, 12}, sizes{}, 0, 4},
		{DialectAya, unknown, unknown, sizes{}, sizes{0, 12}, sizes{0, 12}, sizes{}, 0, 4},
		{DialectCilium, uapi.ProgTypeSchedCls, uapi.ProgTypeSchedCls, sizes{4, 4}, sizes{4, 4}, sizes{}, sizes{}, 0, 1},
	} {
		t.Run(c.dialect.String(), func(t *testing.T) {
			o, err := Open("../testdata/objects/clang-14/cilium.o", WithDialect(c.dialect))
			require.NoError(t, err)
			for name, want := range map[string]uapi.ProgType{"ingress": c.ingress, "glued": c.glued} {
				p, ok := o.Program(name)
				require.True(t, ok)
				assert.Equal(t, want, p.Type, name)
			}
			l, err := o.Load(kernel(t, linux72), LoadOptions{})
			require.NoError(t, err)
			refused := 0
			for name, want := range map[string]sizes{"events": c.events, "typed_events": c.typed, "ring": c.ring, "jumps": c.jumps} {
				m, ok := l.Map(name)
				require.True(t, ok)
				assert.Equal(t, want, sizes{m.KeySize, m.ValueSize}, name)
				if m.LacksFixedSize() {
					refused++
				}
			}
			assert.Equal(t, c.refused, refused)
			assert.Len(t, l.Warnings, c.warned)
			for _, w := range l.Warnings {
				assert.Contains(t, w, "--loader libbpf")
			}
			assert.Equal(t, c.dialect == DialectAuto, strings.Contains(strings.Join(o.Warnings, "\n"), `"tc_ingress" is treated as "tc"`))
			orig, _ := o.Map("events")
			assert.Zero(t, orig.KeySize, "the object is not changed")
		})
	}
	o := object(t, "clang-14/cilium.o")
	l := load(t, o, kernel(t, linux72), LoadOptions{AsDefined: true})
	m, _ := l.Map("ring")
	assert.Equal(t, uint32(12), m.ValueSize, "as it is defined")
	for _, name := range DialectNames() {
		d, ok := ParseDialect(name)
		assert.True(t, ok)
		assert.Equal(t, name, d.String())
	}
	_, ok := ParseDialect("gobpf")
	assert.False(t, ok)
}
