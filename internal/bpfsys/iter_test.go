package bpfsys_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/bpfrun/bpfrun/btf"
	"github.com/bpfrun/bpfrun/internal/uapi"
	"github.com/bpfrun/bpfrun/internal/uapi/bpfinfo"
)

// TestAnIteratorsLinkNamesItsMap: information about the link has the map whose elements are
// visited.
func TestAnIteratorsLinkNamesItsMap(t *testing.T) {
	k := newCaller(t, newestKernel(t))
	m := k.hash()
	target := k.typeID(btf.KindFunc, "bpf_iter_bpf_map_elem")
	p := k.must(k.load(uapi.ProgTypeTracing, exitZero, field{68, int(uapi.AttachTraceIter)}, field{108, target}, field{112, 0}))
	which := k.put([]byte{byte(m), 0, 0, 0})
	fd, r := k.try(uapi.CmdLinkCreate, field{0, p}, field{8, int(uapi.AttachTraceIter)}, field{16, which}, field{24, 4})
	info := k.info(t, k.must(fd, r.errno), 64)
	assert.EqualValues(t, uapi.LinkIter, le.Uint32(info[bpfinfo.LinkType:]))
	assert.Equal(t, k.files[int32(m)].Object.ID(), le.Uint32(info[bpfinfo.LinkIterMapMapId:]))
	assert.Zero(t, le.Uint32(info[bpfinfo.LinkIterTaskTid:]), "no task is selected")
}
