package loader

import (
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/bpfrun/bpfrun/internal/uapi"
)

// tailPrefix is the prefix of the decl tag that assigns a program to a slot of a program array:
// "tail:MAP/SLOT".
const tailPrefix = "tail:"

// readTailTags puts programs into the program arrays that their functions' decl tags name, in
// addition to the maps' own initial values. Loaders of large datapaths fill their arrays this way.
// A tag for a map that the object lacks is not an error, because one header serves many objects.
func (o *Object) readTailTags(*file) error {
	for _, p := range o.Programs {
		for _, tag := range o.tailTags[p.FuncType] {
			if err := o.tailTag(p, tag); err != nil {
				return err
			}
		}
	}
	return nil
}

// tailTag applies one tag of a program.
func (o *Object) tailTag(p *Program, tag string) error {
	name, slot, ok := strings.Cut(tag, "/")
	index, err := strconv.ParseUint(slot, 0, 31)
	if !ok || err != nil {
		return failf(ErrMapDef, "tag tail:%s of program %s: want tail:MAP/SLOT", tag, p.Name).section(p.Section)
	}
	m, ok := o.Map(name)
	if !ok {
		return nil
	}
	if m.Type != uapi.MapTypeProgArray {
		return failf(ErrMapDef, "tag tail:%s of program %s: map %s is not a prog_array but %s", tag, p.Name, name, m.Type).section(p.Section)
	}
	if index >= uint64(m.MaxEntries) && m.MaxEntries != 0 || index > math.MaxInt32 {
		return failf(ErrMapDef, "tag tail:%s of program %s: map %s has %d slots", tag, p.Name, name, m.MaxEntries).section(p.Section)
	}
	at := slices.IndexFunc(m.Values, func(v MapInit) bool { return v.Index == int(index) })
	switch {
	case at < 0:
		m.Values = append(m.Values, MapInit{Index: int(index), Prog: p.Name})
	case m.Values[at].Prog != p.Name:
		return failf(ErrMapDef, "slot %d of map %s is set to %s and, by a tag, to %s", index, name, m.Values[at].Prog, p.Name).section(p.Section)
	}
	return nil
}
