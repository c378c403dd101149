package helpers

import (
	"fmt"
	"strings"

	"github.com/bpfrun/bpfrun/btf"
	"github.com/bpfrun/bpfrun/helpers/proto"
	"github.com/bpfrun/bpfrun/internal/maps"
	"github.com/bpfrun/bpfrun/internal/uapi"
)

// Calls of every helper and kfunc that a test run reaches, each with one argument out of line:
// NULL, not mapped, not aligned, sizes of 0, 1, the limit and beyond, flags that do not exist. What
// the function returns and what it leaves in its buffers is recorded from a kernel.

// reachable lists the program types that BPF_PROG_TEST_RUN runs without an attachment, the most
// capable first.
var reachable = []uapi.ProgType{uapi.ProgTypeSchedCls, rawTP, uapi.ProgTypeSyscall, uapi.ProgTypeXDP, uapi.ProgTypeCgroupSkb, uapi.ProgTypeLwtXmit}

// recordedRelease is that of the kernel behind the records, laterRelease that of the kernel behind
// those of functions that it does not have.
var recordedRelease, laterRelease = uapi.R(6, 18), uapi.R(7, 2)

// argMaps are the maps that functions take besides hash maps.
var argMaps = map[string]maps.Spec{
	"bpf_map_push_elem": queueMap, "bpf_map_pop_elem": queueMap, "bpf_map_peek_elem": queueMap,
	"bpf_map_lookup_percpu_elem": {Type: uapi.MapTypePercpuArray, KeySize: 4, ValueSize: 8, MaxEntries: 3},
	"bpf_ringbuf_output":         ringMap, "bpf_ringbuf_reserve": ringMap, "bpf_ringbuf_query": ringMap,
	"bpf_perf_event_output": perfMap, "bpf_perf_event_read": perfMap, "bpf_perf_event_read_value": perfMap, "bpf_skb_output": perfMap, "bpf_xdp_output": perfMap,
	"bpf_get_stackid":               {Type: uapi.MapTypeStackTrace, KeySize: 4, ValueSize: 80, MaxEntries: 16},
	"bpf_tail_call":                 {Type: uapi.MapTypeProgArray, KeySize: 4, ValueSize: 4, MaxEntries: 3},
	"bpf_skb_under_cgroup":          cgroupMap,
	"bpf_current_task_under_cgroup": cgroupMap,
	"bpf_redirect_map":              {Type: uapi.MapTypeDevmap, KeySize: 4, ValueSize: 4, MaxEntries: 3},
	"bpf_map_sum_elem_count":        hash,
}

var (
	queueMap  = maps.Spec{Type: uapi.MapTypeQueue, ValueSize: 8, MaxEntries: 2}
	ringMap   = maps.Spec{Type: uapi.MapTypeRingbuf, MaxEntries: 4096}
	perfMap   = maps.Spec{Type: uapi.MapTypePerfEventArray, KeySize: 4, ValueSize: 4, MaxEntries: 2}
	cgroupMap = maps.Spec{Type: uapi.MapTypeCgroupArray, KeySize: 4, ValueSize: 4, MaxEntries: 2}
)

// function is a helper or kfunc whose error paths are recorded.
type function struct {
	name  string
	call  string
	typ   uapi.ProgType
	args  []proto.Arg
	fixed proto.Return
	frees string // what releases the result
	width int    // of the result in bytes, if it is not 8
}

