package hook

import (
	"github.com/bpfrun/bpfrun/btf"
	"github.com/bpfrun/bpfrun/internal/kernel/object"
)

// place locates an object in an outer type.
type place struct{ typ, path string }

// enclosed lists the types that arguments of functions are embedded in: the function converts
// between them by container_of, and so do programs.
var enclosed = map[string]place{
	"free_user_ns":             {"user_namespace", "work"},
	"css_free_rwork_fn":        {"cgroup_subsys_state", "destroy_rwork.work"},
	"css_release_work_fn":      {"cgroup_subsys_state", "destroy_work"},
	"css_killed_work_fn":       {"cgroup_subsys_state", "destroy_work"},
	"wb_workfn":                {"bdi_writeback", "dwork.work"},
	"blk_mq_run_work_fn":       {"blk_mq_hw_ctx", "run_work.work"},
	"bpf_prog_free_deferred":   {"bpf_prog_aux", "work"},
	"bpf_map_free_deferred":    {"bpf_map", "work"},
	"flush_to_ldisc":           {"tty_port", "buf.work"},
	"delayed_put_task_struct":  {"task_struct", "rcu"},
	"__put_task_struct_rcu_cb": {"task_struct", "rcu"},
	"put_cred_rcu":             {"cred", "rcu"},
	"delayed_put_pid":          {"pid", "rcu"},
	"i_callback":               {"inode", "i_rcu"},
	"__d_free":                 {"dentry", "d_u.d_rcu"},
}

// typeEnclosed is the same for types of which every argument is embedded in one type.
var typeEnclosed = map[string]place{
	"cgroup_subsys_state": {"cgroup", "self"},
}

// enclosing returns the type that an argument of a hook is embedded in.
func enclosing(hook string, to object.Pointee) (place, bool) {
	if to.Type == nil || to.Type.Kind != btf.KindStruct {
		return place{}, false
	}
	switch to.Type.Name {
	case "work_struct", "callback_head":
		p, ok := enclosed[hook]
		return p, ok
	}
	p, ok := typeEnclosed[to.Type.Name]
	return p, ok
}
