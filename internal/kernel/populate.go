package kernel

import (
	"strings"

	"github.com/bpfrun/bpfrun/btf"
	"github.com/bpfrun/bpfrun/internal/kernel/object"
)

// surroundings is the kernel as seen by its objects.
type surroundings struct{ k *Kernel }

// Populate lets the parts initialise an object.
func (r surroundings) Populate(o *object.Object) {
	b := object.Fill(o)
	if o.Count() > 1 {
		return
	}
	face := ""
	if l := o.Face(); l != nil {
		face = l.Name
		r.fill(face, b)
	}
	if l := o.Storage(); l != nil {
		if face != "" {
			r.fill(l.Name, b.As(l.Name))
		} else {
			r.fill(l.Name, b)
		}
		if protocol, ok := strings.CutSuffix(l.Name, "6_sock"); ok { // tcp6_sock begins with a tcp_sock
			r.fill(protocol+"_sock", b)
		}
		switch l.Name {
		case "tcp_sock", "tcp6_sock", "udp_sock", "udp6_sock":
			// It is a sock, an inet_sock and its own type at once.
			if face == "sock" {
				r.fill("inet_sock", b)
			} else if r.k.LayoutNamed("inet_sock") != nil {
				r.fill("inet_sock", b)
				r.fill("sock", b)
			}
		}
	}
}

func (r surroundings) fill(typ string, b object.Builder) {
	if r.k.Model.Fill(typ, b) && typ != "net" || r.k.Hooks.Fill(typ, b) {
		return
	}
	r.k.Host.Fill(typ, b) // of a network namespace what is not every namespace's
}

func (r surroundings) UserPointer(role string, spec *btf.Spec, to object.Pointee) uint64 {
	return r.k.User.Pointer(role, spec, to)
}

func (r surroundings) UserString(text string) uint64 { return r.k.User.UserString(text) }

func (r surroundings) FuncPointer(role string, spec *btf.Spec, proto btf.ID) uint64 {
	return r.k.FuncPointer(role, spec, proto)
}

func (r surroundings) PercpuPointer(role string, spec *btf.Spec, id btf.ID) uint64 {
	return r.k.PerCPU.Pointer(role, spec, id)
}

func (r surroundings) ObjectAt(addr uint64) *object.Object { return r.k.VariableAt(addr) }
