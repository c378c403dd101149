package main

import (
	"slices"

	"github.com/bpfrun/bpfrun/internal/testing/mutate"
)

// reviewed are faults injected by reviewers, which no test detected at that time, at their places
// in the code of today. README.md lists them with the tests that detect them.
var reviewed = []mutate.Fault{
	{Name: "verifier: the largest constant may be added to pointers (review)", File: "internal/verifier/pointermath.go", Old: "case r.Var.IsConst() && (v >= maxVarOff ||", New: "case r.Var.IsConst() && (v > maxVarOff ||"},
	{Name: "verifier: numbers become pointers to untrusted memory (review)", File: "internal/verifier/pointermath.go", Old: "t&ptrUntrusted != 0 && a.has(", New: "t&ptrUntrusted != 0 && d == p && a.has("},
	{Name: "verifier: packet pointers keep their range when a negative number is subtracted (review)", File: "internal/verifier/pointermath.go", Old: "if off.SMin < 0 {\n\t\t\td.rng = 0", New: "if false && off.SMin < 0 {\n\t\t\td.rng = 0"},
	{Name: "verifier: constants may not be added to flow keys (review)", File: "internal/verifier/pointermath.go", Old: "if known || !a.has(since.FlowKeysMath) {", New: "if !a.has(since.FlowKeysMath) {"},
	{Name: "verifier: comparisons of stack pointers are in all histories (review)", File: "internal/verifier/condjump.go", Old: "if flags != 0 && c.has(since.ComparesInHistory) {", New: "if flags != 0 {"},
	{Name: "verifier: a register that may be 0 has a bit set (review)", File: "internal/verifier/condjump.go", Old: "case t.IsConst() || lo > 0 || hi < 0:", New: "case t.IsConst() || lo >= 0 || hi < 0:"},
	{Name: "verifier: pointers to the stack are spilled to the caller's (review)", File: "internal/verifier/stack.go", Old: "if f != k.frame() && r.typ == ptrStack {", New: "if false && f != k.frame() && r.typ == ptrStack {"},
	{Name: "verifier: spills of unknown numbers are never tracked (review)", File: "internal/verifier/stack.go", Old: "return k.has(since.UnboundedSpills) || !r.unbounded()", New: "return !r.unbounded()"},
	{Name: "verifier: zeros somewhere leave other numbers (review)", File: "internal/verifier/stack.go", Old: "s.isScalarSpill() && s.reg.Var.Equals(0) && k.has(since.ZeroSpillWrites)", New: "s.isScalarSpill() && k.has(since.ZeroSpillWrites)"},
	{Name: "verifier: packet loads in callbacks are refused in all releases (review)", File: "internal/verifier/stackdepth.go", Old: "s.ldAbs && l.has(since.NoLoadPacketInCallback) && w.inCallback()", New: "s.ldAbs && w.inCallback()"},
	{Name: "verifier: tail calls keep 256 bytes of callers (review)", File: "internal/verifier/stackdepth.go", Old: "s.tailCall && w.depth >= 256", New: "s.tailCall && w.depth > 256"},
	{Name: "verifier: private stacks begin above 64 bytes (review)", File: "internal/verifier/stackdepth.go", Old: "s.privateStack == privUnknown && own >= 64", New: "s.privateStack == privUnknown && own > 64"},
	{Name: "verifier: one function too many (review)", File: "internal/verifier/cfg.go", Old: "if count >= maxSubprogs {", New: "if count > maxSubprogs {"},
	{Name: "verifier: arenas have atomics in all releases (review)", File: "internal/verifier/atomic.go", Old: "return a.has(since.ArenaAtomics)", New: "return true"},
	{Name: "verifier: atomics on two bytes (review)", File: "internal/verifier/atomic.go", Old: "if size < 4 {", New: "if size < 2 {"},
	{Name: "verifier: packets begin aligned (review)", File: "internal/verifier/mem.go", Old: "constOf(int64(2 + int(r.off) + off))", New: "constOf(int64(int(r.off) + off))"},
	{Name: "verifier: dynptr slices outlive the packet (review)", File: "internal/verifier/refs.go", Old: "return r.typ.isPacketAny() || r.typ.isDynSlicePkt()", New: "return r.typ.isPacketAny()"},
	{Name: "verifier: signed 32-bit ranges are deduced a release late (review)", File: "internal/uapi/since/rows_numbers.go", Old: "{\"SplitSign32\", v7_0,", New: "{\"SplitSign32\", v7_1,"},
	{Name: "verifier: elements at run time a release late (review)", File: "internal/uapi/since/rows_maps.go", Old: "{\"RuntimeElements\", v6_1,", New: "{\"RuntimeElements\", v6_2,"},
	{Name: "verifier: constants on the left decide a release late (review)", File: "internal/uapi/since/rows_numbers.go", Old: "{\"ConstLeft\", v6_4,", New: "{\"ConstLeft\", v6_5,"},

	{Name: "bpfsys: names of pins may have a dot inside (review)", File: "internal/bpfsys/pin.go", Old: "strings.Contains(path.Base(p), \".\")", New: "strings.HasPrefix(path.Base(p), \".\")"},
	{Name: "bpfsys: pins by directory in all releases (review)", File: "internal/bpfsys/pin.go", Old: "if !s.has(since.PathFD) {", New: "if false {"},
	{Name: "bpfsys: pins without a path (review)", File: "internal/bpfsys/pin.go", Old: "case e != 0:", New: "case false && e != 0:"},
	{Name: "bpfsys: lookups with flags of updates (review)", File: "internal/bpfsys/mapelem.go", Anchor: "func (s *System) mapLookup(", Old: "uint64(uapi.Lock|uapi.CPU)", New: "uint64(uapi.Lock|uapi.CPU)|3"},
	{Name: "bpfsys: a descriptor behind an array's end (review)", File: "internal/bpfsys/mapelem.go", Old: "case index >= m.def.MaxEntries:", New: "case index > m.def.MaxEntries:"},
	{Name: "bpfsys: LSM and tracing programs of any kind in one array (review)", File: "internal/bpfsys/progowner.go", Old: "!s.has(since.ProgArrayPrototypes) || o.proto == is.proto", New: "true"},
	{Name: "bpfsys: extensions are in no program array of any release (review)", File: "internal/bpfsys/mapelem.go", Old: "if s.has(since.ExtendInProgArray) {", New: "if true {"},
	{Name: "bpfsys: batches of per-CPU arrays a release late (review)", File: "internal/bpfsys/batch.go", Old: "uapi.MapTypePercpuArray:   {lookup: uapi.R(5, 13),", New: "uapi.MapTypePercpuArray:   {lookup: uapi.R(5, 14),"},
	{Name: "bpfsys: batches that delete skip elements (review)", File: "internal/bpfsys/batch.go", Old: "return key, ahead == 1, skip, 0", New: "return key, ahead < 0, skip, 0"},
	{Name: "bpfsys: memory has two nodes (review)", File: "internal/bpfsys/map.go", Old: "flags&uapi.MapNumaNode != 0 && a.NumaNode() > 0 &&", New: "flags&uapi.MapNumaNode != 0 && a.NumaNode() > 1 &&"},
	{Name: "bpfsys: XDP in fragments in all releases (review)", File: "internal/bpfsys/prog.go", Old: "if s.has(since.XDPFrags) {", New: "if true {"},
	{Name: "bpfsys: a million instructions are too many (review)", File: "internal/bpfsys/prog.go", Old: "count > maxInsns", New: "count >= maxInsns"},
	{Name: "bpfsys: a license without an end is none (review)", File: "internal/bpfsys/prog.go", Old: "if !ok && license == \"\" {", New: "if !ok || license == \"\" {"},

	{Name: "sched: one cache for all CPUs is preferred (review)", File: "internal/subsys/sched/idle.go", Old: "s.spans.llc[0].Count() < len(s.cfg.CPUs)", New: "s.spans.llc[0].Count() <= len(s.cfg.CPUs)"},
	{Name: "sched: a core is idle when one of its CPUs is (review)", File: "internal/subsys/sched/idle.go", Old: "if core.Minus(i.cpus).Empty() {", New: "if true {"},
	{Name: "sched: idle CPUs of other nodes are picked (review)", File: "internal/subsys/sched/idle.go", Old: "if flags&PickIdleInNode != 0 {", New: "if false && flags&PickIdleInNode != 0 {"},
	{Name: "sched: a dispatch inserts a task too many (review)", File: "internal/subsys/sched/kfuncs.go", Old: "len(s.buffer.list) >= s.cfg.Batch", New: "len(s.buffer.list) > s.cfg.Batch"},
	{Name: "sched: a queue on a node that is not there (review)", File: "internal/subsys/sched/kfuncs.go", Old: "case node >= s.Nodes() ||", New: "case node > s.Nodes() ||"},
	{Name: "sched: of equal vtimes the last runs first (review)", File: "internal/subsys/sched/dsq.go", Old: "return int64(a-b) < 0", New: "return int64(a-b) <= 0"},
	{Name: "sched: preempting tasks queue at the end (review)", File: "internal/subsys/sched/dsq.go", Old: "if flags&(s.cfg.Values.EnqHead|EnqPreempt) != 0 {", New: "if flags&s.cfg.Values.EnqHead != 0 {"},
	{Name: "sched: direct insertions lose their own flags (review)", File: "internal/subsys/sched/enqueue.go", Old: "t.ddspFlags |= flags", New: "t.ddspFlags = flags"},
	{Name: "sched: a CPU that gets a task is always rescheduled (review)", File: "internal/subsys/sched/enqueue.go", Old: "if to.curr == nil && to != c {", New: "if to.curr == nil || to != c {"},

	{Name: "btf/check: a tag of component -2 (review)", File: "btf/check/meta.go", Old: "i < -1 {", New: "i < -2 {"},
	{Name: "btf/check: resilient locks alone are checked (review)", File: "btf/check/fields.go", Old: "{ return k.kind != resLock }", New: "{ return true }"},
	{Name: "btf/check: twelve special fields (review)", File: "btf/check/fields.go", Old: "room = 11", New: "room = 12"},
	{Name: "btf/fromdwarf: DWARF 4 has lists at numbers (review)", File: "btf/fromdwarf/paramloc.go", Old: "at.kind == valueNumber && u.Version < 4:", New: "at.kind == valueNumber && u.Version <= 4:"},
	{Name: "btf/fromdwarf: constants later in a function count (review)", File: "btf/fromdwarf/paramloc.go", Old: "case op.IsConstant() && first:", New: "case op.IsConstant():"},

	{Name: "matrix: untyped runs are not compared with each other (review)", File: "internal/app/matrix/compare.go", Old: "return !o.untyped || ref.untyped", New: "return !o.untyped"},
	{Name: "matrix: the base may be none of the kernels (review)", File: "internal/app/matrix/compare.go", Old: "base >= 0 && base < len(outcomes) &&", New: "base >= 0 && base <= len(outcomes) &&"},
	{Name: "matrix: the last of four differences is counted (review)", File: "internal/app/matrix/compare.go", Old: "if len(diffs) > maxDifferences {", New: "if len(diffs) >= maxDifferences {"},
	{Name: "matrix: effects are not compared (review)", File: "internal/app/matrix/compare.go", Old: "if !slices.Equal(o.effects, ref.effects) {", New: "if false && !slices.Equal(o.effects, ref.effects) {"},
	{Name: "matrix: names of addresses may look like numbers (review)", File: "internal/app/matrix/outcome.go", Old: "h.Sum64() | 1<<63", New: "h.Sum64()"},
	{Name: "matrix: missing fields are explained twice (review)", File: "internal/app/matrix/verdict.go", Old: "!ok || !r.Poisoned()", New: "!ok || true || !r.Poisoned()"},

	{Name: "maps: the least recently used element stays it when it is used (review)", File: "internal/recent/order.go", Old: ".Head == slot {\n\t\treturn", New: ".Tail == slot {\n\t\treturn"},
	{Name: "maps: replaced elements go to the first CPU's list (review)", File: "internal/maps/hash.go", Anchor: "h.lru.Remove(old)", Old: "h.lru.Add(slot, max(cpu, 0))", New: "h.lru.Add(slot, 0)"},

	{Name: "cover: functions of one name are listed each time (review)", File: "internal/app/cover/lcov.go", Old: "if fn.Dead || seen[fn.Name] {", New: "if fn.Dead {"},
	{Name: "cover: branches of lines that did not run have counts (review)", File: "internal/app/cover/lcov.go", Old: "if l.Count == 0 {\n\t\t\t\t\t\ttext", New: "if false {\n\t\t\t\t\t\ttext"},
	{Name: "cover: objects of one name are one (review)", File: "internal/app/cover/collect.go", Old: "if used == name {", New: "if false && used == name {"},

	{Name: "jit: the last byte of odd keys is not compared (review)", File: "jit/amd64/probe.go", Anchor: "c.group(1, opAdd, tempS, wordS)\n", Old: "left > 0;", New: "left > 1;"},

	{Name: "exec: pidfds are as before 6.9 (review)", File: "internal/exec/descriptor_linux.go", Old: "link == \"anon_inode:[pidfd]\" || strings.HasPrefix(link, \"pidfd:\")", New: "link == \"anon_inode:[pidfd]\""},
	{Name: "exec: sockets that are not TCP do not listen (review)", File: "internal/exec/descriptor_linux.go", Old: "} else if option(unix.SO_ACCEPTCONN) != 0 {", New: "} else if false && option(unix.SO_ACCEPTCONN) != 0 {"},
	{Name: "exec: all sockets are bound (review)", File: "internal/exec/descriptor_linux.go", Old: "i.Bound = i.Local.Port() != 0", New: "i.Bound = true"},
	{Name: "exec: a billion nanoseconds are no second (review)", File: "internal/exec/select_linux.go", Old: "part >= int64(time.Second/unit) &&", New: "part > int64(time.Second/unit) &&"},
	{Name: "debug/dap: frames before the first (review)", File: "internal/debug/dap/inspect.go", Old: "from := min(max(m.Arguments.StartFrame, 0), total)", New: "from := min(m.Arguments.StartFrame, total)"},
	{Name: "debug/dap: the frames sent are all (review)", File: "internal/debug/dap/inspect.go", Old: "StackFrames: out, TotalFrames: total}", New: "StackFrames: out, TotalFrames: len(out)}"},
}

