package csource

import "fmt"

// task writes uses of a task that the program looks up.
func (g *gen) task() {
	t := g.id("t")
	g.line("struct task_struct *%s = bpf_task_from_pid(%s);", t, g.of("1", "x", "i"))
	if g.wrong() {
		g.line("x += %s->pid;", t)
	}
	g.line("if (%s) {", t)
	g.indent++
	g.readTask(t)
	switch {
	case g.wrong():
		g.line("if (y > 3) bpf_task_release(%s);", t)
	case g.chance(0.2):
		u := g.id("t")
		g.line("struct task_struct *%s = bpf_task_acquire(%s); bpf_task_release(%s); %sbpf_task_release(%s);", u, t, t, g.check(u), u)
	case g.wrong():
		g.line("bpf_task_release(%s); x = %s->pid;", t, t)
	default:
		g.line("bpf_task_release(%s);", t)
	}
	g.indent--
	g.line("}")
}

// readTask writes reads of a task.
func (g *gen) readTask(t string) {
	switch g.rng.IntN(6) {
	case 0:
		g.line("x += %s->pid; y ^= %s->tgid;", t, t)
	case 1:
		g.line("a += %s->start_time; x += %s->comm[%d];", t, t, g.rng.IntN(16))
	case 2:
		g.line("x += %s->%s->%s;", t, g.of("real_parent", "group_leader"), g.of("pid", "flags", "tgid"))
	case 3:
		m := g.id("m")
		g.line("struct mm_struct *%s = %s->mm; %sa ^= %s->start_code;", m, t, g.check(m), m)
	case 4:
		before, k := g.bound(16)
		g.line("%s", before)
		g.line("x += %s->comm[%s];", t, k)
	case 5:
		g.line("bpf_probe_read_kernel(text, 16, %s->comm);", t)
	}
}

// walk writes uses of a trusted task that is an argument.
func (g *gen) walk() {
	t := g.id("t")
	g.line("struct task_struct *%s = %s;", t, g.fl.trusted)
	if g.fl.name == "iter" && !g.wrong() {
		g.line("if (!%s) return 0;", t)
	}
	g.readTask(t)
	switch g.rng.IntN(4) {
	case 0:
		u := g.id("t")
		g.line("struct task_struct *%s = bpf_task_acquire(%s); if (%s) { %s; bpf_task_release(%s); }", u, t, u, "x += "+u+"->pid", u)
	case 1:
		u := g.id("t")
		g.line("%s", g.of("bpf_rcu_read_lock();", "bpf_rcu_read_lock();", ""))
		g.line("struct task_struct *%s = %s->real_parent; if (%s) { %s = bpf_task_acquire(%s); if (%s) bpf_task_release(%s); }", u, t, u, u, u, u, u)
		g.line("bpf_rcu_read_unlock();")
	case 2:
		f := g.id("f")
		g.line("struct mm_struct *%s_m = %s->mm; if (%s_m) { struct file *%s = %s_m->exe_file; %sx += %s->f_flags; }", f, t, f, f, f, g.check(f), f)
	case 3:
		g.line("a += %s->%s;", t, g.of("group_leader->real_parent->pid", "cgroups->dfl_cgrp->level", "mm->exe_file->f_inode->i_ino"))
	}
}

// kptr writes exchanges of kernel pointers in a map.
func (g *gen) kptr() {
	h, k, o := g.id("h"), g.id("k"), g.id("o")
	g.line("u32 %s = 0; struct held *%s = bpf_map_lookup_elem(&kept, &%s);", k, h, k)
	g.line("if (%s) {", h)
	g.indent++
	kinds := 4
	if g.fl.packet && !g.wrong() {
		kinds = 3
	}
	switch g.rng.IntN(kinds) {
	case 0:
		g.line("struct task_struct *%s = bpf_kptr_xchg(&%s->task, NULL);", o, h)
		g.line("if (%s) { x += %s->pid; %s }", o, o, g.release("bpf_task_release("+o+");"))
	case 1:
		g.line("struct task_struct *%s = bpf_task_from_pid(x);", o)
		g.line("if (%s) { %s = bpf_kptr_xchg(&%s->task, %s); if (%s) %s }", o, o, h, o, o, g.release("bpf_task_release("+o+");"))
	case 2:
		g.line("bpf_rcu_read_lock(); struct task_struct *%s = %s->task; %sx += %s->pid; bpf_rcu_read_unlock();", o, h, g.check(o), o)
	case 3:
		g.line("struct bpf_cpumask *%s = bpf_cpumask_create();", o)
		g.line("if (%s) { bpf_cpumask_set_cpu(x, %s); %s = bpf_kptr_xchg(&%s->mask, %s); if (%s) %s }", o, o, o, h, o, o, g.release("bpf_cpumask_release("+o+");"))
	}
	g.indent--
	g.line("}")
}

