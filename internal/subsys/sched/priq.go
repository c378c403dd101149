package sched

// priq orders the tasks of a queue by vtime (struct rb_root priq), as a treap: a search tree that is
// a heap by a number that has nothing to do with the order, and therefore flat. Times are compared
// as they are when a task comes; those of tasks that wait may have changed, as in the kernel.
type priq struct{ root *Task }

// branch is a task's place in the tree.
type branch struct{ up, left, right *Task }

// heapKey is the task's number in the heap.
func (t *Task) heapKey() uint32 {
	x := uint32(t.Number) * 0x9e3779b1
	x = (x ^ x>>15) * 0x85ebca6b
	return x ^ x>>13
}

// add puts a task into the tree and returns the one before which it comes, nil for none: it comes
// after all of the same time.
func (q *priq) add(t *Task) (next *Task) {
	v := t.Vtime()
	var up *Task
	left := false
	for at := q.root; at != nil; {
		up = at
		if left = before(v, at.Vtime()); left {
			next, at = at, at.tree.left
		} else {
			at = at.tree.right
		}
	}
	t.tree = branch{up: up}
	switch {
	case up == nil:
		q.root = t
	case left:
		up.tree.left = t
	default:
		up.tree.right = t
	}
	for t.tree.up != nil && t.heapKey() < t.tree.up.heapKey() {
		q.rotate(t)
	}
	return next
}

// remove takes a task out of the tree, which has it.
func (q *priq) remove(t *Task) {
	for t.tree.left != nil && t.tree.right != nil {
		child := t.tree.left
		if r := t.tree.right; r.heapKey() < child.heapKey() {
			child = r
		}
		q.rotate(child)
	}
	child := t.tree.left
	if child == nil {
		child = t.tree.right
	}
	q.replace(t, child)
	t.tree = branch{}
}

// replace puts a task, which may be nil, where another one is below its parent.
func (q *priq) replace(t, by *Task) {
	up := t.tree.up
	switch {
	case up == nil:
		q.root = by
	case up.tree.left == t:
		up.tree.left = by
	default:
		up.tree.right = by
	}
	if by != nil {
		by.tree.up = up
	}
}

// rotate puts a task above its parent; their order stays.
func (q *priq) rotate(t *Task) {
	up := t.tree.up
	q.replace(up, t)
	if up.tree.left == t {
		up.tree.left = t.tree.right
		if up.tree.left != nil {
			up.tree.left.tree.up = up
		}
		t.tree.right = up
	} else {
		up.tree.right = t.tree.left
		if up.tree.right != nil {
			up.tree.right.tree.up = up
		}
		t.tree.left = up
	}
	up.tree.up = t
}
