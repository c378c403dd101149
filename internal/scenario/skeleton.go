package scenario

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"slices"
	"sort"
	"strings"

	"github.com/bpfrun/bpfrun/btf"
	"github.com/bpfrun/bpfrun/internal/find/search"
	khook "github.com/bpfrun/bpfrun/internal/kernel/hook"
	"github.com/bpfrun/bpfrun/internal/kernel/object"
	"github.com/bpfrun/bpfrun/internal/machine"
	"github.com/bpfrun/bpfrun/internal/progtype"
	"github.com/bpfrun/bpfrun/internal/scenario/grammar"
	"github.com/bpfrun/bpfrun/internal/uapi"
	"github.com/bpfrun/bpfrun/internal/visible"
	"github.com/bpfrun/bpfrun/loader"
)

// Skeleton writes a commented scenario for an object: a default run of each program (or of those in
// progs), with the fields it read as objects and its behaviour as expectations. The scenario passes
// on the target that it was made for. path is the object's path relative to the directory of the
// scenario file.
func Skeleton(ctx context.Context, w io.Writer, l *loader.Linked, path string, progs []string, opt Options) error {
	cfg := opt.Config
	if opt.Verify != nil {
		cfg.Verify = opt.Verify(l)
	}
	m, err := machine.New(l, cfg)
	if err != nil {
		return err
	}
	defer m.Close()
	s := &skeleton{m: m, path: path, spec: l.Object.BTF, g: graph{names: map[string]*sketch{}}, reach: opt.Reach, all: opt.NameArgs}
	base := m.Snapshot()
	together := base // the state after the entry and return programs run so far
	names := slices.DeleteFunc(m.Names(), func(name string) bool { return len(progs) > 0 && !slices.Contains(progs, name) })
	for _, h := range l.Pairs(names) {
		pair := len(h.Entries) > 0 && len(h.Returns) > 0
		if pair {
			m.Restore(together)
		}
		for _, name := range append(h.Entries, h.Returns...) {
			if !pair {
				m.Restore(base)
			}
			ran := s.ran
			if err := s.program(ctx, name); err != nil {
				return err
			}
			if pair && s.ran > ran {
				s.sequence = append(s.sequence, yamlPlain(name))
			}
		}
		if pair {
			together = m.Snapshot()
		}
	}
	text, err := settled(ctx, s.text(), l, opt)
	if err != nil {
		return err
	}
	_, err = w.Write(text)
	return err
}

type skeleton struct {
	m    *machine.Machine
	path string // path of the object
	spec *btf.Spec
	g    graph
	runs bytes.Buffer
	ran  int
	// reach makes runs with changed inputs; given is what they need.
	reach bool
	given reachedInput
	keys  keyWords // of the last run
	all   bool     // arguments that are not read are named too
	links []recordLink
	// sequence holds the runs of entry and return programs, which share a machine.
	sequence []string
}

func (s *skeleton) text() []byte {
	var b bytes.Buffer
	l := s.m.Linked()
	visible.Fprintf(&b, "# Written by bpfrun scenario new from default runs on %s. Change what matters, leave out the rest:\n", l.Target.Name)
	fmt.Fprintf(&b, "# fields that are not set read as 0, and the run says so. a|b is the first name that exists, name? is set if it exists.\n")
	fmt.Fprintf(&b, "object: %s\n", yamlPlain(s.path))
	if len(s.g.sketches) > 0 {
		b.WriteString("objects:\n")
	}
	for _, o := range s.g.sketches {
		fmt.Fprintf(&b, "  # read by %s\n  %s:\n", visible.Text(strings.Join(o.used, ", ")), o.name)
		o.write(&b)
	}
	s.given.write(&b)
	if s.ran == 0 {
		b.WriteString("# No program of the object can run on this target, so that there are no runs yet.\nruns: []\n")
	} else {
		b.WriteString("runs:\n")
	}
	b.Write(s.runs.Bytes())
	if len(s.sequence) > 0 {
		fmt.Fprintf(&b, "# What an entry leaves behind its return finds.\nsequence: [%s]\n", strings.Join(s.sequence, ", "))
	}
	return b.Bytes()
}

