package corpus

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/internal/uapi"
)

func TestReadSettings(t *testing.T) {
	s, err := ReadSettings(strings.NewReader("# what it is\n\na type cls=sched_cls # from a script\na map-size m=0x10\nb refused *\nc refused p\nd not-loaded *\n"))
	require.NoError(t, err)
	assert.Equal(t, uapi.ProgTypeSchedCls, s["a"].Types["cls"])
	assert.EqualValues(t, 16, s["a"].MapSizes["m"])
	assert.Len(t, s["a"].Open(), 1)
	for _, c := range []struct {
		object, program string
		want            bool
	}{{"a", "p", false}, {"b", "p", true}, {"c", "p", true}, {"c", "q", false}, {"none", "p", false}} {
		assert.Equal(t, c.want, s[c.object].mustRefuse(c.program), "%s %s", c.object, c.program)
	}
	assert.True(t, s["d"].NotLoaded)
	assert.Empty(t, s["none"].Open())
	for name, text := range map[string]string{
		"words": "a type", "kind": "a sets b=1", "type": "a type b=nothing", "size": "a map-size m=-1", "too large": "a map-size m=4294967296",
	} {
		_, err := ReadSettings(strings.NewReader("\n" + text + "\n"))
		assert.ErrorContains(t, err, "line 2: ", name)
	}
}
