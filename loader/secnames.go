package loader

import (
	"strings"

	"github.com/bpfrun/bpfrun/progtype"
	"github.com/bpfrun/bpfrun/uapi"
)

// classify fills in what the section name tells about a program.
func (p *Program) classify(types map[string]uapi.ProgType) {
	sec := p.Section
	p.Autoload = true
	if strings.HasPrefix(sec, "?") {
		p.Autoload = false
		sec = sec[1:]
	}
	p.Hook = sec
	if s, target := progtype.ParseSection(sec); s != nil {
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
	if t, ok := types[p.Name]; ok {
		p.override(t)
	} else if t, ok := types[p.Section]; ok {
		p.override(t)
	}
}

func (p *Program) override(t uapi.ProgType) {
	if p.Type == t {
		return
	}
	p.Type, p.Known, p.Attach, p.AttachTo, p.SectionFlags = t, true, progtype.Of(t).Attach, "", 0
	if _, target, ok := strings.Cut(strings.TrimPrefix(p.Section, "?"), "/"); ok {
		p.AttachTo = target
	}
}