func (s *skeleton) program(ctx context.Context, name string) error {
	lp, _ := s.m.Linked().Program(name)
	if st, err := s.m.ProgramStatus(name); st != machine.StatusOK && st != machine.StatusUnknownHook {
		why := ""
		if err != nil {
			why = ": " + grammar.FirstLine(err.Error())
		}
		visible.Fprintf(&s.runs, "# %s (%s) is %s on this target%s\n", name, lp.Hook, st, why)
		return nil
	}
	c, err := s.m.Inspect(name, machine.Input{})
	if err != nil {
		visible.Fprintf(&s.runs, "# %s (%s) cannot run on this kernel: %s\n", name, lp.Hook, grammar.FirstLine(err.Error()))
		return nil
	}
	args := append([]khook.Arg(nil), c.Args...)
	listed := elementsOf(c, lp.AttachTo)
	if c.Iterates() {
		args = nil // they are those of each element
	}
	fields := recordFields(c)
	s.links = recordLinks(c)
	if _, target, _ := strings.Cut(lp.AttachTo, "/"); strings.HasPrefix(target, "sys_enter_") && len(args) > 0 {
		fields = s.callArgs(args)
	}
	c.Leave()
	c.Free()
	found, err := s.perform(ctx, name)
	if err != nil {
		return err
	}
	res := found.Result
	if !res.Ran {
		visible.Fprintf(&s.runs, "# %s (%s) is %s on this target\n", name, lp.Hook, res.Status)
		return nil
	}
	s.ran++
	s.reads(name, res, args, found.Changed)
	s.run(lp, found, args, fields, listed)
	return nil
}

// reads records the fields that a run read, what helpers and a tracepoint's record reveal about the
// current task, and the arguments that lead to objects.
func (s *skeleton) reads(prog string, res *machine.Result, args []khook.Arg, changed []search.Override) {
	s.g.startRun()
	// Arguments take precedence for their names.
	cur := s.m.Kernel().Current()
	read := map[*object.Object]bool{}
	for i := range res.Reads {
		read[res.Reads[i].Object] = true
	}
	keys := s.keyAddresses(res, changed)
	for _, a := range args {
		switch {
		case a.Object == nil:
		case slices.Contains(keys, a.Object.Addr()) || s.keys.has(a.Object.Addr()):
			s.g.sameKey(a.Object, prog)
		case read[a.Object] || s.all && s.unset(a.Object):
			s.g.object(a.Object, prog)
		}
	}
	for _, l := range s.links {
		if read[l.to] || s.all && s.unset(l.to) {
			s.g.object(l.to, prog)
		}
	}
	s.g.reads(prog, res)
	s.socketKinds(prog, res.Helpers)
	if cur == nil {
		return
	}
	for _, h := range helperFields {
		if res.Helpers[h.helper] > 0 || h.helper == "" && s.g.byObject[cur] != nil {
			for _, path := range h.paths {
				if at, last, ok := follow(cur, path); ok {
					s.g.note(at, last, prog)
				}
			}
		}
	}
	if s.g.byObject[cur] != nil && res.Helpers["bpf_get_current_uid_gid"] > 0 {
		s.g.note(cur, "cred", prog)
	}
}

// unset reports whether an object has no content of its own, so that nothing is lost if a file
// makes it.
func (s *skeleton) unset(o *object.Object) bool {
	if o.Spec() == nil || o.Type() == 0 {
		return false
	}
	size, err := o.Spec().Sizeof(o.Type())
	return err == nil && !s.m.Kernel().AnyKnown(o.Addr(), uint64(size))
}

// keyAddresses returns the addresses among the keys of the map elements that a run changed, or that
// were changed for it.
func (s *skeleton) keyAddresses(res *machine.Result, changed []search.Override) []uint64 {
	var out []uint64
	for _, o := range changed {
		if def, ok := s.m.Linked().Map(o.Map); ok && o.Kind == search.Element {
			if addr, ok := s.address(def, o.Key); ok {
				out = append(out, addr)
			}
		}
	}
	for _, c := range res.Changes {
		if def, ok := s.m.Linked().Map(c.Map); ok && def.DataKind == loader.DataNone {
			if addr, ok := s.address(def, c.Key); ok {
				out = append(out, addr)
			}
		}
	}
	return out
}

// address returns the address that a map's key is: the owner of local storage, or a pointer that is
// not null.
func (s *skeleton) address(def *loader.Map, b []byte) (uint64, bool) {
	id := def.KeyType
	if owners(def.Type) != "" && len(b) == 8 {
		return s.m.Memory().ByteOrder().Uint64(b), true
	}
	if s.spec == nil || id == 0 {
		return 0, false
	}
	v, err := s.spec.DecodeValue(id, b, btf.DecodeOptions{})
	p, ok := v.(btf.Pointer)
	return uint64(p), err == nil && ok && p != 0
}

