package object

import (
	"fmt"

	"github.com/bpfrun/bpfrun/internal/cpuset"
)

// NoRoomError means that a kernel's sets of CPUs (struct cpumask) are too small for the machine.
type NoRoomError struct {
	CPUs int
	// Room is how many CPUs the kernel was built for (NR_CPUS).
	Room uint64
}

// Error says how many CPUs there may be.
func (e *NoRoomError) Error() string {
	return fmt.Sprintf("%d CPUs: the kernel's sets of CPUs have room for %d (NR_CPUS)", e.CPUs, e.Room)
}

// cpuWords returns how many bytes of a bitmap the machine's CPUs take.
func (o *Object) cpuWords(f Field) (uint64, error) {
	word := o.k.mem.PointerSize() * 8
	n := uint64((o.k.cpus + word - 1) / word * word / 8)
	if n > f.Size || f.BitSize != 0 {
		return 0, &NoRoomError{o.k.cpus, f.Size * 8}
	}
	return n, nil
}

// CPUSet returns the CPUs of the machine that are in a field, a struct cpumask or its bitmap. The
// errors are [*PathError] and [*NoRoomError].
func (o *Object) CPUSet(path string) (cpuset.Set, error) {
	at, f, err := o.find(path, false, Given)
	if err != nil || at == nil {
		return cpuset.Set{}, err
	}
	n, err := at.cpuWords(f)
	if err != nil {
		return cpuset.Set{}, err
	}
	set := cpuset.From(at.Present(f.Off, n), o.k.Order(), o.k.mem.PointerSize())
	return set.And(cpuset.Below(o.k.cpus)), nil
}

// SetCPUSet sets such a field. Bits of CPUs that the machine lacks are cleared if they have no value
// yet.
func (o *Object) SetCPUSet(path string, s cpuset.Set) error {
	at, f, err := o.find(path, true, Given)
	if err != nil {
		return err
	}
	n, err := at.cpuWords(f)
	if err != nil {
		return err
	}
	b := make([]byte, f.Size)
	s.Put(b, o.k.Order(), o.k.mem.PointerSize())
	if f.Size > n && at.status(f.Off+n, f.Size-n) != never {
		b = b[:n]
	}
	at.Poke(f.Off, b, Given)
	return nil
}
