package loader

import (
	"maps"
	"slices"
	"strings"

	"github.com/bpfrun/bpfrun/internal/progtype"
)

// attachPrograms applies AttachProgs: programs that extend or trace functions of other programs of
// the object.
func (l *loading) attachPrograms() error {
	for _, name := range slices.Sorted(maps.Keys(l.opts.AttachProgs)) {
		lp, ok := l.Program(name)
		if !ok {
			return failf(ErrOption, "no program %q", name).hint("the object has %s", listPrograms(l.o.Programs))
		}
		target, function, _ := strings.Cut(l.opts.AttachProgs[name], ":")
		tgt, ok := l.Program(target)
		if !ok {
			return failf(ErrOption, "program %s attaches to %q, which the object does not have", name, target).hint("the object has %s", listPrograms(l.o.Programs))
		}
		if err := lp.AttachToProgram(tgt, function); err != nil {
			return err
		}
	}
	return nil
}

// AttachToProgram attaches an extension, or a program of type fentry or fexit, to a function of
// another program, which libbpf does if user space names that (bpf_program__set_attach_target).
// Without a function it is the one of the section name if the target has it, and else the target
// itself. The error is an [*Error] with ErrOption.
func (lp *LinkedProgram) AttachToProgram(target *LinkedProgram, function string) error {
	row := progtype.Of(lp.Type)
	kind := row.TargetOf(lp.Attach)
	switch {
	case kind != progtype.OtherProgram && kind != progtype.Function:
		return failf(ErrOption, "program %s of type %s does not attach to functions of programs", lp.Name, lp.Type).hint("extensions (freplace), fentry and fexit programs do")
	case target == lp:
		return failf(ErrOption, "program %s cannot attach to itself", lp.Name)
	}
	f := target.function(function)
	if f == nil && function == "" {
		if f = target.function(lp.AttachTo); f == nil && len(target.Funcs) > 0 {
			f = &target.Funcs[0]
		}
	}
	if f == nil {
		var names []string
		for _, f := range target.Funcs {
			names = append(names, f.Name)
		}
		return failf(ErrOption, "program %s has no function %q", target.Name, function).hint("it consists of %s", listNames(names))
	}
	p := *lp.Program // that of the object has another hook
	p.AttachTo, p.Hook = f.Name, p.Kind+"/"+f.Name+" of "+target.Name
	lp.Program, lp.AttachProg, lp.AttachStart, lp.AttachID, lp.AttachModule = &p, target, f.Start, f.Type, ""
	return nil
}

// function returns the function of a program with that name, or nil.
func (lp *LinkedProgram) function(name string) *Func {
	if i := slices.IndexFunc(lp.Funcs, func(f Func) bool { return f.Name == name }); i >= 0 && name != "" {
		return &lp.Funcs[i]
	}
	return nil
}
