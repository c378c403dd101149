package model

import "github.com/bpfrun/bpfrun/kernel/object"

// adopt appends a process to the list of its parent's children, which contains the leaders of processes only (copy_process). It gives neither task
// any other content. Lists that the user set stay as they are.
func (m *Model) adopt(parent, child *object.Object) {
	if parent == nil || parent == child {
		return
	}
	up, own := object.Fill(parent), object.Fill(child)
	head, at := memberAddr(parent, "children"), memberAddr(child, "sibling")
	first, ok := up.Field("children.next")
	last, _ := up.Field("children.prev")
	link, linked := own.Field("sibling.next")
	if !ok || !linked || up.Taken(first) || up.Taken(last) || own.Taken(link) {
		return
	}
	prev := parent.Stored(last)
	if prev == 0 || prev == head {
		prev = head
		up.Num("children.next", at)
	} else if brother := m.ObjectAt(prev); brother != nil {
		object.Fill(brother).Num("sibling.next", at)
	}
	own.Num("sibling.prev", prev)
	own.Num("sibling.next", head)
	up.Num("children.prev", at)
}
