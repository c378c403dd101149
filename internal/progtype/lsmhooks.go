package progtype

import (
	"sync"

	"github.com/bpfrun/bpfrun/internal/uapi"
)

// sleepableHooks maps the LSM hooks that may sleep (kernel/bpf/bpf_lsm.c sleepable_lsm_hooks) to
// the first release that lists them and the first that no longer does. The kernel's list exists
// since 5.11; before, only one hook was sleepable. The rows were compared with the lists of all
// later releases but 5.13, 6.15 and 6.16.
var sleepableHooks = sync.OnceValue(func() map[string]struct{ from, until uapi.Release } {
	return map[string]struct{ from, until uapi.Release }{
		"bdev_alloc_security":     {uapi.R(7, 1), 0},
		"bdev_setintegrity":       {uapi.R(7, 1), 0},
		"bpf":                     {uapi.R(5, 11), 0},
		"bpf_map":                 {uapi.R(5, 11), 0},
		"bpf_map_alloc_security":  {uapi.R(5, 11), uapi.R(6, 9)},
		"bpf_map_create":          {uapi.R(6, 9), 0},
		"bpf_map_free":            {uapi.R(6, 9), 0},
		"bpf_map_free_security":   {uapi.R(5, 11), uapi.R(6, 9)},
		"bpf_prog":                {uapi.R(5, 11), 0},
		"bpf_prog_load":           {uapi.R(6, 9), 0},
		"bpf_prog_free":           {uapi.R(6, 13), uapi.R(7, 2)},
		"bpf_token_capable":       {uapi.R(6, 9), 0},
		"bpf_token_cmd":           {uapi.R(6, 9), 0},
		"bpf_token_create":        {uapi.R(6, 9), 0},
		"bpf_token_free":          {uapi.R(6, 9), 0},
		"bprm_check_security":     {uapi.R(5, 11), 0},
		"bprm_committed_creds":    {uapi.R(5, 10), 0},
		"bprm_committing_creds":   {uapi.R(5, 11), 0},
		"bprm_creds_for_exec":     {uapi.R(5, 11), 0},
		"bprm_creds_from_file":    {uapi.R(5, 11), 0},
		"capget":                  {uapi.R(5, 11), 0},
		"capset":                  {uapi.R(5, 11), 0},
		"cred_prepare":            {uapi.R(5, 11), 0},
		"current_getsecid_subj":   {uapi.R(5, 17), uapi.R(6, 13)},
		"file_ioctl":              {uapi.R(5, 11), 0},
		"file_lock":               {uapi.R(5, 11), 0},
		"file_open":               {uapi.R(5, 11), 0},
		"file_post_open":          {uapi.R(6, 11), 0},
		"file_receive":            {uapi.R(5, 11), 0},
		"inet_conn_established":   {uapi.R(5, 11), uapi.R(6, 12)},
		"inode_create":            {uapi.R(5, 11), 0},
		"inode_free_security":     {uapi.R(5, 11), 0},
		"inode_getattr":           {uapi.R(5, 11), 0},
		"inode_getxattr":          {uapi.R(5, 11), 0},
		"inode_mknod":             {uapi.R(5, 11), 0},
		"inode_need_killpriv":     {uapi.R(5, 11), 0},
		"inode_post_removexattr":  {uapi.R(6, 15), 0},
		"inode_post_setxattr":     {uapi.R(5, 11), 0},
		"inode_readlink":          {uapi.R(5, 11), 0},
		"inode_removexattr":       {uapi.R(6, 15), 0},
		"inode_rename":            {uapi.R(5, 11), 0},
		"inode_rmdir":             {uapi.R(5, 11), 0},
		"inode_setattr":           {uapi.R(5, 11), 0},
		"inode_setxattr":          {uapi.R(5, 11), 0},
		"inode_symlink":           {uapi.R(5, 11), 0},
		"inode_unlink":            {uapi.R(5, 11), 0},
		"kernel_module_request":   {uapi.R(5, 11), 0},
		"kernel_read_file":        {uapi.R(5, 18), 0},
		"kernfs_init_security":    {uapi.R(5, 11), 0},
		"key_free":                {uapi.R(5, 11), uapi.R(6, 12)},
		"mmap_file":               {uapi.R(5, 11), 0},
		"netlink_send":            {uapi.R(5, 11), 0},
		"path_chmod":              {uapi.R(6, 8), 0},
		"path_chown":              {uapi.R(6, 8), 0},
		"path_link":               {uapi.R(6, 8), 0},
		"path_mkdir":              {uapi.R(6, 8), 0},
		"path_notify":             {uapi.R(5, 11), 0},
		"path_rename":             {uapi.R(6, 8), 0},
		"path_rmdir":              {uapi.R(6, 8), 0},
		"path_symlink":            {uapi.R(6, 8), 0},
		"path_truncate":           {uapi.R(6, 8), 0},
		"path_unlink":             {uapi.R(6, 8), 0},
		"release_secctx":          {uapi.R(5, 11), 0},
		"sb_alloc_security":       {uapi.R(5, 11), 0},
		"sb_eat_lsm_opts":         {uapi.R(5, 11), 0},
		"sb_kern_mount":           {uapi.R(5, 11), 0},
		"sb_mount":                {uapi.R(5, 11), 0},
		"sb_remount":              {uapi.R(5, 11), 0},
		"sb_set_mnt_opts":         {uapi.R(5, 11), 0},
		"sb_show_options":         {uapi.R(5, 11), 0},
		"sb_statfs":               {uapi.R(5, 11), 0},
		"sb_umount":               {uapi.R(5, 11), 0},
		"settime":                 {uapi.R(5, 11), 0},
		"socket_accept":           {uapi.R(5, 11), 0},
		"socket_bind":             {uapi.R(5, 11), 0},
		"socket_connect":          {uapi.R(5, 11), 0},
		"socket_create":           {uapi.R(5, 11), 0},
		"socket_getpeername":      {uapi.R(5, 11), 0},
		"socket_getpeersec_dgram": {uapi.R(5, 11), 0},
		"socket_getsockname":      {uapi.R(5, 11), 0},
		"socket_getsockopt":       {uapi.R(5, 11), 0},
		"socket_listen":           {uapi.R(5, 11), 0},
		"socket_post_create":      {uapi.R(5, 11), 0},
		"socket_recvmsg":          {uapi.R(5, 11), 0},
		"socket_sendmsg":          {uapi.R(5, 11), 0},
		"socket_shutdown":         {uapi.R(5, 11), 0},
		"socket_socketpair":       {uapi.R(5, 11), 0},
		"syslog":                  {uapi.R(5, 11), 0},
		"task_alloc":              {uapi.R(5, 11), 0},
		"task_getsecid":           {uapi.R(5, 11), uapi.R(5, 13)},
		"task_getsecid_obj":       {uapi.R(5, 13), uapi.R(6, 13)},
		"task_getsecid_subj":      {uapi.R(5, 13), uapi.R(5, 17)},
		"task_prctl":              {uapi.R(5, 11), 0},
		"task_setscheduler":       {uapi.R(5, 11), 0},
		"task_to_inode":           {uapi.R(6, 6), uapi.R(6, 12)},
		"userns_create":           {uapi.R(6, 1), 0},
	}
})

