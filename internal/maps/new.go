package maps

import (
	"github.com/bpfrun/bpfrun/internal/uapi"

	"github.com/bpfrun/bpfrun/internal/endian"
)

// constructors lists the map types that are simulated.
var constructors = map[uapi.MapType]func(base) (Map, error){
	uapi.MapTypeHash:                newHash,
	uapi.MapTypePercpuHash:          newHash,
	uapi.MapTypeLRUHash:             newHash,
	uapi.MapTypeLRUPercpuHash:       newHash,
	uapi.MapTypeArray:               newArray,
	uapi.MapTypePercpuArray:         newArray,
	uapi.MapTypeProgArray:           newRefArray,
	uapi.MapTypeCgroupArray:         newRefArray,
	uapi.MapTypeXskmap:              newRefArray,
	uapi.MapTypeSockmap:             newSockMap,
	uapi.MapTypeSockhash:            newSockMap,
	uapi.MapTypeReuseportSockarray:  newRefArray,
	uapi.MapTypePerfEventArray:      newPerf,
	uapi.MapTypeStackTrace:          newStackTrace,
	uapi.MapTypeArrayOfMaps:         newArrayOfMaps,
	uapi.MapTypeHashOfMaps:          newHashOfMaps,
	uapi.MapTypeRingbuf:             newRingbuf,
	uapi.MapTypeUserRingbuf:         newUserRing,
	uapi.MapTypeQueue:               newQueue,
	uapi.MapTypeStack:               newQueue,
	uapi.MapTypeBloomFilter:         newBloom,
	uapi.MapTypeLPMTrie:             newTrie,
	uapi.MapTypeDevmap:              newDevmap,
	uapi.MapTypeDevmapHash:          newDevmap,
	uapi.MapTypeCpumap:              newDevmap,
	uapi.MapTypeSkStorage:           newStorage,
	uapi.MapTypeTaskStorage:         newStorage,
	uapi.MapTypeInodeStorage:        newStorage,
	uapi.MapTypeCgrpStorage:         newStorage,
	uapi.MapTypeCgroupStorage:       newCgroupStorage,
	uapi.MapTypePercpuCgroupStorage: newCgroupStorage,
	uapi.MapTypeArena:               newArena,
	uapi.MapTypeStructOps:           newStructOps,
	uapi.MapTypeInsnArray:           newInsnArray,
	uapi.MapTypeRhash:               newRhash,
}

// Simulated reports whether New supports the type.
func Simulated(t uapi.MapType) bool {
	_, ok := constructors[t]
	return ok
}

// New creates a map as BPF_MAP_CREATE does. The error is a *NotSimulated, a *CreateError with the
// kernel's errno, a *LimitError, or a failure of the simulated memory.
func New(env *Env, s Spec) (Map, error) {
	create, ok := constructors[s.Type]
	if !ok {
		return nil, &NotSimulated{Map: s.Name, Type: s.Type}
	}
	env.big = endian.IsBig(env.Mem.ByteOrder())
	if env.CPUs < 1 {
		env.CPUs = 1
	}
	b := base{env: env, spec: s, id: env.last + 1}
	if s.Extra != 0 && !s.Type.Has(uapi.MapTakesExtra) {
		return nil, b.refuse(uapi.EINVAL, "map_extra must be 0 for this type")
	}
	if s.Flags&uapi.MapRdonly != 0 && s.Flags&uapi.MapWronly != 0 { // bpf_get_file_flag
		return nil, b.refuse(uapi.EINVAL, "BPF_F_RDONLY and BPF_F_WRONLY exclude each other")
	}
	view, err := b.newHandle()
	if err != nil {
		return nil, err
	}
	m, err := create(b)
	if err != nil {
		env.Mem.Free(b.handle)
		return nil, err
	}
	view.m = m
	if env.byAddr == nil {
		env.byAddr = make(map[uint64]Map)
	}
	env.last++
	env.add(m)
	env.byAddr[m.Addr()] = m
	return m, nil
}
