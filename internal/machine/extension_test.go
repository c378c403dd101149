package machine

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/btf/embedded"
	"github.com/bpfrun/bpfrun/loader"
)

// TestExtensionsHaveContexts: an extension whose target is not loaded runs on the default context
// that its first parameter names.
func TestExtensionsHaveContexts(t *testing.T) {
	obj, err := loader.Open("../../testdata/objects/clang-14/extcontexts.o")
	require.NoError(t, err)
	spec, err := embedded.Spec()
	require.NoError(t, err)
	linked, err := obj.Load(loader.NewTarget(embedded.Name, spec), loader.LoadOptions{})
	require.NoError(t, err)
	m, err := New(linked, Config{})
	require.NoError(t, err)
	defer m.Close()
	for _, name := range m.Names() {
		res, err := m.Run(t.Context(), name, Input{})
		require.NoError(t, err, name)
		if strings.HasSuffix(name, "_nothing") {
			assert.Equal(t, StatusAbsent, res.Status)
			continue
		}
		assert.Equal(t, StatusUnknownHook, res.Status, "%s: %v", name, m.ProgramError(name))
		assert.True(t, res.Ran, name)
		assert.Zero(t, res.Ret, "%s: its context is not null", name)
	}
}
