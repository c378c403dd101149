package bpfsys

import (
	"github.com/bpfrun/bpfrun/internal/maps"
	"github.com/bpfrun/bpfrun/internal/uapi"
	"github.com/bpfrun/bpfrun/internal/uapi/since"
)

// From Linux 7.0 on commands on elements of per-CPU maps may be about the value of one CPU, whose
// number is in the upper half of the flags, or give all CPUs the same value.

const oneValue = uint64(uapi.CPU | uapi.AllCPUs)

// flagsOf checks the flags of a command on an element (bpf_map_check_op_flags).
func (s *System) flagsOf(m *Map, flags, allowed uint64) uapi.Errno {
	if !s.has(since.CPUFlags) {
		allowed &^= oneValue
	}
	cpu := uint32(0)
	if flags&allowed&uint64(uapi.CPU) != 0 {
		cpu = uint32(flags >> 32)
		allowed |= (1<<32 - 1) << 32
	}
	switch {
	case flags&^allowed != 0, flags&uint64(uapi.Lock) != 0 && !maps.HasLock(m.m):
		return uapi.EINVAL
	case flags&allowed&oneValue == 0:
		return 0
	case !m.def.Type.PerCPU(), flags&oneValue == oneValue:
		return uapi.EINVAL
	case flags&uint64(uapi.CPU) != 0 && int(cpu) >= m.cpus():
		return uapi.ERANGE
	}
	return 0
}

// updateFlags checks the flags of an update, most of which the map's type checks.
func (s *System) updateFlags(m *Map, flags uint64) uapi.Errno {
	if s.has(since.CPUFlags) {
		return s.flagsOf(m, flags, 1<<32-1)
	}
	if flags&uint64(uapi.Lock) != 0 && !maps.HasLock(m.m) {
		return uapi.EINVAL
	}
	return 0
}

// ofOneValue reports whether a command with these flags has one value, not one for each CPU.
func (s *System) ofOneValue(m *Map, flags uint64) bool {
	return flags&oneValue != 0 && m.def.Type.PerCPU() && s.has(since.CPUFlags)
}

// cpus returns how many values an element has.
func (m *Map) cpus() int { return maps.UserValueSize(m.m) / m.stride() }

// ofCPU returns the part of an element's values that a command asks for.
func (m *Map) ofCPU(values []byte, flags uint64) []byte {
	if flags&uint64(uapi.CPU) == 0 {
		return values
	}
	return values[int(flags>>32)*m.stride():][:m.def.ValueSize]
}

// forAllCPUs returns the values of an element to which a command gives one value: for one CPU, the
// others keep theirs or are zero.
func (s *System) forAllCPUs(m *Map, key, value []byte, flags uint64) ([]byte, uapi.Errno) {
	if m.def.Type != uapi.MapTypePercpuCgroupStorage && uint32(flags) > uint32(uapi.AllCPUs) {
		return nil, uapi.EINVAL
	}
	all, e := s.valueOf(m)
	if e != 0 {
		return nil, e
	}
	if flags&uint64(uapi.CPU) != 0 {
		if old, e := s.lookup(m, key, nil, 0); e == 0 {
			copy(all, old)
		}
		copy(all[int(flags>>32)*m.stride():], value)
		return all, 0
	}
	for at := 0; at < len(all); at += m.stride() {
		copy(all[at:], value)
	}
	return all, 0
}
