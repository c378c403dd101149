//go:build linux && (amd64 || arm64)

package exec

import (
	"errors"
	"sync"

	"golang.org/x/sys/unix"

	"github.com/bpfrun/bpfrun/bpfsys"
)

// unseen are calls that --live does not notify: they run while threads start and wait for each other, and in every signal handler.
var unseen = []int{
	unix.SYS_FUTEX, unix.SYS_RT_SIGRETURN, unix.SYS_RESTART_SYSCALL, unix.SYS_RT_SIGPROCMASK, unix.SYS_SIGALTSTACK, unix.SYS_SCHED_YIELD,
	unix.SYS_MADVISE, unix.SYS_TGKILL,
}

// allow is a rule for a call that goes to the host without a notification.
const allow condition = refused + 1

// liveRules returns the rules of --live: every call is notified that is neither unseen nor refused.
func liveRules(asRoot bool) []rule {
	list := rules(asRoot)
	for _, nr := range unseen {
		list = append(list, rule{nr: nr, when: allow})
	}
	return list
}

// served are the rules by the number of their call.
var served = sync.OnceValue(func() map[int][]rule {
	out := map[int][]rule{}
	for _, r := range rules(true) {
		out[r.nr] = append(out[r.nr], r)
	}
	return out
})

// ruled reports whether a rule is about a call, so that its handler serves it.
func ruled(n *notif) bool {
	for _, r := range served()[int(n.NR)] {
		word := uint32(n.Args[r.arg])
		switch r.when {
		case always:
			return true
		case equal:
			if word == r.val {
				return true
			}
		case bits:
			if word&r.val != 0 {
				return true
			}
		case words:
			if word > 0 && word <= maxWords && word%8 == 0 {
				return true
			}
		case byte1:
			if word>>8&0xff == r.val {
				return true
			}
		case sharedMap:
			if flags := uint32(n.Args[3]); flags&unix.MAP_ANONYMOUS == 0 && flags&unix.MAP_SHARED != 0 {
				return true
			}
		}
	}
	return false
}

// maxLiveText limits the bytes of a string argument that programs see.
const maxLiveText = 4096

// live fires the hooks of a call that a process of the tool makes: sys_enter, the probes of its function and sys_exit.
func (c *call) live() {
	s := c.s
	if !s.cfg.Live || !s.sys.Attached() || c.process().tgid == s.guard {
		return
	}
	s.drain() // closed links fire no more
	k := s.sys.Machine().Kernel()
	name, known := s.callNames[c.n.NR]
	if !known {
		name, _ = k.SyscallName(int(c.n.NR))
		s.callNames[c.n.NR] = name
	}
	if name == "" {
		return
	}
	args := map[string]any{}
	for i, a := range k.SyscallArgs(name) {
		if i >= len(c.n.Args) {
			break
		}
		args[a.Name] = c.arg(i)
		if a.Text && c.arg(i) != 0 {
			if text, ok := c.text(c.arg(i), maxLiveText); ok {
				args[a.Name] = text
			}
		}
	}
	tgid, tid, comm := c.Thread()
	fired, err := s.sys.Fire(bpfsys.Event{Hook: "syscall/" + name, Args: args, Task: map[string]any{"pid": int64(tid), "tgid": int64(tgid), "comm": comm}})
	if err != nil {
		if !errors.Is(err, bpfsys.ErrNoHook) {
			s.note("--live: " + name + ": " + err.Error())
		}
		return
	}
	if s.cfg.Fired != nil {
		s.cfg.Fired("syscall/"+name, fired)
	}
	s.note("--live: what a system call returns is not known before it runs: hooks at its exit see a simulated value. Of a process's memory, programs see only strings that are arguments")
	for _, f := range fired {
		if f.Err != nil {
			s.note("--live: " + name + ": " + f.Err.Error())
		}
	}
	s.levels()
}
