package scenario

import (
	"errors"
	"fmt"
	"iter"
	"maps"
	"net/netip"
	"slices"

	"github.com/bpfrun/bpfrun/btf"
	khook "github.com/bpfrun/bpfrun/internal/kernel/hook"
	"github.com/bpfrun/bpfrun/internal/kernel/object"
	"github.com/bpfrun/bpfrun/internal/machine"
	"github.com/bpfrun/bpfrun/internal/progtype"
	"github.com/bpfrun/bpfrun/internal/scenario/grammar"
	"github.com/bpfrun/bpfrun/internal/uapi"
)

// prepare creates the input of every run.
func (r *Runner) prepare() error {
	start := r.m.Snapshot()
	args := map[*Run]map[string]khook.Arg{}
	r.hooks = map[sameHook]*hook{}
	defer func() { r.hooks = nil }()
	var wrong grammar.Mistakes
	for _, run := range r.file.Runs {
		parts, err := r.partsOf(run)
		if wrong.Add(err) && run.Functions != nil {
			r.parts[run] = parts
		}
	}
	for run := range r.singles() {
		p, err := r.input0(run)
		wrong.Add(err)
		_, _, err = r.lengths(run)
		if !wrong.Add(r.checkChain(run)) || !wrong.Add(r.checkPacket(run)) || !wrong.Add(r.checkSimulated(run)) || !wrong.Add(err) {
			continue
		}
		typed, err := r.arguments(run, p)
		if wrong.Add(err); typed != nil || err == nil {
			r.input[run], args[run] = p, typed
		}
		r.m.Restore(start)
	}
	for run := range r.singles() {
		if p := r.input[run]; p != nil && !wrong.Add(r.fillArgs(run, p, args[run])) {
			delete(r.input, run)
		}
	}
	for run, parts := range r.parts {
		if p := r.input[parts[0]]; p != nil { // all can run on the target, or none
			r.input[run] = p
		}
	}
	return wrong.Err()
}

// singles are the runs of the file, each of one function: those of several are replaced by their
// parts.
func (r *Runner) singles() iter.Seq[*Run] {
	return func(yield func(*Run) bool) {
		for _, run := range r.file.Runs {
			list := []*Run{run}
			if run.Functions != nil {
				list = r.parts[run]
			}
			if run.Race != nil {
				list = run.Race.runs(run)
			}
			for _, part := range list {
				if !yield(part) {
					return
				}
			}
		}
	}
}

// input0 returns the input of a run without arguments. If there are mistakes, it contains the valid
// parts.
func (r *Runner) input0(run *Run) (*prepared, error) {
	p := &prepared{in: machine.Input{CPU: run.CPU, Packet: run.Packet, Context: run.Ctx, Cookie: run.Cookie, IgnoreUnset: run.UnsetStack == IgnoreUnset, Trace: r.opt.Trace}}
	var wrong grammar.Mistakes
	if cpus := r.m.Kernel().CPUs(); run.CPU >= cpus {
		wrong.Add(run.CPUNode.Errorf("cpu %d: the machine has %d CPUs, numbered from 0", run.CPU, cpus))
		p.in.CPU = 0
	}
	if lp, ok := r.m.Linked().Program(run.Prog); ok && run.CookieNode != nil && !progtype.Of(lp.Type).Takes.Has(progtype.TakesCookie) {
		wrong.Add(run.CookieNode.Errorf("cookie: programs of type %s have no attach cookie", lp.Type))
		p.in.Cookie = 0
	}
	wrong.Add(r.ofFunction(run, &p.in))
	wrong.Add(r.ofMarker(run, &p.in))
	wrong.Add(r.withContext(run, &p.in))
	if run.Current != nil {
		o, err := r.b.ref(run.Current)
		if wrong.Add(err) && o.TypeName() != "task_struct" {
			wrong.Add(run.Current.Errorf("current: %s is a %s, want a task_struct", run.Current.Text, o.TypeName()))
		} else if err == nil {
			p.in.Current = o
		}
	}
	if n := run.Map; n != nil {
		if _, err := r.table(n); wrong.Add(err) {
			p.in.Map = n.Text
		}
	}
	if n := run.CtxFields; n != nil {
		b, err := r.contextBytes(run, n)
		wrong.Add(err)
		p.in.Context = b
	}
	known := map[string]bool{}
	for _, n := range r.m.Calls(run.Prog) {
		known[n] = true
	}
	for _, h := range run.Helpers {
		if _, isHelper := uapi.ParseFuncID(h.Name); !isHelper && !known[h.Name] {
			n := &grammar.Node{Pos: h.Pos}
			wrong.Add(n.Unknown("helper", h.Name, r.m.Calls(run.Prog)))
			continue
		}
		if p.in.Overrides == nil {
			p.in.Overrides = map[string]machine.Override{}
		}
		p.in.Overrides[h.Name] = machine.Override{FailAt: h.FailAt, Returns: h.Returns}
	}
	return p, wrong.Err()
}

