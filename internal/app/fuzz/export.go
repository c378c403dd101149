package fuzz

import (
	"slices"

	"github.com/bpfrun/bpfrun/internal/machine"
	"github.com/bpfrun/bpfrun/internal/progtype"
)

// Choices are the parts of one program's input for engines that know nothing of BPF, such as that
// of go test -fuzz: they pass bytes, and [Choices.Read] says what these mean. Create them with
// [ChoicesOf].
type Choices struct {
	// Packet is the packet that the program gets by default, nil if it takes none; a packet has
	// Least to Most bytes.
	Packet      []byte
	Least, Most int
	args        []argument
	helpers     []string
}

// ChoicesOf looks at the context of a program on a machine.
func ChoicesOf(m *machine.Machine, name string) (*Choices, error) {
	c := &Choices{helpers: answerable(m.Calls(name))}
	lp, ok := m.Linked().Program(name)
	if !ok {
		return nil, machine.ErrNoProgram
	}
	k, err := m.Inspect(name, machine.Input{})
	if err != nil {
		return nil, err
	}
	defer func() { k.Leave(); k.Free() }()
	if progtype.Of(lp.Type).Takes.Has(progtype.TakesPacket) {
		c.Packet = slices.Clone(k.FrameIn())
		c.Least, c.Most = limits(lp)
	}
	for _, name := range k.ArgNames() {
		if v, size, ok := k.ArgValue(name); ok && (k.Arg(name) == nil || !isPointer(m, k.Arg(name))) {
			c.args = append(c.args, argument{Number{name, v}, 8 * size, name == "ret" && progtype.Of(lp.Type).TargetOf(lp.Attach) == progtype.LSMHook})
		}
	}
	return c, nil
}

// SeedPackets are packets of many protocols as long as the program takes them.
func (c *Choices) SeedPackets() [][]byte {
	var out [][]byte
	for _, p := range seedPackets() {
		if len(p) >= c.Least && len(p) <= c.Most {
			out = append(out, slices.Clone(p))
		}
	}
	return out
}

// Read reads values of arguments and answers of helpers: nine bytes each, the first of which
// chooses, the others are the number. What is left over means nothing.
func (c *Choices) Read(data []byte) (args map[string]uint64, answers []Answer) {
	n := len(c.args) + len(c.helpers)
	args = map[string]uint64{}
	for ; len(data) >= 9 && n > 0; data = data[9:] {
		v := uint64(0)
		for i, b := range data[1:9] {
			v |= uint64(b) << (8 * i)
		}
		i := int(data[0]) % n
		if i < len(c.args) {
			args[c.args[i].Name] = c.args[i].fit(v)
			continue
		}
		name := c.helpers[i-len(c.args)]
		a := Answer{Helper: name, Returns: []uint64{v}}
		if list := fails()[name]; list != nil {
			a = Answer{Helper: name, At: int(v>>8) % 4, Returns: []uint64{list[int(v&0xff)%len(list)]}}
		}
		answers = append(answers, a)
	}
	return args, answers
}
