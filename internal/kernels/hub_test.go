package kernels

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
)

// TestPathsInHub: a distribution, its release, an architecture and a file, below any directory.
func TestPathsInHub(t *testing.T) {
	for path, want := range map[string]string{
		"/btf/ubuntu/20.04/x86_64/5.4.0-9-aws.btf.tar.xz": "ubuntu/20.04/x86_64/5.4.0-9-aws.btf.tar.xz",
		"/ubuntu/20.04/arm64/5.4.0.btf":                   "ubuntu/20.04/arm64/5.4.0.btf",
		"/a/../fedora/31/x86_64/5.4.btf":                  "fedora/31/x86_64/5.4.btf",
		"/gentoo/20.04/x86_64/5.4.0.btf":                  "", // no distribution of the archive
		"/ubuntu/20.04/kernels/5.4.0.btf":                 "", // no architecture
		"/ubuntu/x86_64/5.4.0.btf":                        "",
		"/ubuntu/20.04/x86_64/more/5.4.0.btf":             "",
		"/ubuntu/5.4.0.btf":                               "",
		"/5.4.0.btf":                                      "",
	} {
		assert.Equal(t, filepath.FromSlash(want), inHub(filepath.FromSlash(path)), path)
	}
}
