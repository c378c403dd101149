package scenario

import (
	"strings"

	"github.com/bpfrun/bpfrun/btf"
	"github.com/bpfrun/bpfrun/internal/kernel/object"
)

// kindHelpers begin the names of helpers whose result depends on what kind of socket they get.
var kindHelpers = []string{"bpf_skc_to_", "bpf_sk_fullsock", "bpf_tcp_sock", "bpf_get_listener_sock"}

// kindFields are the fields of a struct sock that say so.
var kindFields = []string{"__sk_common.skc_family", "__sk_common.skc_state", "sk_type", "sk_protocol"}

// socketKinds records what helpers asked sockets for that a program read or passed on.
func (s *skeleton) socketKinds(prog string, helpers map[string]int) {
	asks := false
	for name := range helpers {
		for _, begin := range kindHelpers {
			asks = asks || strings.HasPrefix(name, begin)
		}
	}
	if !asks {
		return
	}
	of := map[*sketch]*object.Object{}
	for o, sk := range s.g.byObject {
		of[sk] = o
	}
	for _, sk := range s.g.sketches {
		o := of[sk]
		if o == nil || o.Storage() == nil {
			continue
		}
		if _, err := s.m.Kernel().SocketOf(o); err != nil {
			continue
		}
		spec, storage := o.Storage().Spec, o.Storage().Type
		if path, ok := firstOf(spec, storage, "sock"); ok {
			for _, field := range kindFields {
				s.g.noteStorage(o, path+field, prog)
			}
		} else if path, ok := firstOf(spec, storage, "sock_common"); ok { // of a connection that waits or begins
			s.g.noteStorage(o, path+"skc_family", prog)
			s.g.noteStorage(o, path+"skc_state", prog)
		}
	}
}

// noteStorage adds a field of an object, in terms of its storage.
func (g *graph) noteStorage(o *object.Object, path, prog string) {
	_, inner := outerOf(o)
	if within, ok := strings.CutPrefix(path, inner+"."); ok && inner != "" {
		g.note(o, within, prog)
	} else if o.TypeName() == o.Storage().Name {
		g.note(o, path, prog)
	} else {
		g.noteBeyond(o, path, prog)
	}
}

// firstOf returns the path, with a dot after it, of the struct with a name that another one begins
// with; it is empty if that has the name itself.
func firstOf(spec *btf.Spec, t *btf.Type, name string) (path string, ok bool) {
	for spec.Name(t.ID) != name {
		if t.Kind != btf.KindStruct || len(t.Members) == 0 || t.Members[0].Name == "" {
			return "", false
		}
		path += t.Members[0].Name + "."
		t = spec.SkipMods(t.Members[0].Type)
	}
	return path, true
}
