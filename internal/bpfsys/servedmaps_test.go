package bpfsys_test

import (
	"github.com/bpfrun/bpfrun/btf"
	"github.com/bpfrun/bpfrun/decode"
	"github.com/bpfrun/bpfrun/internal/bpfsys"
	"github.com/bpfrun/bpfrun/internal/uapi"
)

// shape are the sizes that a kernel accepts for maps of a type.
type shape struct{ key, value, entries, flags int }

func shapeOf(typ uapi.MapType) shape {
	switch typ {
	case uapi.MapTypeRingbuf, uapi.MapTypeUserRingbuf:
		return shape{0, 0, 4096, 0}
	case uapi.MapTypeArena:
		return shape{0, 0, 4, uapi.MapMmapable}
	case uapi.MapTypeQueue, uapi.MapTypeStack, uapi.MapTypeBloomFilter:
		return shape{0, 8, 4, 0}
	case uapi.MapTypeLPMTrie:
		return shape{8, 8, 4, uapi.MapNoPrealloc}
	case uapi.MapTypeSkStorage, uapi.MapTypeInodeStorage, uapi.MapTypeTaskStorage, uapi.MapTypeCgrpStorage:
		return shape{4, 8, 0, uapi.MapNoPrealloc}
	case uapi.MapTypeCgroupStorage, uapi.MapTypePercpuCgroupStorage:
		return shape{16, 8, 0, 0}
	case uapi.MapTypeStackTrace:
		return shape{4, 80, 4, 0}
	case uapi.MapTypeProgArray, uapi.MapTypePerfEventArray, uapi.MapTypeCgroupArray, uapi.MapTypeArrayOfMaps, uapi.MapTypeHashOfMaps, uapi.MapTypeXskmap, uapi.MapTypeDevmap, uapi.MapTypeDevmapHash, uapi.MapTypeCpumap, uapi.MapTypeSockmap, uapi.MapTypeSockhash:
		return shape{4, 4, 4, 0}
	case uapi.MapTypeRhash:
		return shape{4, 8, 4, uapi.MapNoPrealloc}
	case uapi.MapTypeInsnArray:
		return shape{4, 16, 4, 0}
	}
	return shape{4, 8, 4, 0}
}

// create makes a map of a type.
func (k *caller) create(typ uapi.MapType) (int64, result) {
	s := shapeOf(typ)
	var more []field
	switch typ {
	case uapi.MapTypeArrayOfMaps, uapi.MapTypeHashOfMaps:
		more = []field{{20, k.hash()}}
	case uapi.MapTypeSkStorage, uapi.MapTypeInodeStorage, uapi.MapTypeTaskStorage, uapi.MapTypeCgrpStorage:
		b := btf.NewBuilder(nil)
		number := b.Add(btf.Type{Kind: btf.KindInt, Name: "int", Size: 4, Int: btf.IntInfo{Encoding: btf.IntSigned, Bits: 32}})
		value := b.Add(btf.Type{Kind: btf.KindInt, Name: "long", Size: 8, Int: btf.IntInfo{Encoding: btf.IntSigned, Bits: 64}})
		spec, err := b.Spec(le)
		if err != nil {
			panic(err)
		}
		fd, r := k.try(uapi.CmdBtfLoad, field{0, k.put(spec.Raw())}, field{16, len(spec.Raw())})
		more = []field{{48, k.must(fd, r.errno)}, {52, int(number)}, {56, int(value)}}
	case uapi.MapTypeStructOps:
		id := k.typeID(btf.KindStruct, "bpf_struct_ops_tcp_congestion_ops")
		s.value, s.entries = int(k.kernel.MustType(btf.ID(id)).Size), 1
		more = []field{{60, id}}
	}
	before := len(k.notes)
	fd, e := k.createMap(typ, s.key, s.value, s.entries, s.flags, more...)
	return fd, result{e, k.notes[before:]}
}

func mapSubjects() []subject {
	var out []subject
	for _, typ := range uapi.MapTypes() {
		out = append(out, subject{name: typ.String(), try: func(k *caller) result { _, r := k.create(typ); return r }})
	}
	return out
}