// ofFunction sets the function that the run is of.
func (r *Runner) ofFunction(run *Run, in *machine.Input) error {
	if run.Function == nil {
		return nil
	}
	name, err := run.Function.NonEmpty("function")
	if err != nil {
		return err
	}
	if in.Hook, err = r.m.HookOf(run.Prog, name); err != nil {
		return run.Function.Wrap("function", err)
	}
	return nil
}

// contextBytes encodes a context that is given by the members of its struct.
func (r *Runner) contextBytes(run *Run, n *grammar.Node) ([]byte, error) {
	spec, id, err := r.contextType(run, n)
	if err != nil {
		return nil, err
	}
	size, err := spec.Sizeof(id)
	if err != nil {
		return nil, n.Wrap("ctx", err)
	}
	b := make([]byte, max(int(size), leastContext))
	return b, r.b.encode(spec, btf.Field{Type: id}, networkMembers(n), b)
}

// networkMembers writes IPv4 addresses of members of a context that hold them in network byte
// order, though their type is a plain number, as what is stored.
func networkMembers(n *grammar.Node) *grammar.Node {
	out := *n
	out.Pairs = slices.Clone(n.Pairs)
	for i, p := range out.Pairs {
		a, err := netip.ParseAddr(p.Value.Text)
		if p.Value.Kind != grammar.Scalar || progtype.NetworkOrder(p.Key.Text) != "address" || err != nil || !a.Is4() {
			continue
		}
		v := *p.Value
		b := a.As4()
		v.Text = fmt.Sprintf("htonl(%#x)", b[:])
		out.Pairs[i].Value = &v
	}
	return &out
}

// leastContext is the minimum size of a syscall program's context, in bytes.
const leastContext = 64

// contextType returns the struct that a program's only parameter points to.
func (r *Runner) contextType(run *Run, n *grammar.Node) (*btf.Spec, btf.ID, error) {
	spec := r.m.Linked().Object.BTF
	lp, _ := r.m.Linked().Program(run.Prog)
	if spec != nil && lp.FuncType != 0 {
		proto := spec.SkipMods(spec.SkipMods(lp.FuncType).Ref)
		if proto.Kind == btf.KindFuncProto && len(proto.Params) > 0 {
			if ptr := spec.SkipMods(proto.Params[0].Type); ptr.Kind == btf.KindPtr {
				if t := spec.SkipMods(ptr.Ref); t.Kind == btf.KindStruct {
					return spec, t.ID, nil
				}
			}
		}
	}
	return nil, 0, n.Errorf("ctx: program %s does not declare its context as a struct: give hex digits", run.Prog)
}

