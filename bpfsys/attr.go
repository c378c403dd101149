package bpfsys

import (
	"encoding/binary"

	"github.com/bpfrun/bpfrun/btf"
	"github.com/bpfrun/bpfrun/uapi"
)

var le = binary.LittleEndian

// attr is a copy of the union bpf_attr of one call. Bytes that the caller did not pass are zero.
type attr struct {
	b    [maxAttr]byte
	addr uint64
	size int // number of bytes that the caller passed
	c    Caller
}

// maxAttr is larger than the union in every release.
const maxAttr = 256

func (a *attr) u32(off int) uint32 { return le.Uint32(a.b[off:]) }
func (a *attr) u64(off int) uint64 { return le.Uint64(a.b[off:]) }
func (a *attr) fd(off int) int32   { return int32(a.u32(off)) }

// put32 and put64 write to a field of the caller's union.
func (a *attr) put32(off int, v uint32) bool {
	return a.c.Write(a.addr+uint64(off), le.AppendUint32(nil, v))
}

func (a *attr) put64(off int, v uint64) bool {
	return a.c.Write(a.addr+uint64(off), le.AppendUint64(nil, v))
}

// command is a bpf(2) command. Bytes after the last field that the release knows must be zero (CHECK_ATTR).
type command struct {
	since uapi.Release
	ends  []end // ascending
	do    func(*System, Caller, *attr) Result
}

type end struct {
	since uapi.Release
	at    int
}

func (c *command) end(r uapi.Release) int {
	at := c.ends[0].at
	for _, e := range c.ends {
		if r.Has(e.since) {
			at = e.at
		}
	}
	return at
}

func upTo(at int) []end { return []end{{0, at}} }

// attrSize returns sizeof(union bpf_attr) according to the kernel's BTF.
func attrSize(spec *btf.Spec, r uapi.Release) int {
	if spec != nil {
		if t, ok := spec.Find(btf.KindUnion, "bpf_attr"); ok && t.Size >= 112 && t.Size <= maxAttr {
			return int(t.Size)
		}
	}
	return (&command{ends: attrSizes}).end(r)
}

var attrSizes = []end{{0, 120}, {uapi.R(5, 14), 128}, {uapi.R(5, 18), 144}, {uapi.R(6, 9), 152}, {uapi.R(6, 18), 168}}

// readAttr copies the union from the caller (bpf_check_uarg_tail_zero and copy_from_bpfptr).
func (s *System) readAttr(c Caller, addr uint64, size uint32) (*attr, uapi.Errno) {
	if size > uapi.PageSize {
		return nil, uapi.E2BIG
	}
	raw := make([]byte, size)
	if !c.Read(addr, raw) {
		return nil, uapi.EFAULT
	}
	if !zeroFrom(raw, s.attrSize) {
		return nil, uapi.E2BIG
	}
	a := &attr{addr: addr, size: int(size), c: c}
	copy(a.b[:s.attrSize], raw)
	return a, 0
}

func zeroFrom(b []byte, at int) bool {
	for i := at; i < len(b); i++ {
		if b[i] != 0 {
			return false
		}
	}
	return true
}