// elementSubjects are the map types whose elements user space may write, one way or another.
func elementSubjects() []subject {
	var out []subject
	for _, typ := range uapi.MapTypes() {
		value := func(k *caller) uint64 {
			fd := func(n int) uint64 { return k.put(le.AppendUint64(nil, uint64(n))) }
			switch typ {
			case uapi.MapTypeProgArray:
				return fd(k.must(k.load(uapi.ProgTypeSocketFilter, exitZero)))
			case uapi.MapTypePerfEventArray:
				ev, r := k.event(uapi.PerfTypeSoftware, uint64(uapi.PerfSoftwareBpfOutput))
				return fd(k.must(ev, r.errno))
			case uapi.MapTypeArrayOfMaps, uapi.MapTypeHashOfMaps:
				return fd(k.hash())
			case uapi.MapTypeCgroupArray:
				return fd(cgroupFD)
			case uapi.MapTypeSockmap, uapi.MapTypeSockhash, uapi.MapTypeXskmap, uapi.MapTypeReuseportSockarray:
				return fd(socketFD)
			case uapi.MapTypeDevmap, uapi.MapTypeDevmapHash:
				return fd(1)
			case uapi.MapTypeStructOps:
				return k.room(4096)
			}
			return k.room(256)
		}
		key := func(k *caller) uint64 {
			n := map[uapi.MapType]int{uapi.MapTypeSkStorage: socketFD, uapi.MapTypeInodeStorage: socketFD, uapi.MapTypeTaskStorage: pidFD, uapi.MapTypeCgrpStorage: cgroupFD, uapi.MapTypeCgroupStorage: cgroupFD, uapi.MapTypePercpuCgroupStorage: cgroupFD}[typ]
			b := make([]byte, 16)
			le.PutUint32(b, uint32(n))
			return k.put(b)
		}
		switch typ {
		case uapi.MapTypeRingbuf, uapi.MapTypeUserRingbuf, uapi.MapTypeArena: // read and written through their mappings
			out = append(out, subject{name: typ.String(), try: func(k *caller) result {
				fd, r := k.create(typ)
				k.must(fd, r.errno)
				before := len(k.notes)
				if typ == uapi.MapTypeArena {
					return result{k.s.MapArena(k.files[int32(fd)].Object.(*bpfsys.Map), 0, 0, 4*uapi.PageSize, false), k.notes[before:]}
				}
				off := uint64(0)
				if typ == uapi.MapTypeUserRingbuf { // the first page is the kernel's to write
					off = uapi.PageSize
				}
				e := k.s.MapRange(k.files[int32(fd)].Object, bpfsys.ReadWrite, off, uapi.PageSize, true, true)
				return result{e, k.notes[before:]}
			}})
			continue
		case uapi.MapTypeStackTrace: // only programs store; user space reads and deletes
			out = append(out, subject{name: typ.String(), try: func(k *caller) result {
				fd, r := k.create(typ)
				k.must(fd, r.errno)
				_, r = k.try(uapi.CmdMapGetNextKey, field{0, int(fd)}, field{8, uint64(0)}, field{16, k.room(8)})
				if r.errno == uapi.ENOENT {
					r.errno = 0
				}
				return r
			}})
			continue
		}
		out = append(out, subject{name: typ.String(), try: func(k *caller) result {
			fd, r := k.create(typ)
			if r.errno != 0 {
				return r
			}
			at := key(k)
			if typ == uapi.MapTypeCgroupStorage || typ == uapi.MapTypePercpuCgroupStorage { // an element exists once a program that uses the map is attached
				at = k.put(k.cgroupStorageKey(int(fd)))
			}
			if shapeOf(typ).key == 0 {
				at = 0
			}
			_, r = k.try(uapi.CmdMapUpdateElem, field{0, int(fd)}, field{8, at}, field{16, value(k)}, field{24, uint64(0)})
			return r
		}})
	}
	return out
}

// cgroupStorageKey attaches a program that uses a map to the cgroup and returns the key of its
// storage.
func (k *caller) cgroupStorageKey(m int) []byte {
	p := k.must(k.load(uapi.ProgTypeCgroupSkb, []decode.Insn{{Code: 0x18, Dst: 1, Src: 1, Imm: int32(m)}, {}, {Code: 0xb7, Imm: 1}, {Code: 0x95}}))
	_, r := k.try(uapi.CmdProgAttach, field{0, cgroupFD}, field{4, p}, field{8, int(uapi.AttachCgroupInetEgress)}, field{12, 0})
	k.must(0, r.errno)
	key := make([]byte, 16)
	le.PutUint64(key, cgroupFD)
	le.PutUint32(key[8:], uint32(uapi.AttachCgroupInetEgress))
	return key
}
