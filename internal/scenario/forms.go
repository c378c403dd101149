package scenario

// form describes a mapping of the file format. Decoding and the JSON Schema both follow the tables
// below.
type form struct {
	name, doc string
	members   []member
}

type member struct {
	name, doc string
	shape     shape
	required  bool
}

// shape is the form of a value.
type shape struct {
	kind shapeKind
	form *form  // for shapeForm
	elem *shape // for lists and maps
	alts []shape
}

type shapeKind uint8

const (
	shapeAny shapeKind = iota // decided by a BTF type
	shapeText
	shapeInteger
	shapeBool
	shapeDuration
	shapeRelease // a string that YAML may parse as a number
	shapeList
	shapeMap // any names
	shapeForm
	shapeOneOf
)

func listOf(e shape) shape      { return shape{kind: shapeList, elem: &e} }
func mapOf(e shape) shape       { return shape{kind: shapeMap, elem: &e} }
func formOf(f *form) shape      { return shape{kind: shapeForm, form: f} }
func oneOf(alts ...shape) shape { return shape{kind: shapeOneOf, alts: alts} }
func shapeOf(k shapeKind) shape { return shape{kind: k} }
func (f *form) names() []string { return memberNames(f.members) }
func (f *form) has(name string) bool {
	for i := range f.members {
		if f.members[i].name == name {
			return true
		}
	}
	return false
}
func memberNames(m []member) []string {
	names := make([]string, len(m))
	for i := range m {
		names[i] = m[i].name
	}
	return names
}

var (
	text     = shapeOf(shapeText)
	integer  = shapeOf(shapeInteger)
	duration = shapeOf(shapeDuration)
	release  = shapeOf(shapeRelease)
	anything = shapeOf(shapeAny)
)

var fileForm = &form{"scenario", "A scenario file: kernel objects, maps and runs for one BPF object, and their expected results.", []member{
	{name: "description", doc: "What the file is about.", shape: text},
	{name: "object", doc: "The BPF object, relative to this file. The default is the object beside the file: NAME.bpf.o or NAME.o for NAME.yaml.", shape: text},
	{name: "since", doc: "The oldest kernel to run on (5.17); on older kernels the runs are skipped.", shape: release},
	{name: "arch", doc: "The architecture to run on (x86, arm64, arm, riscv, s390); on others the runs are skipped.", shape: text},
	{name: "kernels", doc: "The kernels to run on when there is no --btf: releases (6.12, 6.12-arm64; see bpfrun kernels), files, directories and globs relative to this file, or embedded.", shape: listOf(release)},
	{name: "verify", doc: "Whether the verifier decides which programs run, as on a kernel; the default is true. With false all run, like with --no-verify.", shape: shapeOf(shapeBool)},
	{name: "kernel", doc: "The simulated machine.", shape: formOf(kernelForm)},
	{name: "objects", doc: "Kernel objects by name. The values are fields of the object's type (a field called type or like is written .type, .like). Refer to an object as $name.", shape: mapOf(anything)},
	{name: "maps", doc: "Contents of maps before the runs, by map name: keys and values in terms of their BTF types; numbers in network byte order may be written as htons(53), an IPv4 address or htonl(N), and cpu_to_be64(N), and a struct in6_addr as an IPv6 address, as in kernel objects, contexts and expectations; a plain number is what is stored. Keys of task, socket, inode and cgroup storage are owners: the $name of an object; for tasks also the pid or the name (comm), for cgroups the id or the path. Elements of a map of maps are names of maps, or the contents of a new map. The key inner defines the inner map if the object leaves that to user space: {type: hash, key_size: 4, value_size: 8, max_entries: 16}.", shape: mapOf(anything)},
	{name: "globals", doc: "Global variables, set before loading.", shape: mapOf(anything)},
	{name: "attach", doc: "Extensions (freplace), fentry and fexit programs that are attached to functions of other programs, as PROGRAM: TARGET or PROGRAM: TARGET:FUNCTION. They run when the target does; without a function it is the one that the section names, else the whole target. What they send, print and change belongs to the run of the target.", shape: mapOf(text)},
	{name: "defaults", doc: "Defaults for the members of every run; mappings such as args and expect are merged member by member.", shape: formOf(defaultsForm)},
	{name: "runs", doc: "The runs. Each starts from a fresh machine unless it is part of sequence.", shape: listOf(formOf(runForm)), required: true},
	{name: "race", doc: "Programs that run at the same time, each item a run of its own. A file with races needs no runs.", shape: listOf(formOf(raceForm))},
	{name: "sequence", doc: "Names of runs that share one machine, in this order.", shape: listOf(text)},
	{name: "invariants", doc: "What holds after every run of a program, as expressions in the debugger's language.", shape: listOf(formOf(invariantForm))},
	{name: "vary", doc: "Maps and global variables that programs write, and whose contents are input of bpfrun fuzz all the same. Without it they get their contents by events only.", shape: listOf(text)},
	{name: "ignore", doc: "Findings that are no mistakes, each with the reason. They are neither reported nor counted.", shape: listOf(formOf(ignoreForm))},
}}

