package loader

import (
	"slices"
	"strings"
)

// endings are words in names of hooks, and those of the hook where the same thing ends:
// block_rq_issue and block_rq_complete, workqueue_execute_start and workqueue_execute_end.
var endings = map[string][]string{
	"enter": {"exit"}, "entry": {"exit"}, "begin": {"end"}, "start": {"end", "done", "stop", "finish", "complete"}, "issue": {"complete"}, "insert": {"complete"},
	"submit": {"complete", "done"}, "queue": {"complete", "dequeue"}, "alloc": {"free"}, "malloc": {"free"}, "create": {"destroy", "release", "remove", "delete"},
	"register": {"unregister"}, "attach": {"detach"}, "map": {"unmap"}, "acquire": {"release"}, "connect": {"close", "disconnect"}, "open": {"close", "release"},
	"lock": {"unlock"}, "down": {"up"}, "get": {"put"},
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
	for word, list := range endings {
		before, after, found := strings.Cut(begin, word)
		if found && slices.ContainsFunc(list, func(other string) bool { return end == before+other+after }) {
			return true
		}
	}
	return false
}
