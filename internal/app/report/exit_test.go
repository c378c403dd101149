package report

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/bpfrun/bpfrun/internal/exitcode"
)

func TestRunExit(t *testing.T) {
	doc := func(status ...string) *RunDocument {
		d := &RunDocument{}
		for i, s := range status {
			d.Programs = append(d.Programs, Program{Name: string(rune('a' + i)), Status: s})
		}
		return d
	}
	may, reached := doc("ok"), doc("ok")
	may.Programs[0].Relocations.PoisonedMay = 1
	reached.Programs[0].Relocations.PoisonedReached = 1
	failed := doc("ok")
	failed.Error = &Error{}
	one := doc("ok", "fault")
	one.Choose([]string{"a"})
	for _, c := range []struct {
		name           string
		doc            *RunDocument
		chosen, strict bool
		want           int
	}{
		{"good", doc("ok", "unknown-hook"), false, false, exitcode.OK},
		{"refused wins over fault", doc("fault", "refused", "not-simulated"), false, false, exitcode.Load},
		{"fault wins over not simulated", doc("not-simulated", "fault"), false, false, exitcode.Fault},
		{"not simulated", doc("ok", "not-simulated"), false, false, exitcode.NotSimulated},
		{"one absent", doc("ok", "absent"), false, false, exitcode.OK},
		{"chosen and absent", doc("ok", "absent"), true, false, exitcode.Load},
		{"all absent", doc("absent", "absent"), false, false, exitcode.Load},
		{"nothing left", doc("disabled"), false, false, exitcode.Load},
		{"no programs at all", doc(), false, false, exitcode.OK},
		{"poison reached", reached, false, false, exitcode.Load},
		{"poison that may break", may, false, false, exitcode.OK},
		{"poison that may break, strict", may, false, true, exitcode.Load},
		{"object error", failed, false, false, exitcode.Load},
		{"left out", one, true, false, exitcode.OK},
	} {
		assert.Equal(t, c.want, RunExit(c.doc, c.chosen, c.strict), c.name)
	}
}
