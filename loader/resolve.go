package loader

import (
	"github.com/bpfrun/bpfrun/btf"
	"github.com/bpfrun/bpfrun/corerelo"
)

// resolveExterns resolves each extern on the target. If a strong extern is missing, libbpf refuses
// the object.
func (l *loading) resolveExterns() error {
	if err := l.checkExterns(); err != nil {
		return err
	}
	var image []byte
	if l.o.kconfig != nil {
		image = l.Maps[l.o.kconfig.Index].Data
	}
	for _, e := range l.o.Externs {
		le := &LinkedExtern{Extern: e}
		l.Externs = append(l.Externs, le)
		var err *Error
		switch {
		case l.externValue(le):
		case e.unlinked:
			if !e.Weak {
				err = failf(ErrExtern, "%s is undefined: neither %s nor %s contains it", e.Name, secKconfig, secKsyms).
					hint("%s", l.o.externHint(e))
			}
		case e.Kind == ExternKconfig && l.t.BTF != nil:
			err = l.resolveKconfig(le, image)
		case l.t.BTF == nil:
			if !e.Weak {
				err = failf(ErrExtern, "%s %s: no kernel BTF was given to find it in", e.Kind, e.Name).hint("give one with --btf")
			}
		case e.Kind == ExternKfunc:
			err = l.resolveKfunc(le)
		case e.Type != 0:
			err = l.resolveTypedKsym(le)
		default:
			err = l.resolveKsym(le)
		}
		if err != nil {
			err.Object = l.o.Name
			le.Err = err
			l.refuse(err)
		}
	}
	return nil
}

// resolveKfunc looks for a FUNC with the name, ignoring flavors, and a compatible prototype.
func (l *loading) resolveKfunc(e *LinkedExtern) *Error {
	name := btf.EssentialName(e.Name)
	mod, fn, ok := l.t.find(btf.KindFunc, name, "")
	if !ok || !l.t.hasKfunc(name) {
		if e.Weak {
			return nil
		}
		return failf(ErrExtern, "kfunc %s is not in the kernel's BTF", name).hint("declare it __weak and test it with bpf_ksym_exists()")
	}
	if e.Type != 0 && !corerelo.TypesCompatible(l.o.BTF, e.Type, mod.BTF, fn.Ref) {
		if e.Weak {
			return nil
		}
		return failf(ErrExtern, "kfunc %s: the object declares %s, the kernel has %s", name, l.o.BTF.TypeString(e.Type), mod.BTF.TypeString(fn.Ref))
	}
	e.Resolved, e.TypeID, e.Module = true, fn.ID, mod.Name
	return nil
}

// resolveTypedKsym looks for a VAR with a compatible type.
func (l *loading) resolveTypedKsym(e *LinkedExtern) *Error {
	mod, v, ok := l.t.find(btf.KindVar, e.Name, "")
	if !ok {
		if e.Weak {
			return nil
		}
		return failf(ErrExtern, "kernel variable %s (%s) is not in the kernel's BTF", e.Name, l.o.BTF.TypeString(e.Type)).
			hint("most kernels' BTF has only per-CPU variables: declare it as extern const void %s __ksym", e.Name)
	}
	if !corerelo.TypesCompatible(l.o.BTF, e.Type, mod.BTF, mod.BTF.SkipID(v.Ref)) {
		if e.Weak {
			return nil
		}
		return failf(ErrExtern, "kernel variable %s: the object declares %s, the kernel has %s", e.Name, l.o.BTF.TypeString(e.Type), mod.BTF.TypeString(v.Ref))
	}
	e.Resolved, e.TypeID, e.Module = true, v.ID, mod.Name
	e.Addr = l.t.Kallsyms[e.Name]
	return nil
}

// resolveKsym resolves a symbol without a type. Only kallsyms has a definite answer; without it, a
// symbol that is not a function or variable of the BTF is assumed to exist if it is strong, and not
// to exist if it is weak.
func (l *loading) resolveKsym(e *LinkedExtern) *Error {
	if l.t.Kallsyms != nil {
		if e.Addr, e.Resolved = l.t.Kallsyms[e.Name]; !e.Resolved && !e.Weak {
			return failf(ErrExtern, "kernel symbol %s is not in kallsyms", e.Name)
		}
		return nil
	}
	_, _, isFunc := l.t.find(btf.KindFunc, e.Name, "")
	_, _, isVar := l.t.find(btf.KindVar, e.Name, "")
	e.Resolved = isFunc || isVar || !e.Weak
	if !isFunc && !isVar {
		l.warnf("kernel symbol %s: BTF does not tell whether it exists; assuming %s (settle it with --kallsyms)", e.Name,
			map[bool]string{true: "present", false: "missing, because it is weak"}[e.Resolved])
	}
	return nil
}