// follow dereferences the first pointer of a path.
func follow(o *object.Object, path string) (*object.Object, string, bool) {
	first, rest, dotted := strings.Cut(path, ".")
	if !dotted {
		return o, path, o.Has(path)
	}
	to, err := o.Pointee(first)
	return to, rest, err == nil && to != nil
}

// helperFields lists the fields of the current task that determine the results of helpers; entries
// without a helper are set together with any other.
var helperFields = []struct {
	helper string
	paths  []string
}{
	{"bpf_get_current_pid_tgid", []string{"pid", "tgid"}},
	{"bpf_get_current_uid_gid", []string{"cred.uid.val", "cred.gid.val"}},
	{"bpf_get_current_comm", []string{"comm"}},
	{"", []string{"pid", "tgid", "comm"}},
}

// recordFields returns the fields of a tracepoint's record as arguments.
func recordFields(c *khook.Context) []string {
	o := c.Record
	if o == nil || o.Spec() == nil {
		return nil
	}
	var out []string
	for _, m := range o.Spec().SkipMods(o.Type()).Members {
		if m.Name == "" || m.Name == "ent" || m.Name == "__data" || strings.HasPrefix(m.Name, "__data_loc_") || strings.HasPrefix(m.Name, "__rel_loc_") {
			continue
		}
		g := graph{byObject: map[*object.Object]*sketch{}, names: map[string]*sketch{}}
		if text, ok := g.value(o, m.Name, ""); ok && !strings.HasPrefix(text, "$") {
			out = append(out, yamlKey(m.Name)+": "+text)
		}
	}
	return out
}

// recordLink is a field of a tracepoint's record that leads to a kernel object.
type recordLink struct {
	field string
	to    *object.Object
}

// recordLinks returns those of a record.
func recordLinks(c *khook.Context) (out []recordLink) {
	o := c.Record
	if o == nil || o.Spec() == nil {
		return nil
	}
	for _, m := range o.Spec().SkipMods(o.Type()).Members {
		if o.Spec().SkipMods(m.Type).Kind != btf.KindPtr {
			continue
		}
		if to, err := o.Pointee(m.Name); err == nil && to != nil && to != o {
			out = append(out, recordLink{m.Name, to})
		}
	}
	return out
}

// callArgs returns the arguments of a system call by name in readable form: strings in user memory,
// addresses in hex, small negative numbers with their sign.
func (s *skeleton) callArgs(args []khook.Arg) []string {
	var out []string
	for _, a := range args {
		text := fmt.Sprint(a.Value)
		switch v := int64(a.Value); {
		case s.m.Kernel().IsUserAddress(a.Value) && a.Value >= 1<<20:
			text = fmt.Sprintf("%#x", a.Value)
			if str, ok := s.userText(a.Value); ok {
				text = grammar.YAMLString(str)
			}
		case v == atFDCWD && strings.HasSuffix(a.Name, "fd"):
			text = "AT_FDCWD"
		case v < 0:
			text = fmt.Sprint(v)
		}
		out = append(out, yamlKey(a.Name)+": "+text)
	}
	return out
}

// userText returns a printable string in user memory.
func (s *skeleton) userText(addr uint64) (string, bool) {
	const most = 256
	var out []byte
	for b := make([]byte, 1); len(out) < most; out = append(out, b[0]) {
		if s.m.Kernel().UserRead(addr+uint64(len(out)), b) != nil {
			return "", false
		}
		if b[0] == 0 {
			return string(out), len(out) > 1
		}
		if b[0] < 0x20 || b[0] > 0x7e {
			return "", false
		}
	}
	return "", false
}

