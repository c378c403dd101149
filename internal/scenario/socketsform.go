package scenario

// socketsForm describes bytes that move through sockmaps, and expectSocketForm what is expected of
// a socket.
var socketsForm = &form{"sockets", "Bytes that move between sockets. The sockets are the file's !sock objects; those that maps: puts into sockmaps and sockhashes have the programs of these maps.", []member{
	{name: "attach", doc: "The programs (sk_skb, sk_msg) that are attached to each map. The default are all of the object's, to its only map of these types.", shape: mapOf(listOf(text))},
	{name: "peers", doc: "Connections between two of the sockets, by name ({client: server}): what leaves one arrives at the other. What leaves other sockets is only recorded.", shape: mapOf(text)},
	{name: "steps", doc: "What happens, in order.", shape: listOf(formOf(socketStepForm)), required: true},
}}

var socketStepForm = &form{"sockets step", "One segment that arrives, or one call of sendmsg: exactly one of to and from.", []member{
	{name: "to", doc: "The socket at which the segment arrives from the network, by name.", shape: text},
	{name: "from", doc: "The socket that sends, by name.", shape: text},
	{name: "data", doc: "The bytes: text or !hex, at most 32 KiB.", shape: text, required: true},
}}

var expectSocketForm = &form{"expect socket", "What became of a socket's bytes in the run.", []member{
	{name: "received", doc: "What user space can read from it: text or !hex.", shape: text},
	{name: "sent", doc: "What left it: text or !hex.", shape: text},
	{name: "dropped", doc: "Bytes that programs dropped.", shape: integer},
	{name: "waiting", doc: "Bytes of an incomplete message, of a corked one, or behind a parser that failed.", shape: integer},
	{name: "messages", doc: "Lengths of the messages that the parser cut, in order.", shape: listOf(integer)},
	{name: "error", doc: "The error that the parser caused (-EPROTO, -EMSGSIZE, or its own), 0 for none.", shape: oneOf(integer, text)},
}}

// socketsMembers are the members that a run with sockets may have.
var socketsMembers = []string{"name", "each", "since", "arch", "sockets", "current", "cpu", "after", "expect"}
