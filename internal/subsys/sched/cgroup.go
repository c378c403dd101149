package sched

import (
	"slices"
	"strings"
)

// cgroups returns the paths of all cgroups, each before those below it; the root is "/".
func (s *Sim) cgroups() []string {
	seen := map[string]bool{"/": true}
	for i := range s.cfg.Tasks {
		addCgroup(seen, s.cfg.Tasks[i].Cgroup)
		for _, step := range s.cfg.Tasks[i].Steps {
			addCgroup(seen, step.To)
		}
	}
	var out []string
	for p := range seen {
		out = append(out, p)
	}
	slices.SortFunc(out, func(a, b string) int { return slices.Compare(parts(a), parts(b)) })
	return out
}

// parts returns the names of a path.
func parts(path string) []string {
	return strings.FieldsFunc(path, func(r rune) bool { return r == '/' })
}

// initCgroups is scx_cgroup_init. It reports false if the scheduler ended.
func (s *Sim) initCgroups() bool {
	for _, g := range s.cgroups() {
		if ret := int32(s.call(nil, OpCgroupInit, Cgroup(g), CgroupArgs{Weight: s.groupOf(g).weight})); ret != 0 {
			s.errorf("ops.cgroup_init() failed (%d)", ret)
		}
		if !s.going() {
			return false
		}
		s.inited = append(s.inited, g)
	}
	return true
}

// exitCgroups is scx_cgroup_exit: of the cgroups that were initialized, each after those below it
// (css_for_each_descendant_post).
func (s *Sim) exitCgroups() {
	var up []string // the last one, and those around it
	leave := func() {
		s.call(nil, OpCgroupExit, Cgroup(up[len(up)-1]))
		up = up[:len(up)-1]
	}
	for _, g := range s.inited {
		for len(up) > 0 && !below(g, up[len(up)-1]) {
			leave()
		}
		up = append(up, g)
	}
	for len(up) > 0 {
		leave()
	}
	s.inited = nil
}

// below reports whether a cgroup is another one, or is below it.
func below(g, other string) bool {
	p, o := parts(g), parts(other)
	return len(p) >= len(o) && slices.Equal(p[:len(o)], o)
}

// mayMove asks the scheduler about a move to another cgroup (scx_cgroup_can_attach).
func (s *Sim) mayMove(t *Task, to string) bool {
	if Path(to) == Path(t.Cgroup) {
		return false
	}
	ret := int32(s.call(nil, OpCgroupPrep, t, Cgroup(t.Cgroup), Cgroup(to)))
	if ret != 0 {
		s.errnoOf(OpCgroupPrep, ret)
	}
	return ret == 0
}