// run writes the run of one program.
func (s *skeleton) run(lp *loader.LinkedProgram, found *search.Found, args []khook.Arg, fields []string, listed [][]khook.Arg) {
	res := found.Result
	b := &s.runs
	fmt.Fprintf(b, "- prog: %s # %s\n", yamlPlain(lp.Name), lp.Hook)
	if cur := s.m.Kernel().Current(); s.g.byObject[cur] != nil {
		fmt.Fprintf(b, "  current: $%s\n", s.g.byObject[cur].name)
	}
	s.elements(lp.Name, listed)
	given, rest := fields, []string(nil)
	for _, a := range args {
		if len(fields) > 0 {
			break // the arguments belong to the event; the program sees only the record
		}
		typ := "untyped"
		if a.Spec != nil {
			typ = a.Spec.TypeString(a.Type)
		}
		if a.Object != nil && s.g.byObject[a.Object] != nil {
			given = append(given, yamlKey(a.Name)+": $"+s.g.byObject[a.Object].name)
			continue
		}
		rest = append(rest, a.Name+" ("+typ+")")
	}
	for _, l := range s.links {
		if o := s.g.byObject[l.to]; o != nil {
			given = append(given, yamlKey(l.field)+": $"+o.name)
		}
	}
	if len(rest) > 0 {
		fmt.Fprintf(b, "  # more arguments of the hook: %s\n", strings.Join(rest, ", "))
	}
	given = s.changedArgs(given, found.Changed)
	if len(given) > 0 {
		fmt.Fprintf(b, "  args: {%s}\n", strings.Join(given, ", "))
	}
	s.reached(found)
	if calls := sortedCounts(res.Helpers); len(calls) > 0 {
		fmt.Fprintf(b, "  # helpers: {NAME: value} answers any of %s\n", strings.Join(calls, ", "))
	}
	if missed := s.unread(lp, res); len(missed) > 0 {
		fmt.Fprintf(b, "  # fields relocated but not read in the default run: %s\n", strings.Join(missed, ", "))
	}
	s.expect(lp, res)
}

// expect writes the results of a run as expectations.
func (s *skeleton) expect(lp *loader.LinkedProgram, res *machine.Result) {
	b := &s.runs
	b.WriteString("  expect:\n")
	if res.Fault != nil {
		fmt.Fprintf(b, "    fault: %s # %s\n", yamlPlain(faultKind(res.Fault)), grammar.FirstLine(res.Fault.Error()))
		return
	}
	ret := fmt.Sprint(int32(uint32(res.Ret)))
	if v := progtype.VerdictName(lp.Type, int32(res.Ret)); v != "" {
		if _, ok := progtype.ParseVerdict(lp.Type, v); ok {
			ret = v
		}
	}
	fmt.Fprintf(b, "    ret: %s\n", yamlPlain2(ret))
	s.events(res)
	s.changes(res)
	if len(res.Trace) > 0 {
		b.WriteString("    trace:\n")
		for _, line := range res.Trace {
			fmt.Fprintf(b, "    - %s\n", grammar.YAMLString(line))
		}
	}
}

// yamlPlain2 is like yamlPlain but leaves numbers unquoted.
func yamlPlain2(s string) string {
	if _, ok := grammar.Number(s); ok {
		return s
	}
	return yamlPlain(s)
}

func sortedCounts(m map[string]int) []string {
	names := make([]string, 0, len(m))
	for n := range m {
		names = append(names, n)
	}
	sort.Strings(names)
	return names
}

// unread returns the fields in the program's CO-RE records that its run did not read.
func (s *skeleton) unread(lp *loader.LinkedProgram, res *machine.Result) []string {
	read, fields := map[*loader.Reloc]bool{}, map[string]bool{}
	for i := range res.Reads {
		for path := range strings.SplitSeq(res.Reads[i].Path, ",") {
			fields[res.Reads[i].Type+"."+path] = true
		}
		if res.Reads[i].Program != lp.Name {
			continue
		}
		for _, r := range lp.AccessRelocs(res.Reads[i].Insn) {
			read[r] = true
		}
	}
	var out []string
	for i := range lp.Relocs {
		r := &lp.Relocs[i]
		if r.Err == nil && r.Relocation != nil && r.Target != nil && r.Kind.IsField() && !r.Poisoned() && !read[r] {
			if f := r.Target.Field(); !fields[f] && !slices.Contains(out, f) && strings.HasPrefix(r.Kind.String(), "byte_off") {
				out = append(out, f)
			}
		}
	}
	return out
}

// events writes the records that a run sent.
func (s *skeleton) events(res *machine.Result) {
	for _, kind := range []string{"ringbuf", "perf"} {
		byMap := map[string][]machine.Event{}
		var names []string
		for _, e := range res.Events {
			if e.Kind != kind {
				continue
			}
			if byMap[e.Map] == nil {
				names = append(names, e.Map)
			}
			byMap[e.Map] = append(byMap[e.Map], e)
		}
		if len(names) == 0 {
			continue
		}
		fmt.Fprintf(&s.runs, "    %s:\n", kind)
		for _, name := range names {
			fmt.Fprintf(&s.runs, "      %s:\n", yamlKey(name))
			for _, e := range byMap[name] {
				fmt.Fprintf(&s.runs, "      - %s\n", s.record(e))
			}
		}
	}
}