// arguments checks the names of a run's arguments against the program's context, and returns those
// that are function arguments.
func (r *Runner) arguments(run *Run, p *prepared) (map[string]khook.Arg, error) {
	if err, cannot := r.cannotRun(run); cannot {
		p.cannot = err
		return nil, nil
	}
	if run.Simulated != nil && run.Simulated.Form.Whole() {
		return nil, nil
	}
	if run.Race != nil {
		return nil, r.checkRace(run)
	}
	c, err := r.hookOf(run, p)
	if err != nil {
		var absent *object.AbsentError
		var ns *khook.NotSimulated
		if errors.As(err, &absent) || errors.As(err, &ns) {
			p.cannot = err
			return nil, nil
		}
		var value *object.ValueError
		if errors.As(err, &value) {
			return nil, run.wrapArg(err)
		}
		var marker *machine.USDTError
		if errors.As(err, &marker) && run.USDT != nil {
			return nil, run.USDT.Wrap("usdt", err)
		}
		return nil, &grammar.Error{Pos: run.Pos, Text: err.Error(), Err: err}
	}
	typed := c.typed
	lp, _ := r.m.Linked().Program(run.Prog)
	switch {
	case c.iterates && len(run.Args) > 0:
		return nil, run.Args[0].Key.Errorf("an iterator's arguments are the elements it visits: list the calls under elements:")
	case !c.iterates && run.Elements != nil:
		return nil, run.Elements.Errorf("elements: %s is not an iterator", lp.Hook)
	case !c.iterates && run.Map != nil:
		return nil, run.Map.Errorf("map: %s is not an iterator", lp.Hook)
	case run.Map != nil && lp.AttachTo != "bpf_map_elem" && lp.AttachTo != "bpf_sk_storage_map":
		return nil, run.Map.Errorf("map: %s does not visit map elements", lp.Hook)
	}
	var wrong grammar.Mistakes
	for _, a := range run.Args {
		isField := c.fields[a.Key.Text]
		if !isField && !c.takes[a.Key.Text] {
			wrong.Add(a.Key.Unknown("argument of "+lp.Hook, a.Key.Text, c.names))
			p.unknown = append(p.unknown, a.Key)
			continue
		}
		if isField {
			v, stored := r.b.network(a.Value)
			if !stored {
				var err error
				v, err = a.Value.Uint64(a.Key.Text)
				wrong.Add(err)
			}
			if p.fields == nil {
				p.fields = map[string]uint64{}
			}
			p.fields[a.Key.Text] = v
		}
	}
	return typed, wrong.Err()
}

// hook is what arguments a program gets, as a context of it says.
type hook struct {
	typed         map[string]khook.Arg // the arguments of functions
	names         []string
	iterates      bool
	takes, fields map[string]bool // of the names that runs have
}

// sameHook is what decides a program's arguments in a run with no other input.
type sameHook struct {
	prog, call string
	current    *object.Object
}

// hookOf returns what arguments a run's program gets. Runs in which the same decides share the
// answer.
func (r *Runner) hookOf(run *Run, p *prepared) (*hook, error) {
	in := p.in
	key := sameHook{prog: run.Prog, current: in.Current}
	for _, a := range run.Args { // the call decides which arguments exist
		if a.Key.Text == "call" && a.Value.Kind == grammar.Scalar {
			key.call = a.Value.Text
			in.Args = map[string]any{"call": a.Value.Text}
		}
	}
	shared := run.Packet == nil && run.Ctx == nil && run.Context == nil && run.CtxFields == nil && run.USDT == nil && run.Function == nil && in.Hook == nil &&
		run.Elements == nil && run.Map == nil && run.Simulated == nil && in.CPU == 0
	known := r.hooks[key]
	if shared && known != nil && known.covers(run.Args) {
		return known, nil
	}
	c, err := r.m.Inspect(run.Prog, in)
	if err != nil {
		return nil, err
	}
	defer c.Leave()
	h := &hook{typed: map[string]khook.Arg{}, names: c.ArgNames(), iterates: c.Iterates(), takes: map[string]bool{}, fields: map[string]bool{}}
	for _, a := range c.Args {
		h.typed[a.Name] = a
	}
	if c.Returns {
		h.typed["ret"] = c.Ret
	}
	for _, a := range run.Args {
		_, h.fields[a.Key.Text] = c.Field(a.Key.Text)
		h.takes[a.Key.Text] = c.TakesArg(a.Key.Text)
	}
	if shared {
		r.hooks[key] = h
	}
	return h, nil
}

// covers reports whether it has an answer for each argument.
func (h *hook) covers(args []grammar.Pair) bool {
	for _, a := range args {
		if _, ok := h.takes[a.Key.Text]; !ok {
			return false
		}
	}
	return true
}

// cannotRun reports whether a run is not for this target or its program cannot run on it, and why.
func (r *Runner) cannotRun(run *Run) (why error, cannot bool) {
	have := r.m.Linked().Target
	if have.Version != 0 && have.Version < run.Since || run.Arch != "" && have.Arch != "" && have.Arch != run.Arch {
		return &NotMeantError{Since: run.Since, Arch: run.Arch}, true
	}
	st, err := r.m.ProgramStatus(run.Prog)
	return err, st != machine.StatusOK && st != machine.StatusUnknownHook
}

// NotMeantError means that a run is skipped because the kernel is too old or has another
// architecture.
type NotMeantError struct {
	Since uint32
	Arch  string
}

// Error names the kernels that the run is for.
func (e *NotMeantError) Error() string {
	text := "for"
	if e.Arch != "" {
		text += " " + e.Arch
	}
	if e.Since != 0 {
		text += fmt.Sprintf(" Linux %d.%d and later", e.Since>>16, e.Since>>8&0xff)
	}
	return text
}

