package subsys

import (
	"context"
	"fmt"
	"io"
	"slices"
	"sync"

	"github.com/bpfrun/bpfrun/internal/machine"
	"github.com/bpfrun/bpfrun/internal/subsys/drive"
	"github.com/bpfrun/bpfrun/internal/subsys/hid/device"
	"github.com/bpfrun/bpfrun/internal/subsys/qdisc/traffic"
	"github.com/bpfrun/bpfrun/internal/subsys/scene"
	"github.com/bpfrun/bpfrun/internal/subsys/sched"
	"github.com/bpfrun/bpfrun/internal/subsys/sched/schedule"
	"github.com/bpfrun/bpfrun/internal/subsys/show"
	"github.com/bpfrun/bpfrun/internal/subsys/sockmap/stream"
	"github.com/bpfrun/bpfrun/internal/subsys/tcpcc/connection"
	"github.com/bpfrun/bpfrun/loader"
)

// System is a subsystem.
type System struct {
	// Kind is what objects may have of it. It is nil for programs that may also run alone, which
	// Programs names.
	Kind     *drive.Kind
	Programs func(*loader.Linked) []string
	// What names a simulation, as in "the schedule of ops", or "programs of a HID device".
	What string
	// MostCPUs limits the CPUs of machines; 0 means that it does not.
	MostCPUs int
	// Default runs the default simulation, for a name of Kind. It is nil if only scenario files say
	// what happens.
	Default func(ctx context.Context, m *machine.Machine, ops string) (drive.Simulation, error)
	// Scene is how scenario files write runs of it.
	Scene *scene.Form
	// Calls runs the default simulation, and tells of operations that others may meet on other CPUs;
	// nil for none.
	Calls func(ctx context.Context, m *machine.Machine, ops string, calls drive.Calls) (*drive.Outcome, error)
	// Trace writes those of a list of documents that are its own as a file for chrome://tracing and
	// Perfetto, and reports how many there were; nil for none.
	Trace func(w io.Writer, docs []show.Document) (int, error)
	// Options adds to options what user space sets before it loads an object; nil adds nothing.
	Options func(*loader.Object, *loader.Target, loader.LoadOptions) loader.LoadOptions
}

// Systems returns the rows in the order in which default runs go through them.
func Systems() []System {
	return []System{
		{Kind: schedule.Kind(), What: schedule.What, MostCPUs: sched.MaxCPUs, Default: schedule.RunDefault, Scene: schedule.Scene(), Calls: schedule.RunCalls, Trace: schedule.WriteTrace, Options: schedule.WithEnums},
		{Kind: traffic.Kind(), What: traffic.What, Default: traffic.RunDefault, Scene: traffic.Scene(), Calls: traffic.RunCalls},
		{What: stream.What, Scene: stream.Scene()},
		{Programs: connection.Programs, What: connection.What, Default: connection.RunDefault, Scene: connection.Scene()},
		{Programs: device.Programs, What: device.What, Default: device.RunDefault, Scene: device.Scene()},
	}
}

// Simulates returns the keys of the subsystems of which an object has something, for
// [machine.Config.Simulates].
func Simulates(obj *loader.Object) (keys []string) {
	for _, s := range Systems() {
		if s.Kind != nil && len(s.Kind.Names(obj)) > 0 {
			keys = append(keys, s.Kind.Key)
		}
	}
	return keys
}

// Scenes are how scenario files write runs of the subsystems. They are shared: every run of a file
// is looked at for each.
func Scenes() []*scene.Form { return scenes() }

var scenes = sync.OnceValue(func() (forms []*scene.Form) {
	for _, s := range Systems() {
		forms = append(forms, s.Scene)
	}
	return forms
})

// AllKeys returns those of all subsystems whose programs cannot run alone.
func AllKeys() (keys []string) {
	for _, s := range Systems() {
		if s.Kind != nil {
			keys = append(keys, s.Kind.Key)
		}
	}
	return keys
}

// Options adds to options what user space sets before it loads an object, for all subsystems.
func Options(obj *loader.Object, target *loader.Target, o loader.LoadOptions) loader.LoadOptions {
	for _, s := range Systems() {
		if s.Options != nil {
			o = s.Options(obj, target, o)
		}
	}
	return o
}

// Meets lists what an object has whose operations others may meet, as the names for Calls.
func (s *System) Meets(obj *loader.Object) []string {
	if s.Calls == nil || s.Kind == nil {
		return nil
	}
	return s.Kind.Names(obj)
}

// Fits returns an error if a machine has too many CPUs.
func (s *System) Fits(m *machine.Machine) error {
	if n := m.Kernel().CPUs(); s.MostCPUs > 0 && n > s.MostCPUs {
		return fmt.Errorf("--cpus %d: a %s has at most %d", n, s.What, s.MostCPUs)
	}
	return nil
}

// CanRun reports whether one of those of the named programs that belong to a subsystem without
// [System.Kind] can run; nil names all.
func (s *System) CanRun(m *machine.Machine, names []string) bool {
	if s.Programs == nil {
		return false
	}
	return slices.ContainsFunc(s.Programs(m.Linked()), func(p string) bool {
		_, ok := m.Entry(p)
		return ok && (names == nil || slices.Contains(names, p))
	})
}
