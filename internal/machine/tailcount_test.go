package machine

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/bpfrun/bpfrun/internal/uapi"
	"github.com/bpfrun/bpfrun/internal/uapi/since"
)

// TestTailCallsCountForTheWholeRunSince: the release from which a function's tail calls count for
// its callers too.
func TestTailCallsCountForTheWholeRunSince(t *testing.T) {
	for arch, from := range map[string]uapi.Release{"x86": uapi.R(6, 11), "arm64": uapi.R(6, 11), "s390": uapi.R(6, 17)} {
		assert.True(t, countsDown(arch, since.Version{Release: from - 1}), arch)
		assert.False(t, countsDown(arch, since.Version{Release: from}), arch)
	}
}
