package since

import "github.com/bpfrun/bpfrun/internal/uapi"

// destructors are the kernel's types that a kptr may own, with the releases that added them
// (register_btf_id_dtor_kfuncs). prog_test_ref_kfunc and prog_test_member are those of the kernel's
// own tests, which moved from net/bpf/test_run.c to a module.
var destructors = map[string]uapi.Release{
	"task_struct": v6_2, "cgroup": v6_2, "bpf_cpumask": v6_3, "bpf_crypto_ctx": v6_10, "sk_buff": v6_16,
	"prog_test_ref_kfunc": v5_19, "prog_test_member": v5_19,
}

// Destructible reports whether a release can end a kptr's ownership of an object of the kernel's
// struct name. Without, btf_parse_kptr fails, and the type with the kptr has no special fields.
func Destructible(name string, r uapi.Release) bool {
	from, ok := destructors[name]
	return ok && r.Has(from)
}
