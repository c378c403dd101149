//go:build linux && (amd64 || arm64)

package exec

import (
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/bpfrun/bpfrun/internal/bpfsys"
)

// How --events auto invents events: one for each place where programs are attached, in an order in
// which such things happen (what begins comes before what ends), with time in between. Arguments
// that a line does not set get the values that the simulated kernel gives them by their types and
// names, from its seed: the same object for the same argument everywhere, so that a tool which
// stores a pointer at one hook finds it again at another.

// invents reports whether the first step has an event that is invented.
func (ev *Events) invents() bool {
	return len(ev.Steps) > 0 && slices.ContainsFunc(ev.Steps[0], func(l Line) bool { return l.Auto })
}

// Words of names of hooks at which something begins, and at which it ends.
const (
	beginWords = " enter entry begin start insert alloc create wakeup waking new fork exec connect lock open init setup send sendmsg sendto request begins "
	endWords   = " exit end done complete completed free close unlock unlink remove destroy release return finish recv reset cleanup shutdown stop "
)

// moment orders the hooks of one thing that happens.
func moment(hook string) int {
	_, name, found := strings.Cut(hook, "/")
	if !found {
		name = hook
	}
	words := strings.FieldsFunc(name, func(r rune) bool { return r == '_' || r == '/' || r == ':' })
	slices.Reverse(words) // the last word says most: mutex_lock_end
	for _, w := range words {
		switch {
		case strings.Contains(beginWords, " "+w+" "):
			return 0
		case strings.Contains(endWords, " "+w+" "):
			return 2
		}
	}
	return 1
}

// changes are hooks that say something only when they fire again: how often they fire before all
// others and after them. A task leaves the CPU, gets it back, is woken and runs; a connection is
// made and ends; a request follows another one.
var changes = sync.OnceValue(func() map[string][2]int {
	return map[string][2]int{
		"sched_switch": {2, 2}, "inet_sock_set_state": {1, 1}, "tcp_set_state": {1, 1}, "cpu_frequency": {1, 1}, "cpu_idle": {1, 1}, "block_rq_complete": {0, 2},
		"finish_task_switch": {2, 2}, "tcp_cong_state_set": {1, 1},
	}
})

// tellingValues are arguments without which tools pass an event over: an interrupt that somebody
// handled, a capability whose check is audited.
var tellingValues = map[string]string{"irq_handler_exit": "ret=1", "cap_capable": "cap=21 cap_opt=0 opts=0 audit=1"}

// turns are hooks at which two tasks take turns, and the argument that is the other one.
var turns = map[string]string{"finish_task_switch": "prev"}

// inventedPause is the time between two invented events, in the simulated kernel.
const inventedPause = time.Millisecond

// maxShown limits the invented events that are noted.
const maxShown = 24

// invent returns one event for each place where programs are attached.
func (s *supervisor) invent() []Line {
	places := s.sys.Places()
	if len(places) == 0 {
		s.note("auto: no program is attached to anything that fires, so no event was invented")
		return nil
	}
	pause := Line{Text: "auto", Pass: inventedPause}
	slices.SortStableFunc(places, func(a, b bpfsys.Place) int { return moment(a.Hook) - moment(b.Hook) })
	var first, out, last []Line
	var shown []string
	for _, p := range places {
		text := s.inventLine(p)
		l, err := ParseLine(text)
		if err != nil {
			s.note("auto: " + text + ": " + err.Error())
			continue
		}
		both := []Line{l, l}
		if other := turns[p.Hook]; other != "" {
			text = p.Hook
			for i, l := range [2]string{turn(other, 0, 1), turn(other, 1, 0)} {
				both[i], _ = ParseLine(p.Hook + l)
			}
		}
		times, changing := changes()[p.Hook]
		if !changing {
			out = append(out, l, pause)
		} else {
			text += fmt.Sprintf(" (%d times)", times[0]+times[1])
		}
		for i := range times[0] {
			first = append(first, both[i%2], pause)
		}
		for i := range times[1] {
			last = append(last, both[i%2], pause)
		}
		shown = append(shown, text)
	}
	for i, text := range shown {
		if i == maxShown {
			s.note(fmt.Sprintf("invented: %d more events", len(shown)-i))
			break
		}
		s.note("invented: " + text)
	}
	return slices.Concat(first, out, last)
}

