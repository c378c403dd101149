package sched

// listKind is a kind of lists: a task is in one of each kind at most, and knows its neighbours there, so that it
// leaves at the same cost however many tasks wait.
type listKind uint8

const (
	inQueue    listKind = iota // of a dispatch queue
	inRunnable                 // of a CPU's tasks that wait to run (runnable_list)
	inDeferred                 // of those on their way to other CPUs' queues
	listKinds
)

// links are a task's neighbours in a list.
type links struct{ prev, next *Task }

// list is a list of tasks. What is copied with its tasks is a list of its own.
type list struct {
	kind        listKind
	first, last *Task
	n           int
}

// add puts a task before another one of the list, at the end for nil.
func (l *list) add(t, before *Task) {
	at := &t.links[l.kind]
	at.next = before
	if before == nil {
		at.prev = l.last
		l.last = t
	} else {
		at.prev = before.links[l.kind].prev
		before.links[l.kind].prev = t
	}
	if at.prev == nil {
		l.first = t
	} else {
		at.prev.links[l.kind].next = t
	}
	l.n++
}

// remove takes a task out of the list, which has it.
func (l *list) remove(t *Task) {
	at := &t.links[l.kind]
	if at.prev == nil {
		l.first = at.next
	} else {
		at.prev.links[l.kind].next = at.next
	}
	if at.next == nil {
		l.last = at.prev
	} else {
		at.next.links[l.kind].prev = at.prev
	}
	*at = links{}
	l.n--
}

// after returns the task that follows one, the first for nil; nil at the end.
func (l *list) after(t *Task) *Task {
	if t == nil {
		return l.first
	}
	return t.links[l.kind].next
}

// before returns the task that precedes one, the last for nil; nil at the beginning.
func (l *list) before(t *Task) *Task {
	if t == nil {
		return l.last
	}
	return t.links[l.kind].prev
}

// tasks returns the tasks as they are now.
func (l *list) tasks() []*Task {
	out := make([]*Task, 0, l.n)
	for t := l.first; t != nil; t = l.after(t) {
		out = append(out, t)
	}
	return out
}
