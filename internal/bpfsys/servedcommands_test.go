package bpfsys_test

import (
	"github.com/bpfrun/bpfrun/btf"
	"github.com/bpfrun/bpfrun/internal/bpfsys"
	"github.com/bpfrun/bpfrun/internal/uapi"
)

func commandSubjects() []subject {
	prog := func(k *caller) int { return k.must(k.load(uapi.ProgTypeSocketFilter, exitZero)) }
	path := func(k *caller) uint64 { return k.text("/sys/fs/bpf/x") }
	one := func(k *caller) uint64 { return k.put([]byte{1, 0, 0, 0, 0, 0, 0, 0}) }
	filled := func(k *caller) int {
		fd := k.hash()
		_, r := k.try(uapi.CmdMapUpdateElem, field{0, fd}, field{8, one(k)}, field{16, one(k)}, field{24, uint64(0)})
		k.must(0, r.errno)
		return fd
	}
	call := func(cmd uapi.Cmd, fields func(k *caller) []field) func(k *caller) result {
		return func(k *caller) result {
			f := fields(k)
			_, r := k.try(cmd, f...)
			return r
		}
	}
	types := func(k *caller) int {
		raw := smallTypes(k)
		fd, r := k.try(uapi.CmdBtfLoad, field{0, k.put(raw)}, field{16, len(raw)})
		return k.must(fd, r.errno)
	}
	tcx := func(k *caller) int {
		p := k.must(k.load(uapi.ProgTypeSchedCls, exitZero, field{68, int(uapi.AttachTcxIngress)}))
		fd, r := k.try(uapi.CmdLinkCreate, field{0, p}, field{4, 1}, field{8, int(uapi.AttachTcxIngress)}, field{12, 0})
		return k.must(fd, r.errno)
	}
	elem := func(cmd uapi.Cmd) func(k *caller) result {
		return call(cmd, func(k *caller) []field {
			return []field{{0, filled(k)}, {8, one(k)}, {16, k.room(64)}, {24, uint64(0)}}
		})
	}
	batch := func(cmd uapi.Cmd) func(k *caller) result {
		return call(cmd, func(k *caller) []field {
			keys := one(k)
			if cmd == uapi.CmdMapLookupBatch || cmd == uapi.CmdMapLookupAndDeleteBatch {
				fd := filled(k)
				for i := range 4 {
					key := k.put([]byte{byte(10 + i), 0, 0, 0})
					_, r := k.try(uapi.CmdMapUpdateElem, field{0, fd}, field{8, key}, field{16, one(k)}, field{24, uint64(0)})
					k.must(0, r.errno)
				}
				return []field{{0, uint64(0)}, {8, k.room(8)}, {16, k.room(64)}, {24, k.room(64)}, {32, 2}, {36, fd}, {48, uint64(0)}}
			}
			return []field{{16, keys}, {24, one(k)}, {32, 1}, {36, filled(k)}, {48, uint64(0)}}
		})
	}
	next := func(cmd uapi.Cmd, open func(k *caller) int) func(k *caller) result {
		return call(cmd, func(k *caller) []field { open(k); return []field{{0, 0}, {4, 0}} })
	}
	byID := func(cmd uapi.Cmd, kind bpfsys.Kind, open func(k *caller) int) func(k *caller) result {
		return call(cmd, func(k *caller) []field {
			open(k)
			list := k.s.Objects(kind)
			return []field{{0, int(list[len(list)-1].ID())}}
		})
	}
	known := map[uapi.Cmd]func(k *caller) result{
		uapi.CmdMapCreate:     call(uapi.CmdMapCreate, func(*caller) []field { return []field{{0, int(uapi.MapTypeHash)}, {4, 4}, {8, 8}, {12, 1}} }),
		uapi.CmdMapLookupElem: elem(uapi.CmdMapLookupElem), uapi.CmdMapUpdateElem: elem(uapi.CmdMapUpdateElem),
		uapi.CmdMapDeleteElem:          call(uapi.CmdMapDeleteElem, func(k *caller) []field { return []field{{0, filled(k)}, {8, one(k)}} }),
		uapi.CmdMapGetNextKey:          call(uapi.CmdMapGetNextKey, func(k *caller) []field { return []field{{0, filled(k)}, {8, uint64(0)}, {16, k.room(8)}} }),
		uapi.CmdMapLookupAndDeleteElem: elem(uapi.CmdMapLookupAndDeleteElem),
		uapi.CmdMapFreeze:              call(uapi.CmdMapFreeze, func(k *caller) []field { return []field{{0, filled(k)}} }),
		uapi.CmdMapLookupBatch:         batch(uapi.CmdMapLookupBatch), uapi.CmdMapLookupAndDeleteBatch: batch(uapi.CmdMapLookupAndDeleteBatch),
		uapi.CmdMapUpdateBatch: batch(uapi.CmdMapUpdateBatch), uapi.CmdMapDeleteBatch: batch(uapi.CmdMapDeleteBatch),
		uapi.CmdProgLoad: func(k *caller) result { _, r := k.program(uapi.ProgTypeSocketFilter, 0); return r },
		uapi.CmdObjPin:   call(uapi.CmdObjPin, func(k *caller) []field { return []field{{0, path(k)}, {8, k.hash()}} }),
		uapi.CmdObjGet: call(uapi.CmdObjGet, func(k *caller) []field {
			_, r := k.try(uapi.CmdObjPin, field{0, path(k)}, field{8, k.hash()})
			k.must(0, r.errno)
			return []field{{0, path(k)}}
		}),
		uapi.CmdProgAttach: call(uapi.CmdProgAttach, func(k *caller) []field {
			return []field{{0, cgroupFD}, {4, k.must(k.load(uapi.ProgTypeCgroupDevice, exitZero))}, {8, int(uapi.AttachCgroupDevice)}, {12, 0}}
		}),
		uapi.CmdProgDetach: call(uapi.CmdProgDetach, func(k *caller) []field {
			p := k.must(k.load(uapi.ProgTypeCgroupDevice, exitZero))
			_, r := k.try(uapi.CmdProgAttach, field{0, cgroupFD}, field{4, p}, field{8, int(uapi.AttachCgroupDevice)}, field{12, 0})
			k.must(0, r.errno)
			return []field{{0, cgroupFD}, {4, p}, {8, int(uapi.AttachCgroupDevice)}}
		}),
		uapi.CmdProgTestRun:    call(uapi.CmdProgTestRun, func(k *caller) []field { return []field{{0, prog(k)}, {8, 64}, {16, k.room(64)}, {68, 0}} }),
		uapi.CmdProgGetNextId:  next(uapi.CmdProgGetNextId, prog),
		uapi.CmdMapGetNextId:   next(uapi.CmdMapGetNextId, (*caller).hash),
		uapi.CmdBtfGetNextId:   next(uapi.CmdBtfGetNextId, types),
		uapi.CmdLinkGetNextId:  next(uapi.CmdLinkGetNextId, tcx),
		uapi.CmdProgGetFdById:  byID(uapi.CmdProgGetFdById, bpfsys.KindProg, prog),
		uapi.CmdMapGetFdById:   byID(uapi.CmdMapGetFdById, bpfsys.KindMap, (*caller).hash),
		uapi.CmdBtfGetFdById:   byID(uapi.CmdBtfGetFdById, bpfsys.KindBTF, types),
		uapi.CmdLinkGetFdById:  byID(uapi.CmdLinkGetFdById, bpfsys.KindLink, tcx),
		uapi.CmdObjGetInfoByFd: call(uapi.CmdObjGetInfoByFd, func(k *caller) []field { return []field{{0, k.hash()}, {4, 88}, {8, k.room(88)}} }),
		uapi.CmdProgQuery:      call(uapi.CmdProgQuery, func(k *caller) []field { return []field{{0, cgroupFD}, {4, int(uapi.AttachCgroupDevice)}, {24, 0}} }),
		uapi.CmdRawTracepointOpen: call(uapi.CmdRawTracepointOpen, func(k *caller) []field {
			return []field{{0, k.text("sched_switch")}, {8, k.must(k.load(uapi.ProgTypeRawTracepoint, exitZero))}}
		}),
		uapi.CmdBtfLoad: func(k *caller) result { types(k); return result{} },
		uapi.CmdTaskFdQuery: call(uapi.CmdTaskFdQuery, func(k *caller) []field {
			fd, r := k.try(uapi.CmdRawTracepointOpen, field{0, k.text("sched_switch")}, field{8, k.must(k.load(uapi.ProgTypeRawTracepoint, exitZero))})
			return []field{{0, 1}, {4, k.must(fd, r.errno)}, {40, uint64(0)}}
		}),
		uapi.CmdLinkCreate: func(k *caller) result { tcx(k); return result{} },
		uapi.CmdLinkUpdate: call(uapi.CmdLinkUpdate, func(k *caller) []field {
			return []field{{0, tcx(k)}, {4, k.must(k.load(uapi.ProgTypeSchedCls, exitZero, field{68, int(uapi.AttachTcxIngress)}))}}
		}),
		uapi.CmdLinkDetach:  call(uapi.CmdLinkDetach, func(k *caller) []field { return []field{{0, tcx(k)}} }),
		uapi.CmdEnableStats: call(uapi.CmdEnableStats, func(*caller) []field { return []field{{0, 0}} }),
		uapi.CmdIterCreate: call(uapi.CmdIterCreate, func(k *caller) []field {
			p, r := k.program(uapi.ProgTypeTracing, uapi.AttachTraceIter)
			k.must(p, r.errno)
			fd, r := k.try(uapi.CmdLinkCreate, field{0, int(p)}, field{8, int(uapi.AttachTraceIter)}, field{12, 0})
			return []field{{0, k.must(fd, r.errno)}, {4, 0}}
		}),
		uapi.CmdProgBindMap: call(uapi.CmdProgBindMap, func(k *caller) []field { return []field{{0, prog(k)}, {4, k.hash()}, {8, 0}} }),
		uapi.CmdTokenCreate: call(uapi.CmdTokenCreate, func(k *caller) []field {
			k.userNS, k.caps = 7, ^uint64(0)
			root, e := k.s.NewBPFFS(7, bpfsys.Delegation{Maps: 1 << uapi.MapTypeHash})
			k.must(0, e)
			k.files[bpffsFD] = bpfsys.File{Kind: bpfsys.BPFFSFile, Path: root}
			return []field{{0, 0}, {4, bpffsFD}}
		}),
		uapi.CmdProgStreamReadByFd: call(uapi.CmdProgStreamReadByFd, func(k *caller) []field { return []field{{0, k.room(16)}, {8, 16}, {12, 1}, {16, prog(k)}} }),
		uapi.CmdProgAssocStructOps: call(uapi.CmdProgAssocStructOps, func(k *caller) []field {
			ops, _ := k.opsMap()
			return []field{{0, ops}, {4, prog(k)}, {8, 0}}
		}),
	}
	var out []subject
	for _, c := range uapi.Cmds() {
		out = append(out, subject{name: c.String(), try: known[c]})
	}
	return out
}

// smallTypes returns BTF with one type.
func smallTypes(*caller) []byte {
	b := btf.NewBuilder(nil)
	b.Add(btf.Type{Kind: btf.KindInt, Name: "int", Size: 4, Int: btf.IntInfo{Encoding: btf.IntSigned, Bits: 32}})
	spec, err := b.Spec(le)
	if err != nil {
		panic(err)
	}
	return spec.Raw()
}