// turn writes the tasks of an event at which one task follows another.
func turn(other string, now, before int) string {
	tasks := [2]string{"worker", "server"}
	return fmt.Sprintf(" task.pid=%d task.comm=%s %s.pid=%d %s.comm=%s", 1201+now, tasks[now], other, 1201+before, other, tasks[before])
}

// inventLine writes an event of a place as a line of an events file.
func (s *supervisor) inventLine(p bpfsys.Place) string {
	hash := func(what string) uint64 { return s.sys.Machine().Kernel().Hash("auto", p.Hook, what) }
	line := p.Hook
	if strings.ContainsAny(line, " \t\"\\") {
		line = strconv.Quote(line)
	}
	switch p.Kind {
	case bpfsys.SyscallPlace:
		call := strings.TrimPrefix(p.Hook, "syscall/")
		for _, a := range s.sys.Machine().Kernel().SyscallArgs(call) {
			if a.Text {
				line += " " + a.Name + "=" + inventedText(call, a.Name, hash(a.Name))
			}
		}
		if ret := inventedReturn(call, hash("ret")); ret != 0 {
			line += fmt.Sprintf(" ret=%d", ret)
		}
	case bpfsys.UserPlace:
		// Nothing tells what functions of programs take: text is the most that a pointer can lead
		// to, and a number that is not 0.
		line += " arg1=invented arg2=invented ret=invented"
		if base := path.Base(p.Hook); !strings.Contains(base, ".so") && !strings.ContainsAny(base, " \t\"\\") {
			line += fmt.Sprintf(" task.comm=%s task.pid=%d", base[:min(len(base), 15)], 1000+hash("pid")%30000)
		}
	case bpfsys.SamplePlace:
		line += " repeat=3"
	default:
		for v := range strings.FieldsSeq(tellingValues[p.Hook]) {
			if name, _, _ := strings.Cut(v, "="); s.sys.Takes(p, name) {
				line += " " + v
			}
		}
	}
	return line
}

// inventedText returns a text for a string argument of a system call by its name.
func inventedText(call, name string, hash uint64) string {
	list := []string{"/etc/hostname", "/etc/passwd", "/tmp/invented", "/usr/lib/os-release", "/var/log/syslog"}
	switch {
	case strings.HasPrefix(call, "execve"):
		list = []string{"/usr/bin/ls", "/usr/bin/make", "/usr/bin/python3"}
	case strings.Contains(name, "type"):
		list = []string{"ext4", "tmpfs", "proc"}
	case strings.Contains(name, "dev"):
		list = []string{"/dev/sda1", "/dev/vda1"}
	case strings.Contains(name, "dir"):
		list = []string{"/mnt", "/media"}
	}
	return list[hash%uint64(len(list))]
}

// Calls that return a descriptor, and those that return how many bytes they moved.
const (
	opens = " open openat openat2 creat socket accept accept4 dup dup2 dup3 epoll_create epoll_create1 eventfd eventfd2 memfd_create timerfd_create inotify_init1 fanotify_init pidfd_open signalfd4 userfaultfd perf_event_open bpf "
	moves = " read write pread64 pwrite64 readv writev preadv pwritev sendto recvfrom sendmsg recvmsg sendfile copy_file_range splice getdents64 getrandom "
	makes = " fork vfork clone clone3 "
)

func inventedReturn(call string, hash uint64) int {
	call = " " + call + " "
	switch {
	case strings.Contains(opens, call):
		return 3 + int(hash%5)
	case strings.Contains(moves, call):
		return 64 << (hash % 7)
	case strings.Contains(makes, call):
		return 4000 + int(hash%1000)
	}
	return 0
}
