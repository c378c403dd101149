package loader

import (
	"slices"
	"strings"
)

// endings are words in names of hooks, and those of the hook where the same thing ends:
// block_rq_issue and block_rq_complete, workqueue_execute_start and workqueue_execute_end.
var endings = [...]struct {
	begin string
	ends  []string
}{
	{"enter", []string{"exit"}},
	{"entry", []string{"exit"}},
	{"begin", []string{"end"}},
	{"start", []string{"end", "done", "stop", "finish", "complete"}},
	{"issue", []string{"complete"}},
	{"insert", []string{"complete"}},
	{"submit", []string{"complete", "done"}},
	{"queue", []string{"complete", "dequeue"}},
	{"alloc", []string{"free"}},
	{"malloc", []string{"free"}},
	{"create", []string{"destroy", "release", "remove", "delete"}},
	{"register", []string{"unregister"}},
	{"attach", []string{"detach"}},
	{"map", []string{"unmap"}},
	{"acquire", []string{"release"}},
	{"connect", []string{"close", "disconnect"}},
	{"open", []string{"close", "release"}},
	{"lock", []string{"unlock"}},
	{"down", []string{"up"}},
	{"get", []string{"put"}},
}

// Ends groups programs whose hooks begin something with those at the hook where it ends, as far as
// the names of the hooks say so. Functions with programs at both the entry and the return are left
// out: [Linked.Pairs] has those.
func (l *Linked) Ends(names []string) []Hooked {
	at := map[string][]string{} // programs by hook
	both := map[string]int{}
	var hooks []string
	for _, name := range names {
		lp, ok := l.Program(name)
		if !ok {
			continue
		}
		key, returns := pairOf(lp.Program)
		hook := key[strings.LastIndex(key, "/")+1:]
		if hook == "" || strings.HasPrefix(key, "syscall ") || (hook == "sys_enter" || hook == "sys_exit") && !strings.HasPrefix(key, "raw_syscalls/") {
			continue // in contexts of raw tracepoints nothing says that both are of one system call
		}
		if at[hook] == nil {
			hooks = append(hooks, hook)
		}
		at[hook] = append(at[hook], name)
		if returns {
			both[hook] |= 2
		} else {
			both[hook] |= 1
		}
	}
	var out []Hooked
	for _, end := range hooks {
		h := Hooked{Returns: at[end]}
		for _, begin := range hooks {
			if begin != end && both[begin] == 1 && both[end] != 3 && ends(begin, end) {
				h.Entries = append(h.Entries, at[begin]...)
			}
		}
		if len(h.Entries) > 0 {
			out = append(out, h)
		}
	}
	return out
}

// ends reports whether a hook is where that ends which another one begins.
func ends(begin, end string) bool {
	for _, e := range endings {
		before, after, found := strings.Cut(begin, e.begin)
		if found && slices.ContainsFunc(e.ends, func(other string) bool { return end == before+other+after }) {
			return true
		}
	}
	return false
}
