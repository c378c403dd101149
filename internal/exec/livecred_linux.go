//go:build linux && (amd64 || arm64)

package exec

import (
	"fmt"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/bpfrun/bpfrun/internal/kernel/object"
)

// The credentials and namespaces of the real tasks of --live. Tasks that have equal ones share an
// object, as in a kernel after a fork.

// credLines are the lines of /proc/PID/status that are about credentials, and what their numbers
// are in struct cred.
var credLines = []struct {
	name   string
	fields []string
}{
	{"Uid", []string{"uid", "euid", "suid", "fsuid"}},
	{"Gid", []string{"gid", "egid", "sgid", "fsgid"}},
	{"CapInh", []string{"cap_inheritable"}},
	{"CapPrm", []string{"cap_permitted"}},
	{"CapEff", []string{"cap_effective"}},
	{"CapBnd", []string{"cap_bset"}},
	{"CapAmb", []string{"cap_ambient"}},
}

// namespaceLinks are the names of namespaces in /proc/PID/ns, and of their fields in struct nsproxy.
// Those of users and of a task's own ids are the initial ones.
var namespaceLinks = [...]struct{ name, field string }{
	{"mnt", "mnt_ns"}, {"uts", "uts_ns"}, {"ipc", "ipc_ns"}, {"net", "net_ns"}, {"cgroup", "cgroup_ns"}, {"time", "time_ns"}, {"pid_for_children", "pid_ns_for_children"},
}

// maxShared limits the credentials and the sets of namespaces that programs see.
const maxShared = 1024

// identity is what a task has until it calls one of [identityCalls]: looking costs more than the
// rest of an event.
type identity struct {
	start         uint64 // of the task, whose id may be used again
	cred, nsproxy *object.Object
}

// identityCalls change the credentials or the namespaces of the thread that makes them.
var identityCalls = map[int]bool{
	unix.SYS_SETUID: true, unix.SYS_SETGID: true, unix.SYS_SETREUID: true, unix.SYS_SETREGID: true, unix.SYS_SETRESUID: true, unix.SYS_SETRESGID: true,
	unix.SYS_SETFSUID: true, unix.SYS_SETFSGID: true, unix.SYS_CAPSET: true, unix.SYS_PRCTL: true, unix.SYS_UNSHARE: true, unix.SYS_SETNS: true,
	unix.SYS_EXECVE: true, unix.SYS_EXECVEAT: true,
}

// identities are those of tasks by id, and the threads whose last call may have changed theirs.
type identities struct {
	known    map[int]identity
	changing map[int]bool
}

// calls notes that a thread makes a call, which ends its last one.
func (i *identities) calls(tid, nr int) {
	if i.changing[tid] {
		delete(i.changing, tid)
		delete(i.known, tid)
	}
	if !identityCalls[nr] {
		return
	}
	if i.changing == nil || len(i.changing) > maxForks {
		*i = identities{changing: map[int]bool{}}
	}
	i.changing[tid] = true
}

// addIdentity adds the credentials and the namespaces of a task that started at a time.
func (s *supervisor) addIdentity(task map[string]any, tid int, dir string, start uint64) {
	i, known := s.identities.known[tid]
	if !known || i.start != start {
		i = identity{start, s.credentials(dir), s.namespaces(dir)}
		if s.identities.known == nil || len(s.identities.known) > maxForks {
			s.identities.known = map[int]identity{}
		}
		s.identities.known[tid] = i
	}
	if i.cred != nil {
		task["cred"], task["real_cred"] = i.cred, i.cred
	}
	if i.nsproxy != nil {
		task["nsproxy"] = i.nsproxy
	}
}

// credentials returns those of a task, as the tool knows them: with --fake-root, the user of bpfrun
// is root. It is nil if the task has ended.
func (s *supervisor) credentials(dir string) *object.Object {
	status, err := os.ReadFile(dir + "status")
	if err != nil {
		return nil
	}
	lines := map[string]string{}
	for l := range strings.Lines(string(status)) {
		name, numbers, _ := strings.Cut(l, ":")
		lines[name] = strings.TrimSpace(numbers)
	}
	key := ""
	for _, l := range credLines {
		key += lines[l.name] + "\n"
	}
	return shared(s, &s.creds, key, "cred", func(o *object.Object) error {
		ids := strings.Fields(lines["Uid"])
		asRoot := s.cfg.Root && len(ids) > 1 && ids[1] == strconv.Itoa(os.Geteuid())
		for _, l := range credLines {
			numbers := strings.Fields(lines[l.name])
			if len(numbers) != len(l.fields) {
				return fmt.Errorf("%sstatus has no %s", dir, l.name)
			}
			for i, v := range numbers {
				if err := setCred(o, l.fields[i], v, asRoot); err != nil {
					return err
				}
			}
		}
		return nil
	})
}

// setCred sets an id, or a set of capabilities: one number since 6.3, two words before.
func setCred(o *object.Object, field, value string, asRoot bool) error {
	if !strings.HasPrefix(field, "cap_") {
		id, err := strconv.ParseUint(value, 10, 32)
		if err != nil {
			return err
		}
		if asRoot {
			id = 0
		}
		return o.Set(field+".val", id)
	}
	set, err := strconv.ParseUint(value, 16, 64)
	if err != nil {
		return err
	}
	if asRoot && (field == "cap_permitted" || field == "cap_effective" || field == "cap_bset") {
		set = 1<<(unix.CAP_LAST_CAP+1) - 1
	}
	if o.Has(field + ".val") {
		return o.Set(field+".val", set)
	}
	if err := o.Set(field+".cap[0]", set&0xffffffff); err != nil {
		return err
	}
	return o.Set(field+".cap[1]", set>>32)
}

// namespaces returns those of a task, which have their numbers; nil if it has ended.
func (s *supervisor) namespaces(dir string) *object.Object {
	var inums [len(namespaceLinks)]uint64
	for i, l := range namespaceLinks {
		if target, err := os.Readlink(dir + "ns/" + l.name); err == nil {
			_, number, _ := strings.Cut(strings.TrimSuffix(target, "]"), "[")
			inums[i], _ = strconv.ParseUint(number, 10, 32)
		}
	}
	if inums[0] == 0 {
		return nil
	}
	return shared(s, &s.nsproxies, fmt.Sprint(inums), "nsproxy", func(o *object.Object) error {
		for i, l := range namespaceLinks {
			if inum := l.field + "->ns.inum"; inums[i] != 0 && o.Has(inum) {
				if err := o.Set(inum, inums[i]); err != nil {
					return err
				}
			}
		}
		return nil
	})
}

// shared returns the object of a type for a key, filled on its first use; nil if it cannot be made.
func shared(s *supervisor, all *map[string]*object.Object, key, typ string, fill func(*object.Object) error) *object.Object {
	o, ok := (*all)[key]
	if ok || len(*all) >= maxShared {
		return o
	}
	if *all == nil {
		*all = map[string]*object.Object{}
	}
	o, err := s.sys.Machine().Kernel().NewDefault(fmt.Sprintf("%s %d of real tasks", typ, len(*all)), typ)
	if err == nil {
		err = fill(o)
	}
	if err != nil {
		o = nil
	}
	(*all)[key] = o
	return o
}
