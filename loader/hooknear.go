package loader

import (
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
	"sync"

	"github.com/bpfrun/bpfrun/btf"
	"github.com/bpfrun/bpfrun/internal/nearest"
	"github.com/bpfrun/bpfrun/internal/progtype"
)

// hookNames is a family of hooks: the BTF types of one kind whose names start with a prefix.
type hookNames struct {
	kind   btf.Kind
	prefix string
	// symbols adds kallsyms, because kprobes can attach to functions that BTF does not list.
	symbols bool
}

var (
	functions     = hookNames{kind: btf.KindFunc}
	probed        = hookNames{kind: btf.KindFunc, symbols: true}
	tracepoints   = hookNames{kind: btf.KindTypedef, prefix: tracePrefix}
	lsmHooks      = hookNames{kind: btf.KindFunc, prefix: "bpf_lsm_"}
	iterators     = hookNames{kind: btf.KindFunc, prefix: "bpf_iter_"}
	structOpTypes = hookNames{kind: btf.KindStruct, prefix: valuePrefix}
)

// each calls f with the names of a family, without their prefix.
func (t *Target) each(h hookNames, f func(name string)) {
	for _, m := range t.specs() {
		for id := m.BTF.FirstID(); int(id) < m.BTF.NumTypes(); id++ {
			if m.BTF.Kind(id) != h.kind {
				continue
			}
			if n, ok := strings.CutPrefix(m.BTF.Name(id), h.prefix); ok && n != "" {
				f(n)
			}
		}
	}
	if h.symbols {
		for n := range t.Kallsyms {
			f(n)
		}
	}
}

// nearestHooks is that of the target, or nothing with LoadOptions.NoHints.
func (l *loading) nearestHooks(h hookNames, name string) []string {
	if l.opts.NoHints {
		return nil
	}
	return l.t.nearestHooks(h, name)
}

// nearestMatches is that of the target, or nothing with LoadOptions.NoHints.
func (l *loading) nearestMatches(pattern string) []string {
	if l.opts.NoHints {
		return nil
	}
	return l.t.nearestMatches(pattern)
}

// nearestHooks returns up to three hooks of a family whose names resemble name, nearest first. The
// strings are copies, so that they do not keep the target's types in memory.
func (t *Target) nearestHooks(h hookNames, name string) []string {
	h.symbols = h.symbols && len(t.Kallsyms) > 0 // otherwise the family is that of functions
	type miss struct {
		family hookNames
		name   string
	}
	key := miss{h, name}
	if near, ok := t.missed.Load(key); ok { // tools miss the same hooks, and a program may be linked several times
		return slices.Clone(near.([]string))
	}
	near := t.searchHooks(h, name)
	t.missed.Store(key, near)
	return slices.Clone(near)
}

func (t *Target) searchHooks(h hookNames, name string) []string {
	index := t.hookIndex(h)
	near := index.Near(name, min(3, max(2, len(name)/4)))
	for _, n := range t.renamed(h, name) {
		near = append([]string{n}, slices.DeleteFunc(near, func(x string) bool { return x == n })...)
	}
	if family := familyOf(name); len(near) == 0 && family != "" {
		near = index.Prefixed(family, name)
	}
	near = near[:min(len(near), 3)]
	for i, n := range near {
		near[i] = strings.Clone(n)
	}
	return near
}

// hookIndex returns the names of a family, collected on first use.
func (t *Target) hookIndex(h hookNames) *nearest.Index {
	made, _ := t.hooks.LoadOrStore(h, sync.OnceValue(func() *nearest.Index {
		var x nearest.Index
		t.each(h, x.Add)
		return &x
	}))
	return made.(func() *nearest.Index)()
}

// familyOf returns the common prefix of functions for one purpose, "blk_account_io_" for
// blk_account_io_start; "" if that is not specific enough.
func familyOf(name string) string {
	const least = 6
	if i := strings.LastIndexByte(name, '_'); i+1 >= least {
		return name[:i+1]
	}
	return ""
}

// renamed returns what a missing function is often called on other kernels: with or without
// underscores, the worker inside a wrapper, or the variant of an allocator without its profiling
// macro.
func (t *Target) renamed(h hookNames, name string) []string {
	if h.kind != btf.KindFunc || h.prefix != "" {
		return nil
	}
	base := strings.TrimLeft(name, "_")
	var out []string
	for _, n := range []string{base, "__" + base, "do_" + base, base + "_noprof"} {
		_, symbol := t.Kallsyms[n]
		if n != name && (t.HasFunc(n) || h.symbols && symbol) {
			out = append(out, n)
		}
	}
	slices.Reverse(out)
	return out
}

// matches reports whether a function matches the glob pattern of a multi probe.
func (t *Target) matches(pattern string) (any bool) {
	if !strings.ContainsAny(pattern, "*?[") {
		_, symbol := t.Kallsyms[pattern]
		return symbol || t.HasFunc(pattern)
	}
	t.each(probed, func(n string) {
		if !any {
			any, _ = path.Match(pattern, n)
		}
	})
	return any
}

