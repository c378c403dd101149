package scenario

import (
	"context"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/btf/embedded"
	"github.com/bpfrun/bpfrun/internal/machine"
	"github.com/bpfrun/bpfrun/loader"
)

// TestSkeletonsOfReachedRuns: what was changed to get further is in the file by the keys that its
// places have, and the file's run gets as far.
func TestSkeletonsOfReachedRuns(t *testing.T) {
	obj, err := loader.Open("../../testdata/objects/clang-14/barriers.o")
	require.NoError(t, err)
	spec, err := embedded.Spec()
	require.NoError(t, err)
	linked, err := obj.Load(loader.NewTarget(embedded.Name, spec), loader.LoadOptions{})
	require.NoError(t, err)
	opt := Options{Config: machine.Config{Seed: 1}, Reach: true}
	for prog, key := range map[string]string{
		"protocol":   `packet: "0200`,
		"port":       `packet: "0200`,
		"length":     `packet: "0200`,
		"version":    `packet: "0200`,
		"mark":       "context: {fields: {mark: 7424}}",
		"configured": "0: {mode: 3, flags: 256, port: 0}",
		"known":      "7: {mode: 0, flags: 0, port: 13568}",
		"switched":   "globals:\n  enabled: 2\n",
		"counted":    "count: 4096",
		"family":     "__sk_common.skc_family: 10",
		"failed":     "ret: -2",
		"from_root":  "helpers: {bpf_get_current_uid_gid: 0}",
	} {
		var b strings.Builder
		require.NoError(t, Skeleton(context.Background(), &b, linked, "x.o", []string{prog}, opt))
		text := b.String()
		assert.Contains(t, text, "# reached by: ", prog)
		assert.Contains(t, text, key, prog)
		assert.Contains(t, text, "passed: [1,", prog)
		assert.NotContains(t, text, "not in this file", prog)
		assert.NotContains(t, text, "not with these fields alone", prog)
		wrong, err := tried(context.Background(), []byte(text), linked, opt)
		require.NoError(t, err)
		assert.Empty(t, wrong, prog)
	}
	// Runs of one file share maps and variables.
	var b strings.Builder
	require.NoError(t, Skeleton(context.Background(), &b, linked, "x.o", nil, opt))
	wrong, err := tried(context.Background(), []byte(b.String()), linked, opt)
	require.NoError(t, err)
	assert.Empty(t, wrong)
	assert.Equal(t, 1, strings.Count(b.String(), "\nmaps:\n"), b.String())
}