// errorFunctions lists the functions that generated programs can call on a release, and why they
// cannot call the others. Of the later release these are the functions that the earlier one does
// not have.
func errorFunctions(release uapi.Release) (list []function, without map[string]string) {
	without = map[string]string{}
	add := func(f function, class func(uapi.ProgType) ([]proto.Arg, proto.Return, bool)) {
		if why := withoutErrorPaths[f.name]; why != "" {
			without[f.name] = why
			return
		}
		for prefix, why := range withoutErrorPathsOf {
			if strings.HasPrefix(f.name, prefix) {
				without[f.name] = why
				return
			}
		}
		why := "no program of a type that BPF_PROG_TEST_RUN runs may call it"
		for _, typ := range reachable {
			args, ret, ok := class(typ)
			if !ok {
				continue
			}
			if bad := beyondGenerator(args); bad != "" {
				why = "takes " + bad
				continue
			}
			f.typ, f.args, f.fixed = typ, args, ret
			list = append(list, f)
			return
		}
		without[f.name] = why
	}
	for _, h := range Table() {
		f := function{name: h.Name(), call: h.Name()}
		if h.Has(proto.Acquires, release) {
			f.frees = "call bpf_sk_release"
		}
		if h.Common().Ret.Kind == proto.RetRingbufMem {
			f.frees = "r2 = 0\ncall bpf_ringbuf_discard"
		}
		if release == laterRelease { // no helper is newer
			continue
		}
		if h.Params() == 0 && h.Common().Ret.Kind == proto.Integer {
			without[f.name] = "takes nothing: it has no error path"
			continue
		}
		add(f, func(typ uapi.ProgType) ([]proto.Arg, proto.Return, bool) {
			p := h.For(release, proto.Caller{Type: typ})
			if p == nil || p.Attr&proto.MightSleep != 0 && typ != uapi.ProgTypeSyscall {
				return nil, proto.Return{}, false
			}
			return p.Args, p.Ret, true
		})
	}
	for _, k := range Kfuncs() {
		f := function{name: k.Name, call: "kfunc " + k.Name, frees: kfuncFrees[k.Name]}
		row := k
		switch {
		case iteration(k.Name):
			without[f.name] = "called with the function that starts the iteration"
			continue
		case !k.In(release):
			without[f.name] = noRecords
			continue
		case release == laterRelease && k.In(recordedRelease):
			continue
		case len(k.Args) == 0:
			without[f.name] = "takes nothing: it has no error path"
			continue
		}
		args, width := typedArgs(k)
		f.width = width
		add(f, func(typ uapi.ProgType) ([]proto.Arg, proto.Return, bool) {
			flags := row.FlagsIn(release)
			if !row.For(release, proto.Caller{Type: typ}) || flags&proto.Sleepable != 0 && typ != uapi.ProgTypeSyscall {
				return nil, proto.Return{}, false
			}
			ret := proto.Return{}
			if flags&proto.ReturnsNull != 0 {
				ret.Kind = proto.RetBTFID
			}
			if f.width == 0 {
				ret.Kind = proto.Void
			}
			return args, ret, true
		})
	}
	return list, without
}

// unsafeKind is an argument of a kfunc that may be any address.
const unsafeKind = proto.ArgKind(200)

// typedArgs are the arguments of a kfunc with the structs that its prototype points to, and the
// bytes of its result; the others of r0 are what the function leaves in them.
func typedArgs(k *Kfunc) (args []proto.Arg, width int) {
	args, width = append([]proto.Arg(nil), k.Args...), 4
	spec, err := newestTypes()
	if err != nil {
		panic(err)
	}
	fn, _, ok := spec.FuncProto(strings.TrimSuffix(k.Name, "_impl"))
	if ok {
		n, _ := spec.Sizeof(fn.Ref)
		width = int(max(n, 0))
	}
	for i := range args {
		if !ok || args[i].Kind != proto.BTFID || i >= len(fn.Params) {
			continue
		}
		ptr := spec.SkipMods(fn.Params[i].Type)
		if ptr.Kind != btf.KindPtr {
			continue
		}
		switch to := spec.SkipMods(ptr.Ref); {
		case to.Kind == btf.KindStruct:
			args[i].BTF = to.Name
		case strings.HasSuffix(fn.Params[i].Name, "__ign"):
			args[i].Kind = unsafeKind
		}
	}
	return args, width
}

// objectPreludes obtain the kernel objects that programs can get anywhere, in r9 (the second of a
// kind is the same), and release them.
var objectPreludes = map[string][2]string{
	"task_struct": {"call bpf_get_current_task_btf\nr9 = r0", ""},
	"bpf_cpumask": {cpumaskPrelude, "r1 = r9\ncall kfunc bpf_cpumask_release"},
	"cpumask":     {cpumaskPrelude, "r1 = r9\ncall kfunc bpf_cpumask_release"},
	"bpf_sock":    {"r0 = 0\nr9 = *(u64 *)(r6 + 168)\nif r9 != 0 goto +1\nexit\nr1 = r9\ncall bpf_sk_fullsock\nif r0 != 0 goto +1\nexit\nr9 = r0", ""},
	"cgroup":      {"r1 = 1\ncall kfunc bpf_cgroup_from_id\nif r0 != 0 goto +1\nexit\nr9 = r0", "r1 = r9\ncall kfunc bpf_cgroup_release"},
}

func releaseOf(object string) string {
	_, name, _ := strings.Cut(objectPreludes[object][1], "kfunc ")
	return name
}