func (s *skeleton) record(e machine.Event) string {
	if spec := s.m.EventTypes().Spec(); spec != nil && e.Type != 0 {
		if v, err := spec.DecodeValue(e.Type, e.Data, btf.DecodeOptions{}); err == nil {
			if o, ok := v.(btf.Object); ok {
				return "{" + strings.Join(append([]string{"as: " + spec.Name(e.Type)}, yamlMembers(o)...), ", ") + "}"
			}
		}
	}
	return fmt.Sprintf("!hex \"%x\"", e.Data)
}

// changes writes the elements and variables that a run changed.
func (s *skeleton) changes(res *machine.Result) {
	var elements, globals []string
	seen := map[string]bool{}
	open := ""
	for _, c := range res.Changes {
		def, ok := s.m.Linked().Map(c.Map)
		if !ok {
			continue
		}
		if def.DataKind != loader.DataNone {
			globals = append(globals, s.variables(def, c)...)
			continue
		}
		if def.Type == uapi.MapTypeQueue || def.Type == uapi.MapTypeStack {
			if open != c.Map {
				open = c.Map
				elements = append(elements, s.queue(def, res.Changes)...)
			}
			continue
		}
		key := s.typed(def.KeyType, c.Key)
		if c.New == nil && c.Old == nil || seen[c.Map+key] || c.CPU > 0 && c.Old == nil {
			continue
		}
		seen[c.Map+key] = true
		if open != c.Map {
			open = c.Map
			elements = append(elements, "      "+yamlKey(c.Map)+":")
		}
		note, key := s.key(def, c.Key)
		value := "null"
		if c.New != nil {
			value = s.typed(def.ValueType, c.New)
		}
		elements = append(elements, "        "+note+key+": "+value)
	}
	if len(elements) > 0 {
		fmt.Fprintf(&s.runs, "    maps:\n%s\n", strings.Join(elements, "\n"))
	}
	if len(globals) > 0 {
		fmt.Fprintf(&s.runs, "    globals:\n%s\n", strings.Join(globals, "\n"))
	}
}

// queue writes what a run left in a queue or stack that was empty, or that it emptied.
func (s *skeleton) queue(def *loader.Map, changes []machine.Change) []string {
	var lines []string
	taken := false
	for _, c := range changes {
		switch {
		case c.Map != def.Name:
		case c.Old == nil && c.New != nil:
			lines = append(lines, "      - "+s.typed(def.ValueType, c.New))
		default:
			taken = true
		}
	}
	switch name := "      " + yamlKey(def.Name) + ":"; {
	case taken && len(lines) > 0:
		return nil // what is there, and in which order, the changes do not tell
	case taken:
		return []string{name + " []"}
	default:
		return append([]string{name}, lines...)
	}
}

// key writes the key of a map's element. The note is not empty if a file cannot have it.
func (s *skeleton) key(def *loader.Map, k []byte) (note, key string) {
	key = s.typed(def.KeyType, k)
	if addr, ok := s.address(def, k); ok && s.g.at(addr) != nil {
		return "", "$" + s.g.at(addr).name
	} else if owners(def.Type) != "" {
		return "# of an owner without a name here: ", "owner"
	} else if _, plain := grammar.Number(key); !plain && s.spec != nil && def.KeyType != 0 {
		key = grammar.YAMLString(s.spec.FormatString(def.KeyType, k))
		if strings.HasPrefix(key, `"\"`) { // a string key is written without quotes of its own
			key = s.typed(def.KeyType, k)
		}
	}
	return "", key
}

func (s *skeleton) typed(id btf.ID, b []byte) string {
	if s.spec != nil && id != 0 {
		if v, err := s.spec.DecodeValue(id, b, btf.DecodeOptions{}); err == nil {
			return yamlValue(v)
		}
	}
	return fmt.Sprintf("!hex \"%x\"", b)
}

// variables returns the variables of a data section that changed.
func (s *skeleton) variables(def *loader.Map, c machine.Change) []string {
	var out []string
	for _, v := range def.Vars {
		end := int(v.Off) + int(v.Size)
		if end > len(c.New) || v.Type == 0 || strings.Contains(v.Name, ".") {
			continue
		}
		old := make([]byte, v.Size)
		if end <= len(c.Old) {
			old = c.Old[v.Off:end]
		}
		if !bytes.Equal(old, c.New[v.Off:end]) {
			out = append(out, "      "+yamlKey(v.Name)+": "+s.typed(v.Type, c.New[v.Off:end]))
		}
	}
	return out
}