var ignoreForm = &form{"ignore", "Findings that are no mistakes.", []member{
	{name: "kind", doc: "The kind of the findings: leak, overread, wrong-field, packet, limit, data-race, ...", shape: text, required: true},
	{name: "prog", doc: "The program that they are about (default: every program).", shape: text},
	{name: "reason", doc: "Why they are no mistakes.", shape: text, required: true},
}}

var invariantForm = &form{"invariant", "What holds after every run of a program. Expressions name maps (flows[{saddr = 1}].packets), global variables, pkt (pkt.ip.ttl), ctx, arguments of the hook, enumerators, $retval (the low 32 bits, signed) and $events (runs so far, this one included). Besides the debugger's functions there are old(E), the number that E was before the run; unchanged(X) of a map, a variable or pkt; has(E), whether an element, record or header exists; sum(MAP) and sum(MAP, MEMBER) over all elements and CPUs; count(MAP), its elements (of an array, those that are not zero); sent(BUFFER), the records of this run.", []member{
	{name: "name", doc: "What the invariant says, for reports (default: the expression).", shape: text},
	{name: "prog", doc: "The program after whose runs it holds (default: every program).", shape: text},
	{name: "when", doc: "For which runs it holds (default: all): an expression that is not 0. Runs in which it has no value, because an element or a header does not exist, are left out.", shape: text},
	{name: "holds", doc: "The expression that is not 0.", shape: text, required: true},
}}

var kernelForm = &form{"kernel", "The simulated machine.", []member{
	{name: "cpus", doc: "Number of CPUs.", shape: integer},
	{name: "clock", doc: "The clocks.", shape: formOf(clockForm)},
	{name: "random", doc: "The first random numbers programs get.", shape: listOf(integer)},
	{name: "values", doc: "What fields of kernel objects that were not set read as: zero (default), or default: made-up values, as in runs without a file.", shape: text},
	{name: "seed", doc: "Seed for all values that are not set.", shape: integer},
	{name: "kconfig", doc: "Values of CONFIG_ externs.", shape: mapOf(oneOf(text, integer))},
	{name: "ksyms", doc: "Values of kernel variables.", shape: mapOf(anything)},
	{name: "network", doc: "Interfaces, routes and neighbours.", shape: formOf(networkForm)},
	{name: "xattrs", doc: "Extended attributes of files, by absolute path and name ({/bin/true: {user.origin: here}}), as bpf_get_file_xattr reads them.", shape: mapOf(mapOf(text))},
}}

var clockForm = &form{"clock", "The clocks at the start.", []member{
	{name: "boot", doc: "Time since boot, including suspend.", shape: duration},
	{name: "mono", doc: "Monotonic time.", shape: duration},
	{name: "real", doc: "Time since 1970.", shape: duration},
	{name: "step", doc: "How far each helper call advances the clocks; 0 stops them.", shape: duration},
	{name: "hz", doc: "Timer ticks per second.", shape: integer},
}}