// iteration reports whether a kfunc is the next or destroy function of an iterator.
func iteration(name string) bool {
	return strings.HasPrefix(name, "bpf_iter_") && (strings.HasSuffix(name, "_next") || strings.HasSuffix(name, "_destroy"))
}

const cpumaskPrelude = "call kfunc bpf_cpumask_create\nif r0 != 0 goto +1\nexit\nr9 = r0\nr1 = 1\nr2 = r9\ncall kfunc bpf_cpumask_set_cpu"

// beyondGenerator names an argument that takes more than a generated program has.
func beyondGenerator(args []proto.Arg) string {
	for _, a := range args {
		switch a.Kind {
		case proto.SpinLock, proto.Timer, proto.Kptr, proto.Func, proto.RingbufMem, proto.PercpuBTFID:
			return "a " + a.Kind.String() + ", which only compiled objects have"
		case proto.BTFID:
			if _, ok := objectPreludes[a.BTF]; !ok {
				return "a kernel object that a generated program does not have"
			}
		}
	}
	return ""
}

const nullArg = raw("0")

// usual is an argument that is in order.
func usual(a proto.Arg) any {
	switch a.Kind {
	case proto.ConstMap:
		return inMap(2)
	case proto.MapKey:
		return at(1024)
	case proto.MapValue:
		return at(1040)
	case proto.Mem:
		return at(1056)
	case proto.FixedMem:
		return at(1120)
	case proto.ConstSize, proto.ConstSizeOrZero, proto.AllocSize:
		return 16
	case proto.Ctx:
		return ctx
	case proto.ConstString:
		return ro(0)
	case proto.Stack:
		return onFP(-8)
	case proto.BTFID, proto.SockCommon, proto.Socket, proto.BTFSockCommon:
		return raw("r9")
	case proto.Iterator:
		return onFP(-64)
	case unsafeKind:
		return at(1024)
	case proto.Dynptr:
		if a.Flags&proto.Uninit != 0 {
			return onFP(-32)
		}
		return onFP(-16)
	}
	return 1
}

// odd lists the arguments that are out of line, by what is odd about them.
func odd(a proto.Arg) (names []string, values []any) {
	add := func(name string, v any) { names, values = append(names, name), append(values, v) }
	switch a.Kind {
	case proto.Anything, proto.Scalar:
		for _, v := range []any{0, 2, 4, uint64(1 << 16), uint64(1 << 31), uint64(0xffffffff), uint64(1 << 32), uint64(1 << 63), -1} {
			add(fmt.Sprintf("%#x", v), v)
		}
	case proto.ConstSize, proto.ConstSizeOrZero:
		for _, n := range []int{0, 1, 3, 8, 15, 64, 512, 900} {
			add(fmt.Sprintf("%d bytes", n), n)
		}
	case proto.Mem, proto.MapKey, proto.MapValue, proto.FixedMem:
		add("NULL", nullArg)
		add("not aligned", at(int(usual(a).(at))+1))
	case unsafeKind:
		for _, v := range []any{nullArg, 1, uint64(1 << 63), uint64(0xffffc8ffffffff00), uint64(0x7fffffffffff), at(1024 + 200)} {
			add(fmt.Sprint(v), v)
		}
	case proto.BTFID, proto.SockCommon, proto.Socket, proto.BTFSockCommon, proto.Ctx, proto.ConstString, proto.Stack:
		add("NULL", nullArg)
	case proto.Dynptr:
		add("a dynptr of nothing", onFP(-48))
	}
	return names, values
}

// errorCases are the calls of a function.
func (f *function) errorCases() []recorded {
	args := make([]any, len(f.args))
	for i, a := range f.args {
		args[i] = usual(a)
	}
	out := []recorded{f.errorCase("as usual", args)}
	for i, a := range f.args {
		names, values := odd(a)
		for j, name := range names {
			with := append([]any(nil), args...)
			with[i] = values[j]
			if c := f.errorCase(fmt.Sprintf("argument %d: %s", i+1, name), with); !unlike[c.name] {
				out = append(out, c)
			}
			if size := i + 1; values[j] == any(nullArg) && size < len(args) && (f.args[size].Kind == proto.ConstSizeOrZero || f.args[size].Kind == proto.ConstSize) {
				with = append([]any(nil), with...)
				with[size] = 0
				out = append(out, f.errorCase(fmt.Sprintf("argument %d: NULL of 0 bytes", i+1), with))
			}
		}
	}
	return out
}

