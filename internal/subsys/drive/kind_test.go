package drive

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/bpfrun/bpfrun/internal/subsys/ops"
	"github.com/bpfrun/bpfrun/loader"
)

// TestWhichOneOfAnObject: by name among those of a kind, or the only one.
func TestWhichOneOfAnObject(t *testing.T) {
	variable := func(name, typ string, progs ...string) *loader.Map {
		s := &loader.StructOpsMap{TypeName: typ}
		for _, p := range progs {
			s.Members = append(s.Members, loader.StructOpsMember{Prog: p})
		}
		return &loader.Map{Name: name, StructOps: s}
	}
	k := &Kind{Whole: ops.Whole{Types: []string{"Qdisc_ops"}}, Name: "queue discipline", None: "no queue discipline"}
	none := &loader.Object{Maps: []*loader.Map{{Name: "counts"}, variable("cc", "tcp_congestion_ops", "init")}}
	one := &loader.Object{Maps: append(none.Maps, variable("fifo", "Qdisc_ops___v2", "", "enqueue", "dequeue"))}
	two := &loader.Object{Maps: append(one.Maps, variable("empty", "Qdisc_ops", ""), variable("fair", "Qdisc_ops", "fair_enqueue"))}
	for _, tt := range []struct {
		obj                       *loader.Object
		name, chosen, typ, stands string
	}{
		{none, "", "", "", ""}, {none, "cc", "", "", "init"}, {none, "counts", "", "", ""},
		{one, "", "fifo", "", ""}, {one, "fifo", "fifo", "Qdisc_ops", "enqueue"}, {one, "fair", "", "", ""},
		{two, "", "", "", ""}, {two, "fifo", "fifo", "Qdisc_ops", "enqueue"}, {two, "fair", "fair", "Qdisc_ops", "fair_enqueue"}, {two, "empty", "empty", "Qdisc_ops", ""},
	} {
		chosen, err := k.Choose(tt.obj, tt.name)
		assert.Equal(t, tt.chosen, chosen, "%+v", tt)
		var refused *NoneError
		if tt.chosen == "" {
			assert.ErrorAs(t, err, &refused, "%+v", tt)
		} else {
			assert.NoError(t, err, "%+v", tt)
		}
		assert.Equal(t, tt.typ, k.TypeOf(tt.obj, tt.name), "%+v", tt)
		assert.Equal(t, tt.stands, k.Program(tt.obj, tt.name), "%+v", tt)
	}
	assert.Equal(t, []string{"fifo", "empty", "fair"}, k.Names(two))
}
