package finding

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestIgnoredFindings(t *testing.T) {
	f := []Finding{{Kind: Packet, Program: "a", Text: "x"}, {Kind: Packet, Program: "b", Text: "y"}}
	for text, want := range map[string][]Finding{"packet": nil, "packet:a": f[1:], "packet:c": f} {
		i, err := ParseIgnore(text)
		require.NoError(t, err)
		assert.Equal(t, want, Without(f, []Ignore{i}), text)
	}
	assert.Equal(t, f, Without(f, nil))
	for _, text := range []string{"leek", "leak:", "", ":a"} {
		_, err := ParseIgnore(text)
		assert.ErrorContains(t, err, "kinds are leak, overread", text)
	}
	for _, name := range Names() {
		_, err := ParseIgnore(name + ":prog")
		assert.NoError(t, err, name)
	}
}

func TestFindingsAsText(t *testing.T) {
	assert.Equal(t, "packet: x (f.c:1:2)", Finding{Kind: Packet, Source: "f.c:1:2", Text: "x"}.String())
	assert.Equal(t, "packet: x", Finding{Kind: Packet, Text: "x"}.String())
}
