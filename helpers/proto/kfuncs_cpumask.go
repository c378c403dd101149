package proto

// cpumaskKfuncs are the kfuncs for CPU masks.
var cpumaskKfuncs = []Kfunc{
	{Name: "bpf_cpumask_acquire", Topic: "cpumasks", Since: r(6, 3), Flags: Acquire | TrustedArgs, Uses: cpumaskUses},
	{Name: "bpf_cpumask_and", Topic: "cpumasks", Since: r(6, 3), Flags: RCU, Uses: cpumaskUses},
	{Name: "bpf_cpumask_any_and_distribute", Topic: "cpumasks", Since: r(6, 5), Flags: RCU, Uses: cpumaskUses},
	{Name: "bpf_cpumask_any_distribute", Topic: "cpumasks", Since: r(6, 5), Flags: RCU, Uses: cpumaskUses},
	{Name: "bpf_cpumask_clear", Topic: "cpumasks", Since: r(6, 3), Flags: RCU, Uses: cpumaskUses},
	{Name: "bpf_cpumask_clear_cpu", Topic: "cpumasks", Since: r(6, 3), Flags: RCU, Uses: cpumaskUses},
	{Name: "bpf_cpumask_copy", Topic: "cpumasks", Since: r(6, 3), Flags: RCU, Uses: cpumaskUses},
	{Name: "bpf_cpumask_create", Topic: "cpumasks", Since: r(6, 3), Flags: Acquire | ReturnsNull, Uses: cpumaskUses},
	{Name: "bpf_cpumask_empty", Topic: "cpumasks", Since: r(6, 3), Flags: RCU, Uses: cpumaskUses},
	{Name: "bpf_cpumask_equal", Topic: "cpumasks", Since: r(6, 3), Flags: RCU, Uses: cpumaskUses},
	{Name: "bpf_cpumask_first", Topic: "cpumasks", Since: r(6, 3), Flags: RCU, Uses: cpumaskUses},
	{Name: "bpf_cpumask_first_and", Topic: "cpumasks", Since: r(6, 5), Flags: RCU, Uses: cpumaskUses},
	{Name: "bpf_cpumask_first_zero", Topic: "cpumasks", Since: r(6, 3), Flags: RCU, Uses: cpumaskUses},
	{Name: "bpf_cpumask_full", Topic: "cpumasks", Since: r(6, 3), Flags: RCU, Uses: cpumaskUses},
	{Name: "bpf_cpumask_intersects", Topic: "cpumasks", Since: r(6, 3), Flags: RCU, Uses: cpumaskUses},
	{Name: "bpf_cpumask_or", Topic: "cpumasks", Since: r(6, 3), Flags: RCU, Uses: cpumaskUses},
	{Name: "bpf_cpumask_populate", Topic: "cpumasks", Since: r(6, 15), Flags: RCU, Uses: cpumaskUses},
	{Name: "bpf_cpumask_release", Topic: "cpumasks", Since: r(6, 3), Flags: ReleaseArg, Uses: cpumaskUses},
	{Name: "bpf_cpumask_set_cpu", Topic: "cpumasks", Since: r(6, 3), Flags: RCU, Uses: cpumaskUses},
	{Name: "bpf_cpumask_setall", Topic: "cpumasks", Since: r(6, 3), Flags: RCU, Uses: cpumaskUses},
	{Name: "bpf_cpumask_subset", Topic: "cpumasks", Since: r(6, 3), Flags: RCU, Uses: cpumaskUses},
	{Name: "bpf_cpumask_weight", Topic: "cpumasks", Since: r(6, 8), Flags: RCU, Uses: cpumaskUses},
	{Name: "bpf_cpumask_xor", Topic: "cpumasks", Since: r(6, 3), Flags: RCU, Uses: cpumaskUses},
}