var runForm = &form{"run", "One run of a program.", []member{
	{name: "name", doc: "Name of the run (default: the program's name).", shape: text},
	{name: "prog", doc: "The program. Required, except with chain, sched, qdisc and sockets.", shape: text},
	{name: "chain", doc: "Programs attached to one hook, in the order in which the kernel runs them (tc, tcx, netkit, cgroups, LSM, netfilter, probes): all get the same context, and run until one decides. Arguments, context and packet are those of the first. ret is what the last one that ran returned; all other expectations are about all of them. expect.chain has the verdict.", shape: listOf(text)},
	{name: "sched", doc: "The schedule to run instead of one program.", shape: formOf(schedForm)},
	{name: "qdisc", doc: "The traffic for a queueing discipline, instead of one program.", shape: formOf(qdiscForm)},
	{name: "sockets", doc: "Bytes that move through sockets of sockmaps and sockhashes, instead of one program.", shape: formOf(socketsForm)},
	{name: "each", doc: "Parameters: the run is made once for each item of a list of mappings ([{port: 80, verdict: XDP_PASS}, ...]), or for all combinations of a mapping of lists ({port: [80, 443], proto: [tcp, udp]}). ${port} in any string or key of the run stands for the parameter's value; $${ is a literal ${. If the run's name uses no parameter, all of them are appended to it.", shape: oneOf(listOf(mapOf(anything)), mapOf(listOf(anything)))},
	{name: "since", doc: "The oldest kernel for this run; on older kernels it is skipped.", shape: release},
	{name: "arch", doc: "The architecture for this run; on others it is skipped.", shape: text},
	{name: "current", doc: "The task it runs in: the $name of an object.", shape: text},
	{name: "cpu", doc: "The CPU it runs on.", shape: integer},
	{name: "args", doc: "Arguments of the hook, or fields of a tracepoint, by name; ret is the return value.", shape: mapOf(anything)},
	{name: "function", doc: "The function that the run is of, for programs that trace many (kprobe.multi, kprobe.session, fentry.multi, uprobe.multi, ...). The default is the one with the shortest name that the pattern matches. Cookies are those of the function: set cookie.", shape: text},
	{name: "functions", doc: "The functions that the program runs for, one after the other on the same maps and variables: all that its pattern matches (all), or by name; {vfs_read: 1, vfs_write: 2} also gives the cookie that it is attached to each with. args are those of every function. ret is what the last call returned, expect.functions has each; all other expectations are about all of them.", shape: oneOf(text, listOf(text), mapOf(oneOf(integer, formOf(tracedForm))))},
	{name: "cookie", doc: "The cookie the program is attached with (bpf_get_attach_cookie, bpf_usdt_cookie).", shape: integer},
	{name: "usdt", doc: "Where the arguments of a USDT probe are, as its note says: SIZE@WHERE each (-4@%edi 8@-16(%rbp) 8@$5 on x86, -4@[sp,12] 8@x0 on arm64), or @FILE for the note in a binary, with #N for the Nth of several places. The values in args go there, and libbpf's maps say where. Without it the arguments are constants in these maps.", shape: text},
	{name: "elements", doc: "What an iterator visits, instead of the existing objects: the arguments of each call by name. The final call without an element follows.", shape: listOf(mapOf(anything))},
	{name: "map", doc: "The map whose elements an iterator visits.", shape: text},
	{name: "helpers", doc: "What helpers and kfuncs return: a value for every call, a list of values for successive calls, or {fail_at: N, errno: E} for call N only: {bpf_ringbuf_reserve: {fail_at: 1}} makes the first reservation fail, {bpf_map_update_elem: {fail_at: 2, errno: E2BIG}} the second update.", shape: mapOf(oneOf(integer, text, listOf(integer), formOf(overrideForm)))},
	{name: "hid", doc: "A HID device that the program runs on, together with the object's other HID programs.", shape: formOf(hidForm)},
	{name: "packet", doc: "The packet: an expression such as eth/ip(src=10.0.0.1,ttl=63)/tcp(dport=80,flags=S)/'GET /', hex digits, @FILE with raw bytes, or @CAPTURE#N with packet N of a pcap or pcapng file.", shape: text},
	{name: "pcap", doc: "A pcap or pcapng file: the program runs on each of its packets, with the captured time between them. ret then counts verdicts.", shape: text},
	{name: "truncate", doc: "Before the full packet, also run the program on truncated copies of it, each from the same state: all for every length that the kernel passes, or a list of lengths. A fault at any length fails the run; expect.truncated counts verdicts, and everything else in expect applies to the full packet.", shape: oneOf(text, listOf(integer))},
	{name: "ctx", doc: "The context, for program types that take one: hex digits, @FILE, or members of the struct that the program declares it as. The bounds of an XDP packet remain those of the packet unless data_end is set.", shape: oneOf(text, mapOf(anything))},
	{name: "context", doc: "Inputs of networking and cgroup programs besides the packet.", shape: formOf(contextForm)},
	{name: "unset_stack", doc: "What happens when the program reads stack bytes that were never written, such as the padding of a key: warn (the default), fail, or ignore. With --strict it is a fault. Older kernels refuse such reads; newer ones read whatever was there (the warning says which).", shape: text},
	{name: "after", doc: "Simulated time that passes before the run.", shape: duration},
	{name: "settle", doc: "Simulated time that passes after the run, before expectations are checked.", shape: duration},
	{name: "repeat", doc: "How often the program runs. Expectations apply to the last run, those about events to all runs.", shape: integer},
	{name: "expect", doc: "The expected results.", shape: formOf(expectForm)},
}}

