// Package cpuset has sets of CPUs: how they are combined, and how a kernel keeps them in memory
// (DECLARE_BITMAP). Start from [Of] and [Below]. It does not know which CPUs a machine has.
package cpuset

import (
	"encoding/binary"
	"math/bits"
	"strconv"
	"strings"
)

// Most is the largest number of simulated CPUs; distributions build kernels for 512 to 8192.
const Most = 1024

// Set is a set of CPUs. Its zero value has none; sets can be compared.
type Set [Most / 64]uint64

// Of returns the set of the given CPUs, without those that no set can have.
func Of(cpus ...int) (s Set) {
	for _, c := range cpus {
		s.Add(c)
	}
	return s
}

// Below returns the set of the CPUs from 0 to n-1.
func Below(n int) (s Set) {
	for i := range s {
		switch left := n - 64*i; {
		case left >= 64:
			s[i] = ^uint64(0)
		case left > 0:
			s[i] = 1<<left - 1
		}
	}
	return s
}

// Add adds a CPU, Remove removes one.
func (s *Set) Add(cpu int) {
	if cpu >= 0 && cpu < Most {
		s[cpu/64] |= 1 << (cpu % 64)
	}
}

// Remove removes a CPU.
func (s *Set) Remove(cpu int) {
	if cpu >= 0 && cpu < Most {
		s[cpu/64] &^= 1 << (cpu % 64)
	}
}

// Has reports whether the set has a CPU.
func (s *Set) Has(cpu int) bool { return cpu >= 0 && cpu < Most && s[cpu/64]&(1<<(cpu%64)) != 0 }

// Empty reports whether it has none.
func (s Set) Empty() bool { return s == Set{} }

// First returns the lowest CPU of the set, or -1.
func (s *Set) First() int { return s.Next(0) }

// Next returns the lowest CPU of the set from one on, or -1.
func (s *Set) Next(cpu int) int {
	if cpu < 0 || cpu >= Most {
		return -1
	}
	i, w := cpu/64, s[cpu/64]>>(cpu%64)<<(cpu%64)
	for w == 0 {
		if i++; i == len(s) {
			return -1
		}
		w = s[i]
	}
	return 64*i + bits.TrailingZeros64(w)
}

// All visits the CPUs of the set in their order.
func (s *Set) All(yield func(cpu int) bool) {
	for cpu := s.First(); cpu >= 0; cpu = s.Next(cpu + 1) {
		if !yield(cpu) {
			return
		}
	}
}

// Count returns the number of CPUs in the set.
func (s *Set) Count() (n int) {
	for _, w := range s {
		n += bits.OnesCount64(w)
	}
	return n
}

// And returns the CPUs that both sets have, Or those that one has, Xor those that exactly one has,
// and Minus those that the other one has not.
func (s Set) And(o Set) Set {
	for i := range s {
		s[i] &= o[i]
	}
	return s
}

// Or returns the CPUs that one of the sets has.
func (s Set) Or(o Set) Set {
	for i := range s {
		s[i] |= o[i]
	}
	return s
}

// Xor returns the CPUs that exactly one of the sets has.
func (s Set) Xor(o Set) Set {
	for i := range s {
		s[i] ^= o[i]
	}
	return s
}

// Minus returns the CPUs that the other set has not.
func (s Set) Minus(o Set) Set {
	for i := range s {
		s[i] &^= o[i]
	}
	return s
}

// String returns the numbers of the CPUs as a list in brackets.
func (s Set) String() string {
	var cpus []string
	for cpu := range s.All {
		cpus = append(cpus, strconv.Itoa(cpu))
	}
	return "[" + strings.Join(cpus, ", ") + "]"
}

// From reads a kernel's bitmap: words of so many bytes, 4 or 8, in a byte order. Bits beyond all
// sets are ignored, as is a part of a word.
func From(b []byte, order binary.ByteOrder, word int) (s Set) {
	for i := 0; (i+1)*word <= len(b) && i*word*8 < Most; i++ {
		if word == 4 {
			s[i/2] |= uint64(order.Uint32(b[4*i:])) << (i % 2 * 32)
		} else {
			s[i] = order.Uint64(b[8*i:])
		}
	}
	return s
}

// Put writes the set as From reads it, and zeros beyond it. What has no room is left out.
func (s *Set) Put(b []byte, order binary.ByteOrder, word int) {
	clear(b)
	for i := 0; (i+1)*word <= len(b) && i*word*8 < Most; i++ {
		if word == 4 {
			order.PutUint32(b[4*i:], uint32(s[i/2]>>(i%2*32)))
		} else {
			order.PutUint64(b[8*i:], s[i])
		}
	}
}
