//go:build linux && (amd64 || arm64)

package exec

import (
	"fmt"
	"os"
	"strconv"
	"strings"

	"github.com/bpfrun/bpfrun/internal/kernel/object"
)

// What programs see of the real tasks of --live: ids, names, parents, working directories, programs,
// arguments and environments; and, in livecred_linux.go, credentials and namespaces.

// Fields of /proc/PID/stat after the name (proc(5)), from the state on.
const (
	statParent   = 4 - 3
	statStart    = 22 - 3
	statCPU      = 39 - 3
	statArgStart = 48 - 3
	statArgEnd   = 49 - 3
	statEnvStart = 50 - 3
	statEnvEnd   = 51 - 3
)

// liveTask returns what events know of a real task, by the paths of the fields, and the CPU that it
// runs on, or ran on last; 0 if the simulated kernel has no such CPU.
func (s *supervisor) liveTask(tgid, tid int) (task map[string]any, cpu int) {
	dir := fmt.Sprintf("/proc/%d/task/%d/", tgid, tid)
	comm, _ := os.ReadFile(dir + "comm")
	task = map[string]any{"pid": int64(tid), "tgid": int64(tgid), "comm": strings.TrimSpace(string(comm))}
	stat, _ := os.ReadFile(dir + "stat")
	// The name in parentheses may contain any character.
	f := strings.Fields(string(stat[strings.LastIndexByte(string(stat), ')')+1:]))
	number := func(i int) uint64 {
		if i >= len(f) {
			return 0
		}
		n, _ := strconv.ParseUint(f[i], 10, 64)
		return n
	}
	if parent := int64(number(statParent)); parent > 0 {
		task["real_parent->pid"], task["real_parent->tgid"] = parent, parent
		if comm, err := os.ReadFile(fmt.Sprintf("/proc/%d/comm", parent)); err == nil {
			task["real_parent->comm"] = strings.TrimSpace(string(comm))
		}
	}
	s.showBlock(task, tgid, "arg", number(statArgStart), number(statArgEnd))
	s.showBlock(task, tgid, "env", number(statEnvStart), number(statEnvEnd))
	s.addFile(task, "fs->pwd.dentry", fmt.Sprintf("/proc/%d/cwd", tgid))
	s.addFile(task, "mm->exe_file->f_path.dentry", fmt.Sprintf("/proc/%d/exe", tgid))
	s.addIdentity(task, tid, dir, number(statStart))
	if n := number(statCPU); n < uint64(s.sys.Machine().Kernel().CPUs()) {
		cpu = int(n)
	}
	return task, cpu
}

// showBlock shows programs the arguments ("arg") or the environment ("env") of a process where they
// are. What a process has no right to be asked for is 0 in its stat file.
func (s *supervisor) showBlock(task map[string]any, tgid int, what string, from, to uint64) {
	if from == 0 || to <= from {
		return
	}
	b := make([]byte, min(to-from, maxShownData))
	if !readMemory(tgid, from, b) {
		return
	}
	s.showBytes(from, b)
	task["mm->"+what+"_start"], task["mm->"+what+"_end"] = from, to
}

// addFile adds the directory entry that a link in /proc leads to.
func (s *supervisor) addFile(task map[string]any, field, link string) {
	path, err := os.Readlink(link)
	if err != nil || !strings.HasPrefix(path, "/") {
		return
	}
	d, ok := s.dentries[path]
	if !ok && len(s.dentries) < maxDentries {
		if s.dentries == nil {
			s.dentries = map[string]*object.Object{}
		}
		if d, err = s.sys.Machine().Kernel().NewDentry("path "+path, path); err != nil {
			d = nil
		}
		s.dentries[path] = d
	}
	if d != nil {
		task[field] = d
	}
}

// maxDentries limits the working directories and programs that programs see.
const maxDentries = 1024