// equivalent are faults injected by reviewers that change nothing that anybody can see, each with
// the reason. They are not tried; a test says when their place is gone.
var equivalent = []struct {
	mutate.Fault
	Why string
}{
	{mutate.Fault{Name: "btf/check: per-CPU kptrs in all releases (review)", File: "btf/check/fields.go", Old: "case s == \"percpu_kptr\" && c.has(since.PercpuKptrs):", New: "case s == \"percpu_kptr\":"}, "kptrs are checked from 6.12 on, and per-CPU ones came with 6.7"},
	{mutate.Fault{Name: "sched: direct insertions forget why the task was enqueued (review)", File: "internal/subsys/sched/enqueue.go", Old: "t.ddspFlags |= flags", New: "t.ddspFlags |= 0"}, "where a queue takes a task depends on none of the flags with which tasks are enqueued"},
	{mutate.Fault{Name: "maps: LRU maps lock (review)", File: "internal/maps/hash.go", Old: "lock := flags&uapi.Lock != 0 && !h.percpu && h.lru == nil", New: "lock := flags&uapi.Lock != 0 && !h.percpu"}, "values of LRU maps have no lock, without which the flag is refused with the same error"},
}

// gone are faults injected by reviewers whose place is gone, each with the reason.
var gone = [][2]string{
	{"verifier: far pointers may be null in all releases (review)", "no kernel has such a rule: Linux 6.18 takes them for not null"},
	{"verifier: spills keep unwritten bytes in all releases (review)", "they keep them from the release on that keeps zeros, Linux 6.8, which is one rule with its own programs"},
	{"cover: half an instruction is dead (review)", "both halves are marked as reached, so that the second needed no care"},
	{"bpfsys: a batch cannot begin at the end (review)", "a batch from behind the last element ends as on Linux 6.18, without a check of its own"},
}

// faults lists all mutations.
var faults = slices.Concat(ruleFaults, reviewed)
