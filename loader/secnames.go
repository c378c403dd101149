package loader

import (
	"strings"

	"github.com/bpfrun/bpfrun/internal/progtype"
	"github.com/bpfrun/bpfrun/internal/uapi"
)

// classify sets what the section name implies about a program.
func (o *Object) classify(p *Program, types map[string]uapi.ProgType) {
	sec := p.Section
	p.Autoload = true
	if strings.HasPrefix(sec, "?") {
		p.Autoload = false
		sec = sec[1:]
	}
	p.Hook = sec
	s, target, lenient := o.opened.dialect.section(sec)
	if s != nil {
		p.Known, p.Type, p.Attach, p.Kind, p.SectionFlags = true, s.Type, s.Attach, s.Name, s.Flags
		if s.Flags.Has(progtype.HasTarget) {
			p.AttachTo = target
		}
		if s.Flags.Has(progtype.Sleeps) {
			p.Sleepable = true
			p.Flags |= uapi.ProgSleepable
		}
		if s.Flags.Has(progtype.Frags) {
			p.Flags |= uapi.ProgXDPHasFrags
		}
	}
	t, ok := types[p.Name]
	if !ok {
		t, ok = types[p.Section]
	}
	switch {
	case ok:
		p.override(t)
	case lenient && o.opened.dialect == DialectAuto:
		o.warnf("program %s: section %q is treated as %q, as cilium/ebpf does; libbpf refuses it (--loader libbpf)", p.Name, p.Section, s.Name)
	}
}

func (p *Program) override(t uapi.ProgType) {
	if p.Type == t {
		return
	}
	if row := progtype.Of(t); row.SleepableIn(row.Attach).Always { // a kernel takes no others (check_attach_btf_id)
		p.Sleepable, p.Flags = true, p.Flags|uapi.ProgSleepable
	}
	p.Type, p.Known, p.Attach, p.AttachTo, p.SectionFlags = t, true, progtype.Of(t).Attach, "", 0
	if _, target, ok := strings.Cut(strings.TrimPrefix(p.Section, "?"), "/"); ok {
		p.AttachTo = target
	}
}