// defaultsForm has the members that several runs may share.
var defaultsForm = &form{"defaults", "Defaults for members of runs.", func() []member {
	var out []member
	for _, m := range runForm.members {
		if m.name != "name" && m.name != "each" {
			m.required = false
			out = append(out, m)
		}
	}
	return out
}()}

var overrideForm = &form{"override", "What calls of a helper return.", []member{
	{name: "fail_at", doc: "Only this call of the helper in the run, counted from 1, gets this result; all others work as usual. Without errno and ret it returns 0, which is NULL for helpers that return pointers. Without fail_at every call gets this result.", shape: integer},
	{name: "errno", doc: "The error it returns: EFAULT, -EFAULT or 14.", shape: oneOf(text, integer)},
	{name: "ret", doc: "The value it returns.", shape: oneOf(integer, text)},
}}

var expectForm = &form{"expect", "The expected results of a run. Anything not listed is not checked, except that an unexpected fault always fails.", []member{
	{name: "ret", doc: "Return value: a number, a verdict's name, an error (-EPERM). The low 32 bits are compared, or all 64 with u64:. For a pcap, the value for every packet, or {XDP_DROP: 3, XDP_PASS: 97}.", shape: oneOf(integer, text, mapOf(integer))},
	{name: "chain", doc: "What the programs of a chain decided.", shape: formOf(expectChainForm)},
	{name: "functions", doc: "What the program did for each of several functions, by name.", shape: mapOf(formOf(expectFunctionForm))},
	{name: "truncated", doc: "Return values for the truncated packets (truncate): one value for every length, or {XDP_DROP: 20, XDP_PASS: 7}.", shape: oneOf(integer, text, mapOf(integer))},
	{name: "maps", doc: "Map elements. Only the members listed are compared; null means that the element does not exist; !exact that there are no others. An element of a map of maps is compared by the contents of its inner map.", shape: mapOf(anything)},
	{name: "globals", doc: "Global variables.", shape: mapOf(anything)},
	{name: "others", doc: "unchanged: all maps, global variables and buffers not listed here are as they were before the run (arrays of more than 1 MiB are not compared).", shape: text},
	{name: "ringbuf", doc: "Records of ring buffers by map: all of them in order, or their number. as: gives the record's type.", shape: mapOf(anything)},
	{name: "perf", doc: "Records of perf buffers, as for ringbuf.", shape: mapOf(anything)},
	{name: "trace", doc: "Lines of bpf_printk, all of them in order.", shape: oneOf(text, listOf(text))},
	{name: "hid", doc: "What became of the HID device and its reports.", shape: formOf(hidExpectForm)},
	{name: "output", doc: "What an iterator wrote, as user space reads it.", shape: text},
	{name: "effects", doc: "Effects outside of maps, all of them in order: a kind (signal, redirect, rc-keydown) or a kind and its number.", shape: listOf(text)},
	{name: "kernel", doc: "Fields of kernel objects after the run, as OBJECT.path or nested.", shape: mapOf(anything)},
	{name: "reads", doc: "Kernel fields that the run must have read, as TYPE.path; -> and . both follow pointers.", shape: listOf(text)},
	{name: "helpers", doc: "How often helpers were called.", shape: mapOf(integer)},
	{name: "sched", doc: "What a schedule did.", shape: formOf(expectSchedForm)},
	{name: "qdisc", doc: "What a queueing discipline did.", shape: formOf(expectQdiscForm)},
	{name: "sockets", doc: "What became of the bytes, by the name of the socket.", shape: mapOf(formOf(expectSocketForm))},
	{name: "sends", doc: "What sendmsg returned in the steps of sockets, in order: a number of bytes or an error (-EACCES).", shape: listOf(oneOf(integer, text))},
	{name: "receiver", doc: "The socket that gets the packet of an sk_reuseport program, by name; null for none, because the program did not return SK_PASS. Those that share the port with the context's socket (context: {sk: $NAME}) are candidates. Without a selection (bpf_sk_select_reuseport) the hash of the flow decides.", shape: text},
	{name: "fault", doc: "The kind of fault the run ends with; true for any, false for none.", shape: oneOf(text, shapeOf(shapeBool))},
	{name: "status", doc: "The program's status: ok, absent, refused, not-simulated, fault.", shape: text},
	{name: "packet", doc: "The packet after the run: fields by path (ip.ttl: 63, tcp.csum: right, vlan: null for no such layer, payload: text, len: 60), the whole packet as an expression or hex digits, or unchanged.", shape: oneOf(text, mapOf(anything))},
	{name: "ctx", doc: "The context after the run, as hex digits or members.", shape: oneOf(text, mapOf(anything))},
	{name: "findings", doc: "What the run finds without being asked: none, or the kinds of all findings, such as [packet].", shape: oneOf(text, listOf(text))},
}}

