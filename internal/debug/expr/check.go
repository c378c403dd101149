package expr

import (
	"errors"
	"strings"

	"github.com/bpfrun/bpfrun/internal/packet"
)

// CheckNames finds names, members and header fields in an expression that do not exist, however it
// would be evaluated: also in a part that its present values skip. The error is an *[UnknownError]
// or a *[SyntaxError].
func (ev *Evaluator) CheckNames(n Node) error {
	ev.checking = true
	defer func() { ev.checking = false }()
	var found error
	members := map[Node]bool{} // arguments that are names of members
	walkNodes(n, func(n Node) {
		if found != nil || members[n] {
			return
		}
		if c, ok := n.(*callNode); ok {
			f := ev.Added[c.name]
			for _, arg := range c.args[max(0, min(len(c.args), f.Args-f.Optional)):] {
				if f.Optional > 0 {
					walkNodes(arg, func(n Node) { members[n] = true })
				}
			}
		}
		switch n.(type) {
		case *nameNode, *regNode, *memberNode, *indexNode, *callNode, *castNode:
		default:
			return
		}
		if _, err := ev.EvalNode(n); IsUnknown(err) {
			found = ev.unlessOtherPacket(n, err)
		}
	})
	return found
}

// unlessOtherPacket drops an error about a header that this packet does not have, if some packet
// can have it.
func (ev *Evaluator) unlessOtherPacket(n Node, err error) error {
	var unknown *UnknownError
	if !errors.As(err, &unknown) || unknown.What != "header" {
		return err
	}
	path, ok := packetPath(n)
	if !ok {
		return nil
	}
	wrong := packet.CheckPath(path)
	if wrong == nil {
		return nil
	}
	layer, field, _ := strings.Cut(path, ".")
	if t, err := ev.FindType("struct", kernelStructs[layer]); err == nil {
		if _, ok := t.Spec.FindMember(t.ID, field); ok {
			return nil
		}
	}
	e := &UnknownError{What: "header", Name: layer, In: "packets", Nearest: Near(layer, packet.LayerNames())}
	if names := packet.FieldNames(layer); names != nil {
		e = &UnknownError{What: "field", Name: field, In: "pkt." + layer, Nearest: Near(field, names)}
	}
	return e
}

// packetPath returns "ip.ttl" for pkt.ip.ttl and pkt.ip[1].ttl.
func packetPath(n Node) (string, bool) {
	var names []string
	for {
		switch x := n.(type) {
		case *memberNode:
			names = append([]string{x.name}, names...)
			n = x.x
			continue
		case *indexNode:
			n = x.x
			continue
		case *nameNode:
			return strings.Join(names, "."), x.name == "pkt" && len(names) > 0
		}
		return "", false
	}
}
