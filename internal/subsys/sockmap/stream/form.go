package stream

import (
	"github.com/bpfrun/bpfrun/internal/scenario/grammar"
	"github.com/bpfrun/bpfrun/internal/subsys/scene"
)

// Scene is how scenario files write bytes that move between sockets.
func Scene() *scene.Form { return &form }

var form = scene.Form{
	Member: grammar.Member{Name: "sockets", Doc: "Bytes that move through sockets of sockmaps and sockhashes, instead of one program.", Shape: grammar.FormOf(runForm)},
	Expect: []grammar.Member{
		{Name: "sockets", Doc: "What became of the bytes, by the name of the socket.", Shape: grammar.MapOf(grammar.FormOf(expectForm))},
		{Name: "sends", Doc: "What sendmsg returned in the steps of sockets, in order: a number of bytes or an error (-EACCES).", Shape: grammar.ListOf(grammar.OneOf(grammar.Integer, grammar.Text))},
	},
	Parts: []*grammar.Form{runForm, stepForm}, Judged: []*grammar.Form{expectForm},
	Only: []string{"name", "each", "since", "arch", "sockets", "current", "cpu", "after", "expect"}, Callers: "the bytes",
	Missing: "the run has no sockets",
	Calls:   true,
	Decode:  decode,
}

// runForm describes bytes that move through sockmaps, and expectForm what is expected of
// a socket.
var runForm = &grammar.Form{Name: "sockets", Doc: "Bytes that move between sockets. The sockets are the file's !sock objects; those that maps: puts into sockmaps and sockhashes have the programs of these maps.", Members: []grammar.Member{
	{Name: "attach", Doc: "The programs (sk_skb, sk_msg) that are attached to each map. The default are all of the object's, to its only map of these types.", Shape: grammar.MapOf(grammar.ListOf(grammar.Text))},
	{Name: "peers", Doc: "Connections between two of the sockets, by name ({client: server}): what leaves one arrives at the other. What leaves other sockets is only recorded.", Shape: grammar.MapOf(grammar.Text)},
	{Name: "steps", Doc: "What happens, in order.", Shape: grammar.ListOf(grammar.FormOf(stepForm)), Required: true},
}}

var stepForm = &grammar.Form{Name: "sockets step", Doc: "One segment that arrives, or one call of sendmsg: exactly one of to and from.", Members: []grammar.Member{
	{Name: "to", Doc: "The socket at which the segment arrives from the network, by name.", Shape: grammar.Text},
	{Name: "from", Doc: "The socket that sends, by name.", Shape: grammar.Text},
	{Name: "data", Doc: "The bytes: text or !hex, at most 32 KiB.", Shape: grammar.Text, Required: true},
}}

var expectForm = &grammar.Form{Name: "expect socket", Doc: "What became of a socket's bytes in the run.", Members: []grammar.Member{
	{Name: "received", Doc: "What user space can read from it: text or !hex.", Shape: grammar.Text},
	{Name: "sent", Doc: "What left it: text or !hex.", Shape: grammar.Text},
	{Name: "dropped", Doc: "Bytes that programs dropped.", Shape: grammar.Integer},
	{Name: "waiting", Doc: "Bytes of an incomplete message, of a corked one, or behind a parser that failed.", Shape: grammar.Integer},
	{Name: "messages", Doc: "Lengths of the messages that the parser cut, in order.", Shape: grammar.ListOf(grammar.Integer)},
	{Name: "error", Doc: "The error that the parser caused (-EPROTO, -EMSGSIZE, or its own), 0 for none.", Shape: grammar.OneOf(grammar.Integer, grammar.Text)},
}}
