package uapi_test

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/internal/testing/testbtf"
	"github.com/bpfrun/bpfrun/internal/uapi"
)

// Flags are in anonymous enumerations.
func TestFlagsAreThoseOfBTF(t *testing.T) {
	spec, err := testbtf.Load(filepath.Join("..", "..", "testdata", "btf", "linux-7.2.13-amd64.btf.xz"))
	require.NoError(t, err)
	for name, ours := range map[string]uint64{
		"BPF_F_NO_PREALLOC": uapi.MapNoPrealloc, "BPF_F_NO_COMMON_LRU": uapi.MapNoCommonLRU, "BPF_F_NUMA_NODE": uapi.MapNumaNode, "BPF_F_RDONLY": uapi.MapRdonly,
		"BPF_F_WRONLY": uapi.MapWronly, "BPF_F_STACK_BUILD_ID": uapi.MapStackBuildID, "BPF_F_ZERO_SEED": uapi.MapZeroSeed, "BPF_F_RDONLY_PROG": uapi.MapRdonlyProg,
		"BPF_F_WRONLY_PROG": uapi.MapWronlyProg, "BPF_F_CLONE": uapi.MapClone, "BPF_F_MMAPABLE": uapi.MapMmapable, "BPF_F_PRESERVE_ELEMS": uapi.MapPreserveElems,
		"BPF_F_INNER_MAP": uapi.MapInnerMap, "BPF_F_LINK": uapi.MapLink, "BPF_F_PATH_FD": uapi.MapPathFD, "BPF_F_VTYPE_BTF_OBJ_FD": uapi.MapVtypeBTFObjFD,
		"BPF_F_TOKEN_FD": uapi.MapTokenFD, "BPF_F_SEGV_ON_FAULT": uapi.MapSegvOnFault, "BPF_F_NO_USER_CONV": uapi.MapNoUserConv, "BPF_F_RB_OVERWRITE": uapi.MapRbOverwrite,
		"BPF_ANY": uapi.Any, "BPF_NOEXIST": uapi.NoExist, "BPF_EXIST": uapi.Exist, "BPF_F_LOCK": uapi.Lock, "BPF_F_CPU": uapi.CPU, "BPF_F_ALL_CPUS": uapi.AllCPUs,
		"BPF_LOCAL_STORAGE_GET_F_CREATE": uapi.LocalStorageGetCreate, "BPF_RB_NO_WAKEUP": uapi.RbNoWakeup, "BPF_RB_FORCE_WAKEUP": uapi.RbForceWakeup,
		"BPF_RB_AVAIL_DATA": uapi.RbAvailData, "BPF_RB_RING_SIZE": uapi.RbRingSize, "BPF_RB_CONS_POS": uapi.RbConsPos, "BPF_RB_PROD_POS": uapi.RbProdPos,
		"BPF_RB_OVERWRITE_POS": uapi.RbOverwritePos, "BPF_RINGBUF_BUSY_BIT": uapi.RingbufBusyBit, "BPF_RINGBUF_DISCARD_BIT": uapi.RingbufDiscardBit, "BPF_RINGBUF_HDR_SZ": uapi.RingbufHdrSize,
		"BPF_F_INDEX_MASK": uapi.PerfIndexMask,
	} {
		v, ok := spec.EnumValue("", name)
		assert.True(t, ok, name)
		assert.Equal(t, v, ours, name)
	}
}