// fillArgs encodes the values of a run's arguments.
func (r *Runner) fillArgs(run *Run, p *prepared, typed map[string]khook.Arg) error {
	if p.cannot != nil {
		return nil
	}
	var wrong grammar.Mistakes
	wrong.Add(r.fillElements(run, p, typed))
	for _, a := range run.Args {
		name := a.Key.Text
		if _, isField := p.fields[name]; isField || slices.ContainsFunc(p.unknown, func(n *grammar.Node) bool { return n == a.Key }) {
			continue
		}
		v, err := r.argument(name, a.Value, typed)
		if !wrong.Add(err) {
			continue
		}
		if p.in.Args == nil {
			p.in.Args = map[string]any{}
		}
		p.in.Args[name] = v
	}
	return wrong.Err()
}

// fillElements encodes the arguments for each call of an iterator.
func (r *Runner) fillElements(run *Run, p *prepared, typed map[string]khook.Arg) error {
	if run.Elements == nil {
		return nil
	}
	if run.Elements.Kind != grammar.Sequence {
		return run.Elements.Errorf("elements: want a list of arguments by name, got %s", run.Elements.Describe())
	}
	names := slices.Sorted(maps.Keys(typed))
	p.in.Elements = []map[string]any{}
	var wrong grammar.Mistakes
	for _, item := range run.Elements.Items {
		pairs, err := item.Members("elements")
		wrong.Add(err)
		e := map[string]any{}
		for _, pair := range pairs {
			if _, ok := typed[pair.Key.Text]; !ok || pair.Key.Text == "meta" {
				wrong.Add(pair.Key.Unknown("argument", pair.Key.Text, names))
				continue
			}
			v, err := r.argument(pair.Key.Text, pair.Value, typed)
			if wrong.Add(err) {
				e[pair.Key.Text] = v
			}
		}
		p.in.Elements = append(p.in.Elements, e)
	}
	return wrong.Err()
}

func (r *Runner) argument(name string, n *grammar.Node, typed map[string]khook.Arg) (any, error) {
	arg, isArg := typed[name]
	if n.Kind == grammar.Mapping && n.Tag == "" && isArg {
		o, err := r.m.Kernel().PointeeOf(name, &arg)
		if err != nil {
			return nil, n.Errorf("argument %s takes no members: it is not a pointer to a struct", name)
		}
		return o, r.b.set(o, "", n, nil)
	}
	v, err := r.b.forKernel(name, n)
	if err != nil {
		return nil, err
	}
	if i, ok := n.Macro(); ok {
		return i.Int64(), nil
	}
	if x, ok := r.b.network(n); ok {
		return x, nil
	}
	if raw, ok := v.([]byte); ok && isArg {
		return r.m.Kernel().NewBytes(name, raw)
	}
	return v, nil
}

// checkAll creates the contexts of all runs with their arguments and checks every expectation,
// without running anything.
func (r *Runner) checkAll() error {
	var wrong grammar.Mistakes
	for run := range r.singles() {
		if p := r.input[run]; p != nil && p.cannot == nil && !run.whole() {
			c, err := r.m.Inspect(run.Prog, p.in)
			if err != nil {
				wrong.Add(run.wrapArg(err))
			} else {
				wrong.Add(r.checkInvariants(run.Prog, c))
				c.Leave()
			}
			r.m.Restore(r.base)
		}
	}
	for _, run := range r.file.Runs {
		j := &judge{r: r, run: run, res: &machine.Result{Program: run.Prog}, Checks: grammar.Checks{Checking: true}}
		wrong.Add(j.all())
	}
	return wrong.Err()
}

// wrapArg adds the position of the argument that caused it to an error of the kernel.
func (run *Run) wrapArg(err error) error {
	name := ""
	var value *object.ValueError
	var path *object.PathError
	switch {
	case errors.As(err, &value):
		name = value.Role
		if value.Path != "" {
			name = value.Path
		}
	case errors.As(err, &path):
		name = path.Path
	}
	for _, a := range run.Args {
		if a.Key.Text == name {
			return a.Value.Wrap("argument "+name, err)
		}
	}
	var marker *machine.USDTError
	if errors.As(err, &marker) && run.USDT != nil {
		return run.USDT.Wrap("usdt", err)
	}
	n := &grammar.Node{Pos: run.Pos}
	return n.Wrap("", err)
}