// nearestMatches returns functions that start like the fixed prefix of a pattern without matches,
// nearest first.
func (t *Target) nearestMatches(pattern string) []string {
	fixed := pattern
	if i := strings.IndexAny(pattern, "*?["); i >= 0 {
		fixed = pattern[:i]
	}
	if len(fixed) < 3 {
		return nil
	}
	if fixed == pattern {
		return t.nearestHooks(probed, pattern)
	}
	limit := min(3, max(1, len(fixed)/4))
	begins := map[string]string{} // the shortest function for each prefix
	t.each(probed, func(n string) {
		if len(n) < len(fixed) {
			return
		}
		at := n[:len(fixed)]
		if old := begins[at]; old == "" || len(n) < len(old) || len(n) == len(old) && n < old {
			begins[at] = n
		}
	})
	near := nearest.Names(fixed, slices.Sorted(maps.Keys(begins)), limit)
	for i, n := range near {
		near[i] = strings.Clone(begins[n])
	}
	return near
}

// offer names the hooks that the program may mean, or returns "".
func offer(lp *LinkedProgram, near []string) string {
	if placeholder(lp.AttachTo) {
		return fmt.Sprintf("the name looks like a placeholder that the program's loader replaces; if it is one, --attach %s=NAME does so here", lp.Name)
	}
	if len(near) == 0 {
		return ""
	}
	to := near[0]
	if progtype.Of(lp.Type).Target == progtype.Tracepoint {
		category, _, _ := strings.Cut(lp.AttachTo, "/")
		to = category + "/" + to
	}
	text := "the kernel has " + strings.Join(near, ", ")
	if !sameHook(lp.AttachTo, near[0]) {
		return text // what merely resembles it does something else
	}
	return fmt.Sprintf("%s; retarget with --attach %s=%s", text, lp.Name, to)
}

// placeholder reports whether a target is one that loaders replace, by the names that projects give
// those: dummy_fentry, PLACEHOLDER, replace_me.
func placeholder(target string) bool {
	name := strings.ToLower(target)
	return strings.HasPrefix(name, "dummy") || strings.HasPrefix(name, "placeholder") || strings.HasPrefix(name, "replace_me") || name == "todo" || name == "xxx"
}

// sameHook reports whether two names are likely to be of one hook: a misspelling, or what other
// releases call the function.
func sameHook(name, near string) bool {
	if i := strings.LastIndexAny(name, "/:"); i >= 0 {
		name = name[i+1:]
	}
	core := func(s string) string {
		return strings.TrimSuffix(strings.TrimPrefix(strings.TrimLeft(s, "_"), "do_"), "_noprof")
	}
	return core(name) == core(near) || nearest.Distance(name, near) <= 2 // two letters in the wrong order
}

// notListed is why BTF may lack a function that the kernel has.
const notListed = "BTF does not list inlined functions, clones (.isra, .constprop) or module functions"

// unlisted returns the error for a hook that the kernel may have although BTF does not list it;
// decide names the flags that would settle it.
func unlisted(lp *LinkedProgram, what, decide string, near []string) *Error {
	e := failf(ErrUnlistedHook, "%s", what)
	if text := offer(lp, near); text != "" {
		return e.hint("%s; %s", decide, text)
	}
	return e.hint("%s", decide)
}

// missing returns the error for a hook that the kernel does not have.
func missing(lp *LinkedProgram, what string, near []string) *Error {
	e := failf(ErrNoHook, "%s", what)
	if text := offer(lp, near); text != "" {
		e.hint("%s", text)
	}
	return e
}

// Misspelt returns the hooks that a name of an event may mean if the target has no such hook: a
// function, a tracepoint ("sched_switch", "sched/sched_switch") or a system call
// ("syscall/openat"). It returns nothing for a name that may exist, and for one that resembles
// none.
func (t *Target) Misspelt(hook string) []string {
	const closest = 2
	category, name, dotted := strings.Cut(hook, "/")
	if !dotted {
		category, name = "", hook
	}
	h, shown := probed, ""
	switch {
	case t.reduced() || strings.ContainsAny(name, "/.:+*?") || len(name) < 4:
		return nil
	case category == "syscall":
		h, shown = hookNames{kind: btf.KindFunc, prefix: syscallPrefix[t.Arch]}, "syscall/"
	case dotted:
		h, shown = tracepoints, category+"/"
	default:
		if s, _ := progtype.ParseSection(hook); s != nil { // all programs of a type: perf_event
			return nil
		}
		if _, _, isTrace := t.find(btf.KindTypedef, tracePrefix+name, ""); isTrace {
			return nil
		}
	}
	if _, symbol := t.Kallsyms[name]; symbol {
		return nil
	}
	if _, _, exists := t.find(h.kind, h.prefix+name, ""); exists {
		return nil
	}
	near := t.hookIndex(h).Near(name, closest)
	if !dotted {
		near = append(near, t.hookIndex(tracepoints).Near(name, closest)...)
	}
	var out []string
	for _, n := range near[:min(len(near), 3)] {
		out = append(out, shown+strings.Clone(n))
	}
	return out
}
