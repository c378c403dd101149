//go:build linux && (amd64 || arm64)

package exec

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/btf"
	"github.com/bpfrun/bpfrun/internal/bpfsys"
	"github.com/bpfrun/bpfrun/loader"
)

func TestKernelsOfTheHostsByteOrderAndWordSize(t *testing.T) {
	for _, c := range []struct{ file, what string }{
		{"eb/linux-6.12.107-s390x.min.btf", "big-endian"},
		{"min/linux-6.1.176-armhf-armmp.min.btf", "32-bit"},
		{"min/linux-7.2.13-arm64.min.btf", ""},
		{"min/linux-6.12.107-riscv64.min.btf", ""},
		{"min/linux-6.12.107-amd64.min.btf", ""},
	} {
		spec, err := btf.Load(filepath.Join("../../testdata/btf", c.file), nil)
		require.NoError(t, err, c.file)
		target := loader.NewTarget(c.file, spec)
		err = checkTarget(&bpfsys.Config{Target: target})
		if c.what == "" {
			assert.NoError(t, err, c.file)
			continue
		}
		var refused *TargetError
		require.ErrorAs(t, err, &refused, c.file)
		assert.Equal(t, &TargetError{c.file, c.what}, refused)
		_, err = Run(Config{Args: []string{"/bin/true"}, System: bpfsys.Config{Target: target}})
		assert.Equal(t, refused, err, "before the tool starts")
	}
}
