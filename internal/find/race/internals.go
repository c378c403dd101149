package race

import (
	"fmt"
	"strings"

	"github.com/bpfrun/bpfrun/internal/progtype"
	"github.com/bpfrun/bpfrun/internal/uapi/since"
)

// MapRule says what of an operation on a map happens at once, and what another CPU can come in
// between of.
type MapRule struct {
	Maps, Operation string
	// Rule is what holds, Kernel the function of the kernel that makes it so.
	Rule, Kernel string
}

// MapRules are how atomic operations on maps are, as [system.call] and [system.userNext] follow it.
var MapRules = []MapRule{
	{"array", "lookup", "returns the address of the value, which stays the same: nothing to interfere with", "array_map_lookup_elem"},
	{"array", "update", "copies the value word by word, without a lock: others see parts of it, and two updates can mix; with `BPF_F_LOCK` it holds the value's lock", "array_map_update_elem"},
	{"per-CPU array", "update by a program", "copies the value word by word: what interrupts the program on its CPU sees parts of it", "bpf_percpu_array_update"},
	{"hash", "lookup", "finds the element that is there at that moment, without a lock; its value can be changed, deleted and reused while a program has its address", "__htab_map_lookup_elem"},
	{"hash", "update", "fills an element that nobody else sees and puts it in the place of the old one, under the lock of the bucket: at once; a program that has the old one's address keeps that", "htab_map_update_elem"},
	{"hash", "update with `BPF_NOEXIST` or `BPF_EXIST`", "whether the key is there is checked under the same lock: a check that cannot be outdated", "check_flags"},
	{"hash", "update with `BPF_F_LOCK`", "changes the value in its place, under the lock in it", "htab_map_update_elem"},
	{"hash", "delete", "takes the element out under the lock of the bucket: of two, one gets -ENOENT", "htab_map_delete_elem"},
	{"hash", "reuse of memory", "a preallocated element is the next one's as soon as it is deleted or replaced; with `BPF_F_NO_PREALLOC` only after the programs that may have its address", "free_htab_elem"},
	{"per-CPU hash", "update", "changes the value of an existing element in its place, word by word", "pcpu_copy_value"},
	{"LRU hash", "update", "may take the memory of an element that is in use for another key", "prealloc_lru_pop"},
	{"queue, stack", "push, pop, peek", "at once, under the lock of the map", "queue_map_push_elem"},
	{"trie", "update, delete", "at once, under the lock of the map; lookups need none", "trie_update_elem"},
	{"ring buffer", "reserve, submit", "reserving is at once; a record is not read before it is submitted", "__bpf_ringbuf_reserve"},
	{"local storage", "get with create", "creates the value if none is there, under a lock: both get the same", "bpf_local_storage_update"},
	{"all", "lookup by user space", "copies the value word by word; elements of hashes are held by RCU meanwhile", "bpf_map_copy_value"},
	{"hash", "lookup and delete by user space", "takes the element out under the lock of the bucket; programs that have its address still write to it", "__htab_map_lookup_and_delete_elem"},
	{"globals, mapped arrays", "access by user space", "loads and stores of its own, as by another CPU", "array_map_mmap"},
}

// MapTable writes the rules as a table.
func MapTable() string {
	var b strings.Builder
	b.WriteString("|map|operation|what happens|kernel|\n|---|---|---|---|\n")
	for _, r := range MapRules {
		fmt.Fprintf(&b, "|%s|%s|%s|`%s`|\n", r.Maps, r.Operation, r.Rule, r.Kernel)
	}
	return b.String()
}

// PlaceTable writes where programs of each type run, and what can interrupt them, as a table.
func PlaceTable() string {
	var b strings.Builder
	b.WriteString("|programs|run in|another task can come in between|guard|kernel|known|\n|---|---|---|---|---|---|\n")
	type row struct {
		types []string
		text  string
	}
	var rows []row
	for _, t := range progtype.All() {
		for _, p := range t.Runs {
			name := t.Type.String()
			if len(p.Sections) > 0 {
				name += " (" + strings.Join(p.Sections, ", ") + ")"
			}
			if p.Attach != 0 {
				name += " (" + p.Attach.String() + ")"
			}
			text := placeText(&p)
			if n := len(rows); n > 0 && rows[n-1].text == text {
				rows[n-1].types = append(rows[n-1].types, name)
				continue
			}
			rows = append(rows, row{[]string{name}, text})
		}
	}
	for _, r := range rows {
		fmt.Fprintf(&b, "|%s|%s|\n", strings.Join(r.types, ", "), r.text)
	}
	return b.String()
}

// HookTable writes which hooks are reached only in some contexts, as a table.
func HookTable() string {
	var b strings.Builder
	b.WriteString("|hooks|reached in|by|\n|---|---|---|\n")
	for _, h := range progtype.HookPlaces {
		kind, also := "functions", ""
		if h.Tracepoint {
			kind = "tracepoints"
		}
		if h.Masked {
			also = ", with interrupts disabled"
		}
		in := contexts(&progtype.Place{Task: h.Task, SoftIRQ: h.SoftIRQ, HardIRQ: h.HardIRQ})
		by := h.By
		if h.Assumed {
			kind, by = "all other "+kind, "not known: that of most"
		}
		if h.SystemCall {
			also = "; another task can come in between " + fromWhen(since.SyscallTracepointPreemptible)
		}
		fmt.Fprintf(&b, "|%s `%s`|%s%s|%s|\n", kind, strings.Join(h.Names, "`, `"), in, also, by)
	}
	return b.String()
}

// contexts lists where programs run: "tasks, softirqs".
func contexts(p *progtype.Place) string {
	var in []string
	for _, x := range []struct {
		in   bool
		name string
	}{{p.Task, "tasks"}, {p.SoftIRQ, "softirqs"}, {p.HardIRQ, "interrupts"}, {p.NMI, "NMIs"}} {
		if x.in {
			in = append(in, x.name)
		}
	}
	return strings.Join(in, ", ")
}

// placeText is a row without the programs.
func placeText(p *progtype.Place) string {
	task := "never"
	if !p.Never {
		task = fromWhen(p.Preempted)
	}
	guard := [...]string{progtype.Unguarded: "none", progtype.OwnGuard: "its own program", progtype.AllTracing: "all kprobes, tracepoints and perf events"}[p.Guard]
	if p.GuardFrom != since.Always {
		guard += " from Linux " + p.GuardFrom.From().String()
	}
	if p.GuardUntil != since.Always {
		guard += " before Linux " + p.GuardUntil.From().String()
	}
	return fmt.Sprintf("%s|%s|%s|`%s`|%v", contexts(p), task, guard, p.Kernel, p.Evidence)
}

// fromWhen says since when a rule is there, and how that is known.
func fromWhen(r since.Rule) string {
	return fmt.Sprintf("from Linux %v (%v)", r.From(), r.Row().Evidence)
}
