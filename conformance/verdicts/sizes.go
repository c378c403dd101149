package verdicts

import (
	"github.com/bpfrun/bpfrun/internal/uapi"
	"github.com/bpfrun/bpfrun/loader"
)

// NeedsSize reports whether the kernel refuses a map of the type if its max_entries is 0.
func NeedsSize(t uapi.MapType) bool {
	switch t {
	case uapi.MapTypeSkStorage, uapi.MapTypeInodeStorage, uapi.MapTypeTaskStorage, uapi.MapTypeCgrpStorage, uapi.MapTypeCgroupStorage,
		uapi.MapTypePercpuCgroupStorage, uapi.MapTypeStructOps:
		return false
	}
	return true
}

// Unsized returns minimum values of max_entries, for loader.LoadOptions, for the maps that tools
// size before they load an object.
func Unsized(obj *loader.Object) map[string]uint32 {
	out := map[string]uint32{}
	for _, m := range obj.Maps {
		switch {
		case m.MaxEntries != 0 || !NeedsSize(m.Type):
		case m.Type == uapi.MapTypeRingbuf || m.Type == uapi.MapTypeUserRingbuf:
			out[m.Name] = 4096 // a page of x86
		default:
			out[m.Name] = 1
		}
	}
	return out
}
