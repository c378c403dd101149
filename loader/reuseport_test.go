package loader

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/internal/uapi"
)

// TestReuseportAttachTypes: Linux 5.14 added the attach types of sk_reuseport programs. Before it
// bpf_prog_load_check_attach looks at no attach type of them, so that programs with either one
// load. Of types that it does look at, those it does not know are refused.
func TestReuseportAttachTypes(t *testing.T) {
	for _, tt := range []struct {
		name   string
		kernel string
		typ    uapi.ProgType
		attach uapi.AttachType
		want   Status
	}{
		{"select before 5.14", linux510, uapi.ProgTypeSkReuseport, uapi.AttachSkReuseportSelect, StatusOK},
		{"migrate before 5.14", linux510, uapi.ProgTypeSkReuseport, uapi.AttachSkReuseportSelectOrMigrate, StatusOK},
		{"select", linux72, uapi.ProgTypeSkReuseport, uapi.AttachSkReuseportSelect, StatusOK},
		{"migrate", linux72, uapi.ProgTypeSkReuseport, uapi.AttachSkReuseportSelectOrMigrate, StatusOK},
		{"one that is looked at", linux510, uapi.ProgTypeCgroupSockAddr, uapi.AttachCgroupUnixConnect, StatusRefused},
	} {
		t.Run(tt.name, func(t *testing.T) {
			o, err := Open(filepath.Join("..", "examples", "reuseport", "reuseport.bpf.o"))
			require.NoError(t, err)
			o.Programs[0].Type, o.Programs[0].Attach = tt.typ, tt.attach
			p := program(t, load(t, o, kernel(t, tt.kernel), LoadOptions{}), "choose")
			assert.Equal(t, tt.want, p.Status, "%v", p.Err)
			if tt.want == StatusRefused {
				assert.ErrorIs(t, p.Err, ErrUnknownToTarget)
			}
		})
	}
}
