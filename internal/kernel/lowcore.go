package kernel

import (
	"strconv"

	"github.com/bpfrun/bpfrun/internal/kernel/object"
)

// Lowcore returns the struct lowcore of a CPU (arch/s390: get_lowcore), which names the task that
// runs there; the error is an [*object.TypeError] if the types have none.
func (k *Kernel) Lowcore(cpu int) (*object.Object, error) {
	role := "lowcore[" + strconv.Itoa(cpu) + "]"
	o := k.Named(role, "lowcore")
	if o == nil {
		if err := k.Err(); err != nil {
			return nil, err
		}
		return nil, &object.TypeError{Type: "lowcore", Role: role, Why: "is not in the kernel's BTF"}
	}
	b := object.Build(o)
	b.Num("cpu_nr", uint64(cpu))
	if v := k.Variable("__per_cpu_offset"); v != nil {
		size := k.Mem().PointerSize()
		if offset, f := v.Load(uint64(cpu*size), size); f == nil {
			b.Num("percpu_offset", offset)
		}
	}
	if task := k.CurrentOn(cpu); task != nil {
		b.Num("current_task", task.Addr())
		b.Num("current_pid", task.Num("pid"))
	}
	return o, k.Err()
}