// release is a statement that gives a reference back, or none.
func (g *gen) release(s string) string {
	if g.wrong() {
		return "y++;"
	}
	return s
}

// cpus writes uses of a mask of processors, which programs for packets may not have.
func (g *gen) cpus() {
	m := g.id("m")
	g.line("struct bpf_cpumask *%s = bpf_cpumask_create();", m)
	g.line("if (%s) { bpf_cpumask_set_cpu(%s, %s); x += bpf_cpumask_first((const struct cpumask *)%s); %s }", m, g.of("x", "3", "y"), m, m, g.release("bpf_cpumask_release("+m+");"))
}

// object writes an allocation.
func (g *gen) object() {
	o := g.id("o")
	before, k := "", fmt.Sprint(g.rng.IntN(4))
	if g.wrong() {
		before, k = g.bound(4)
	}
	g.line("struct owned *%s = new(struct owned);", o)
	g.line("if (%s) {", o)
	g.line("\t%s", before)
	g.line("\t%s->n = a; %s->m[%s] = x; b += %s->n;", o, o, k, o)
	g.line("\t%s", g.release("drop("+o+");"))
	g.line("}")
}

// sections writes a section in which the program may not sleep.
func (g *gen) sections() {
	lock, unlock := "bpf_rcu_read_lock();", "bpf_rcu_read_unlock();"
	if g.chance(0.4) {
		lock, unlock = "bpf_preempt_disable();", "bpf_preempt_enable();"
	}
	g.line("%s", lock)
	g.arithmetic()
	g.lookupShort()
	if g.wrong() {
		g.line("if (x > 2) %s", unlock)
		return
	}
	g.line("%s", unlock)
}

func (g *gen) lookupShort() {
	e, k := g.id("e"), g.id("k")
	g.line("u32 %s = x; u64 *%s = bpf_map_lookup_elem(&lru, &%s); %s*%s += a;", k, e, k, g.check(e), e)
}

// tasks writes a loop over all tasks.
func (g *gen) tasks() {
	it, t := g.id("it"), g.id("t")
	g.line("struct bpf_iter_task %s; struct task_struct *%s;", it, t)
	guard := g.fl.sleepable && !g.wrong()
	if guard {
		g.line("bpf_rcu_read_lock();")
	}
	g.line("bpf_iter_task_new(&%s, NULL, 0);", it)
	g.line("while ((%s = bpf_iter_task_next(&%s))) { x += %s->pid; %s}", t, it, t, g.of("", "if (x > 9) break; ", "y += "+t+"->real_parent->tgid; "))
	if !g.wrong() {
		g.line("bpf_iter_task_destroy(&%s);", it)
	}
	if guard {
		g.line("bpf_rcu_read_unlock();")
	}
}

// list writes uses of the list of owned nodes.
func (g *gen) list() {
	n, p := g.id("n"), g.id("p")
	g.line("struct node *%s = new(struct node);", n)
	g.line("if (%s) { %s->n = a; bpf_spin_lock(&glock); bpf_list_push_front_impl(&ghead, &%s->list, NULL, 0); %sbpf_spin_unlock(&glock); }", n, n, n, g.of("", n+"->n++; ", ""))
	if g.chance(0.6) {
		g.line("bpf_spin_lock(&glock); struct bpf_list_node *%s = bpf_list_pop_front(&ghead); bpf_spin_unlock(&glock);", p)
		g.line("if (%s) { struct node *q = (void *)%s - offsetof(struct node, list); b += q->n; %s }", p, p, g.release("drop(q);"))
	}
}

// tree writes uses of the tree of owned nodes.
func (g *gen) tree() {
	n, p, less := g.id("n"), g.id("p"), g.id(g.name+"_less")
	fmt.Fprintf(&g.before, "static bool %s(struct bpf_rb_node *l, const struct bpf_rb_node *r)\n{\n\treturn ((struct node *)((void *)l - offsetof(struct node, tree)))->n < ((struct node *)((void *)r - offsetof(struct node, tree)))->n;\n}\n", less)
	g.line("struct node *%s = new(struct node);", n)
	g.line("if (%s) { %s->n = b; bpf_spin_lock(&tlock); bpf_rbtree_add_impl(&groot, &%s->tree, %s, NULL, 0); bpf_spin_unlock(&tlock); }", n, n, n, less)
	if g.chance(0.6) {
		g.line("bpf_spin_lock(&tlock); struct bpf_rb_node *%s = bpf_rbtree_first(&groot); if (%s) %s = bpf_rbtree_remove(&groot, %s); bpf_spin_unlock(&tlock);", p, p, p, p)
		g.line("if (%s) { struct node *q = (void *)%s - offsetof(struct node, tree); a += q->n; %s }", p, p, g.release("drop(q);"))
	}
}
