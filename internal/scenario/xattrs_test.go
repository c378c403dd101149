package scenario

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/internal/kernel/model"
)

// TestXattrs: attributes of a scenario reach the machine's kernel.
func TestXattrs(t *testing.T) {
	f, err := Parse("s.yaml", []byte("kernel: {xattrs: {/bin/true: {user.a: hello, user.n: 5}}}\nruns: [{prog: on_exec}]\n"))
	require.NoError(t, err)
	cfg := f.config(Options{})
	assert.Equal(t, map[model.XattrKey]string{{Path: "/bin/true", Name: "user.a"}: "hello", {Path: "/bin/true", Name: "user.n"}: "5"}, cfg.Xattrs)
}
