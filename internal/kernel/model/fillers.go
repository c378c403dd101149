package model

import "github.com/bpfrun/bpfrun/internal/kernel/object"

// fillers initialise objects of well-known types, by type name. They run when a field that was not
// set is read for the first time, and never change fields set by the user.
var fillers = map[string]func(*Model, object.Builder){
	"task_struct":    (*Model).fillTask,
	"cred":           (*Model).fillCred,
	"mm_struct":      (*Model).fillMM,
	"vm_area_struct": (*Model).fillVMA,
	"signal_struct":  (*Model).fillSignal,
	"sighand_struct": (*Model).fillSighand,
	"pid":            (*Model).fillPid,
	"nsproxy":        (*Model).fillNsproxy,
	"pid_namespace":  (*Model).fillNamespace, "user_namespace": (*Model).fillNamespace, "uts_namespace": (*Model).fillNamespace, "ipc_namespace": (*Model).fillNamespace, "mnt_namespace": (*Model).fillNamespace, "cgroup_namespace": (*Model).fillNamespace, "time_namespace": (*Model).fillNamespace, "net": (*Model).fillNamespace,
	"fs_struct":           (*Model).fillFs,
	"fdtable":             (*Model).fillFdtable,
	"files_struct":        (*Model).fillFilesStruct,
	"iovec":               (*Model).fillIovec,
	"file":                (*Model).fillFile,
	"path":                (*Model).fillPath,
	"socket_alloc":        (*Model).fillSocketInode,
	"dentry":              (*Model).fillDentry,
	"inode":               (*Model).fillInode,
	"super_block":         (*Model).fillSuper,
	"vfsmount":            (*Model).fillVfsmount,
	"mount":               (*Model).fillMount,
	"file_system_type":    (*Model).fillFsType,
	"qstr":                (*Model).fillQstr,
	"nameidata":           (*Model).fillNameidata,
	"filename":            (*Model).fillFilename,
	"linux_binprm":        (*Model).fillBinprm,
	"request":             (*Model).fillRequest,
	"request_queue":       (*Model).fillQueue,
	"gendisk":             (*Model).fillDisk,
	"block_device":        (*Model).fillBlockDevice,
	"bio":                 (*Model).fillBio,
	"backing_dev_info":    (*Model).fillBDI,
	"cgroup":              (*Model).fillCgroup,
	"cgroup_root":         (*Model).fillRoot,
	"kernfs_node":         (*Model).fillKernfs,
	"css_set":             (*Model).fillCSSSet,
	"cgroup_subsys_state": (*Model).fillCSS,
	"cgroup_subsys":       (*Model).fillSubsys,
	"kernfs_root":         (*Model).fillKernfsRoot,
	"irqaction":           (*Model).fillIrqaction,
	"tty_struct":          (*Model).fillTTY,
	"oom_control":         (*Model).fillOOM,
	"rq":                  (*Model).fillRunqueue,
	"cfs_rq":              (*Model).fillFairRunqueue,
}

// Fill gives an object the default content of a type; it returns false if the model has none.
func (m *Model) Fill(typ string, b object.Builder) bool {
	f := fillers[typ]
	if f == nil && controllerOf(typ) != "" {
		f = (*Model).fillState
	}
	if f != nil {
		f(m, b)
	}
	return f != nil
}