// tags lists the tags of values, for the documentation and for messages.
var tags = []struct{ name, doc string }{
	{"!hex", "bytes as hex digits"},
	{"!file", "a struct file: {path, ino, mode, flags, size, dev} and any field"},
	{"!dentry", "a struct dentry with its parents: {path} and any field"},
	{"!sock", "a struct sock: {family, protocol, type, state, source, dest, sport, dport, reuseport} and any field; socket lookups find it, and it may be put into sockmaps and reuseport_sockarrays"},
	{"!conn", "a struct nf_conn: {protocol, source, dest, sport, dport, zone, expires} of the first packet (expires: seconds left) and any field; bpf_xdp_ct_lookup and bpf_skb_ct_lookup find it"},
	{"!flow", "a struct flow_offload of the module nf_flow_table: {protocol, source, dest, sport, dport, iif, oif, expires} of the first packet (iif: the index of the interface at which it arrives, 1 by default; oif: of that at which replies arrive, by default the same; expires: seconds left, 30 by default) and any field; its connection is in the table of connections; bpf_xdp_flow_lookup finds it at these interfaces"},
	{"!task", "a task_struct with default content: {children: [$a], threads: [$b], files: [$f, null], cgroup: $c} and any field; lists are linked as in the kernel"},
	{"!skb", "a sk_buff with the default packet, and any field"},
	{"!cgroup", "a struct cgroup with its ancestors: {path, id} and any field"},
	{"!mm", "an mm_struct with default content: {args: [strings], env: [strings], areas: [{start, end, flags, pgoff, file}], user: {ADDRESS: string or !hex}} and any field"},
	{"!bprm", "a linux_binprm with default content: {path} and any field"},
	{"!pt_regs", "a struct pt_regs set up as for a call: {args: [values], ret, ip, sp} and any field"},
	{"!inode", "a struct inode with default content"},
	{"!user", "user memory with a string or bytes, or with an array of pointers to several, which ends with null, for a list of them ([ls, -l]); the value is its address"},
	{"!list", "a list_head: {via: member, of: [$a, $b]}"},
	{"!percpu", "a list of values, one for each CPU"},
	{"!sum", "in expectations: the sum over all CPUs"},
	{"!any", "in expectations: any value"},
	{"!ne", "in expectations: not this value"},
	{"!lt", "in expectations: less than"},
	{"!le", "in expectations: at most"},
	{"!gt", "in expectations: greater than"},
	{"!ge", "in expectations: at least"},
	{"!match", "in expectations: a regular expression that the string matches"},
	{"!exact", "in expectations: the map has these elements and no others"},
}