// sleepableToo are further releases that list a hook: updates added it to, or took it out of, the
// list of releases that were still maintained only.
var sleepableToo = sync.OnceValue(func() map[string][]struct{ from, until uapi.Release } {
	return map[string][]struct{ from, until uapi.Release }{
		"bpf_prog_free":         {{uapi.R(6, 9), uapi.R(6, 12)}},
		"inet_conn_established": {{uapi.R(6, 13), uapi.R(6, 18)}, {uapi.R(6, 19), uapi.R(7, 0)}},
		"task_to_inode": {
			{uapi.R(5, 11), uapi.R(5, 15)}, {uapi.R(5, 16), uapi.R(6, 1)}, {uapi.R(6, 2), uapi.R(6, 6)}, {uapi.R(6, 13), uapi.R(6, 18)},
			{uapi.R(6, 19), uapi.R(7, 0)},
		},
		"userns_create": {{uapi.R(5, 15), uapi.R(5, 16)}},
	}
})

// SleepableLSM reports whether a release allows sleepable programs on an LSM hook, named without
// bpf_lsm_.
func SleepableLSM(hook string, r uapi.Release) bool {
	for _, h := range sleepableToo()[hook] {
		if r != 0 && r >= h.from && r < h.until {
			return true
		}
	}
	h, ok := sleepableHooks()[hook]
	return ok && r.Has(h.from) && (h.until == 0 || r != 0 && r < h.until)
}

// DisabledLSM reports whether an LSM hook, named without bpf_lsm_, is on the list of those whose
// return value is not an error number (kernel/bpf/bpf_lsm.c bpf_lsm_disabled_hooks), if a release
// has the list: [since.DisabledHooks].
func DisabledLSM(hook string, r uapi.Release) bool {
	switch hook {
	case "vm_enough_memory", "inode_need_killpriv", "inode_getsecurity", "inode_listsecurity", "inode_copy_up_xattr", "getselfattr", "getprocattr",
		"setprocattr", "key_getsecurity", "audit_rule_match", "ismaclabel":
		return true
	case "xfrm_decode_session":
		return r < uapi.R(6, 13) && r != 0 || r.Has(uapi.R(7, 0))
	case "file_alloc_security":
		return r.Has(uapi.R(6, 19))
	}
	return false
}