func (f *function) errorCase(name string, args []any) recorded {
	c := recorded{name: f.name + " " + name, typ: f.typ, init: strings.Repeat("Z", 200), ro: "text\x00%d %s\x00"}
	spec, ok := argMaps[f.name]
	if !ok {
		spec = hash
	}
	c.maps = []maps.Spec{spec}
	if f.typ == uapi.ProgTypeSyscall {
		c.ctx = make([]byte, 16)
	}
	object := ""
	for _, a := range f.args {
		switch a.Kind {
		case proto.BTFID:
			if object == "" {
				c.steps = append(c.steps, objectPreludes[a.BTF][0])
			}
			object = a.BTF
		case proto.SockCommon, proto.Socket, proto.BTFSockCommon:
			object = "bpf_sock"
			c.steps = append(c.steps, objectPreludes[object][0])
		case proto.Dynptr:
			c.steps = append(c.steps, "r1 = r7\nr1 += 1152\nr2 = 32\nr3 = 0\nr4 = r10\nr4 += -16\ncall bpf_dynptr_from_mem",
				"r1 = r7\nr1 += 1152\nr2 = 32\nr3 = 1\nr4 = r10\nr4 += -48\ncall bpf_dynptr_from_mem")
		}
	}
	call := do(f.call, args...)
	switch {
	case f.fixed.Kind == proto.Void:
		call = strings.TrimSuffix(call, "keep r0\n")
	case f.fixed.Pointer():
		call = strings.TrimSuffix(call, "keep r0\n") + present
		if f.frees != "" {
			call += fmt.Sprintf("\nif r0 == 0 goto +%d\nr1 = r0\n%s", 2+strings.Count(f.frees, "\n"), f.frees)
		}
	case varying[f.name]:
		// What a success returns and writes depends on the machine.
		reg := "r0"
		if strings.HasPrefix(f.call, "kfunc ") {
			reg = "w0" // an int
		}
		call = strings.TrimSuffix(call, "keep r0\n") + fmt.Sprintf("if %s s< 0 goto +%d\nr0 = 1\n%s\nkeep r0", reg, len(wipe)+1, strings.Join(wipe, "\n"))
	}
	switch {
	case f.fixed.Kind != proto.Integer:
	case f.width == 4:
		call = strings.Replace(call, "keep r0", "w0 = w0\nkeep r0", 1)
	case f.width == 1:
		call = strings.Replace(call, "keep r0", "r0 &= 255\nkeep r0", 1)
	}
	c.steps = append(c.steps, call)
	if object != "" && f.name != releaseOf(object) {
		c.steps = append(c.steps, objectPreludes[object][1])
	}
	if iter, ok := strings.CutSuffix(f.call, "_new"); ok && strings.HasPrefix(f.name, "bpf_iter_") {
		next := strings.TrimSuffix(do(iter+"_next", onFP(-64)), "keep r0\n") + present
		destroy := strings.TrimSuffix(do(iter+"_destroy", onFP(-64)), "keep r0\n")
		c.steps = append(c.steps, next, destroy)
		if f.typ != uapi.ProgTypeSyscall {
			c.steps = append(append([]string{"call kfunc bpf_rcu_read_lock"}, c.steps...), "call kfunc bpf_rcu_read_unlock")
		}
	}
	if body := strings.Join(c.steps, "\n"); strings.Contains(body, "exit") {
		c.steps = append(c.steps, "r0 = 0\nexit")
	}
	return c
}

// wipe clears what a function may have written.
var wipe = func() (out []string) {
	for i := dataAt; i < dataAt+200; i += 8 {
		out = append(out, fmt.Sprintf("*(u64 *)(r7 + %d) = 0", i))
	}
	return out
}()

// kfuncFrees is what releases the results of kfuncs.
var kfuncFrees = map[string]string{
	"bpf_cgroup_from_id": "call kfunc bpf_cgroup_release", "bpf_task_from_pid": "call kfunc bpf_task_release", "bpf_task_from_vpid": "call kfunc bpf_task_release",
	"bpf_lookup_system_key": "call kfunc bpf_key_put",
	"bpf_cgroup_acquire":    "call kfunc bpf_cgroup_release", "bpf_cgroup_ancestor": "call kfunc bpf_cgroup_release", "bpf_task_acquire": "call kfunc bpf_task_release",
	"bpf_task_get_cgroup1": "call kfunc bpf_cgroup_release", "bpf_cpumask_acquire": "call kfunc bpf_cpumask_release", "bpf_cpumask_create": "call kfunc bpf_cpumask_release",
	"bpf_xdp_get_xfrm_state": "call kfunc bpf_xdp_xfrm_state_release",
}
