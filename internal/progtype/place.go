package progtype

import (
	"slices"
	"strings"

	"github.com/bpfrun/bpfrun/internal/uapi"
	"github.com/bpfrun/bpfrun/internal/uapi/since"
)

// Guard is what keeps a program from running in the middle of another one on the same CPU.
type Guard uint8

// Guards.
const (
	Unguarded  Guard = iota
	OwnGuard         // each program has a counter on each CPU (prog->active)
	AllTracing       // kprobes, tracepoints and perf events have one together (bpf_prog_active)
)

// Place is where programs run and what can interrupt them.
type Place struct {
	// Attach and Sections narrow the row to an attach type or to sections that begin with one of
	// the words.
	Attach   uapi.AttachType
	Sections []string
	// Task, SoftIRQ, HardIRQ and NMI are where they run.
	Task, SoftIRQ, HardIRQ, NMI bool
	// Preempted is the first rule under which preemptible kernels switch to another task in the
	// middle of a program, Always for none that changed; Never means that they do not.
	Preempted since.Rule
	Never     bool
	// Guard is there from GuardFrom to GuardUntil, if these are set, and Then afterwards.
	Guard, Then           Guard
	GuardFrom, GuardUntil since.Rule
	// Kernel is the function of the kernel that runs them.
	Kernel string
	// Evidence is how it is known where they run, and that nothing comes in between.
	Evidence since.Evidence
	// hooked means that the hook decides where that is reached; lsm that it is named without
	// security_.
	hooked, lsm bool
}

// PlaceOf returns where a program runs; false for types that say nothing about it.
func PlaceOf(t uapi.ProgType, attach uapi.AttachType, section string) (Place, bool) {
	for _, p := range Of(t).Runs {
		if p.Attach != 0 && p.Attach != attach {
			continue
		}
		if len(p.Sections) == 0 || slices.ContainsFunc(p.Sections, func(s string) bool { return strings.HasPrefix(section, s) }) {
			return p, true
		}
	}
	return Place{}, false
}

// Guards returns what guards programs on a release.
func (p *Place) Guards(v since.Version) Guard {
	switch {
	case p.GuardFrom != 0 && !v.Has(p.GuardFrom):
		return Unguarded
	case p.GuardUntil != 0 && v.Has(p.GuardUntil):
		return p.Then
	}
	return p.Guard
}

// Preemptible reports whether a preemptible kernel of a release can switch to another task in the
// middle of a program.
func (p *Place) Preemptible(v since.Version) bool { return !p.Never && v.Has(p.Preempted) }

// everywhere is where kernel functions and tracepoints are.
func everywhere(p Place) Place {
	p.Task, p.SoftIRQ, p.HardIRQ, p.hooked = true, true, true, true
	return p
}

var (
	// Only those of hardware counters come as NMIs, and not on every processor.
	nmi = []Place{{NMI: true, Never: true, Guard: AllTracing, Kernel: "bpf_overflow_handler", Evidence: since.Source}}
	// Probes of user programs and of the kernel have one type.
	probes = []Place{
		{Sections: []string{"uprobe", "uretprobe", "usdt"}, Task: true, Preempted: since.UprobeUnguarded, Guard: AllTracing, GuardUntil: since.UprobeUnguarded, Kernel: "bpf_prog_run_array_uprobe", Evidence: since.Source},
		everywhere(Place{Never: true, Guard: AllTracing, Kernel: "trace_call_bpf", Evidence: since.Source}),
	}
	tracepoints    = []Place{everywhere(Place{Never: true, Guard: AllTracing, Kernel: "trace_call_bpf", Evidence: since.Source})}
	rawTracepoints = everywhere(Place{Preempted: since.TracepointPreemptible, Guard: OwnGuard, GuardFrom: since.RawTracepointGuard, Kernel: "__bpf_trace_run", Evidence: since.Source})
	tracing        = []Place{
		ofAttach(rawTracepoints, uapi.AttachTraceRawTp),
		ofAttach(inTasks("bpf_iter_run_prog")[0], uapi.AttachTraceIter),
		everywhere(Place{Preempted: since.MigrateDisable, Guard: OwnGuard, GuardFrom: since.TrampolineGuard, Kernel: "__bpf_prog_enter_recur", Evidence: since.Source}),
	}
	lsmHook  = Place{Task: true, SoftIRQ: true, HardIRQ: true, hooked: true, lsm: true, Preempted: since.MigrateDisable, Evidence: since.Source}
	lsmHooks = []Place{
		ofAttach(lsmHook.by("__bpf_prog_enter_lsm_cgroup"), uapi.AttachLSMCgroup),
		guarded(lsmHook.by("__bpf_prog_enter"), OwnGuard, since.TrampolineGuard, since.LSMUnguarded),
	}
	// What a TCP socket receives reaches the programs of its sockmap in a softirq, or in the task that
	// owned the socket meanwhile: release_sock goes through the backlog, strp_work reads the socket.
	// What it sends reaches them in tcp_bpf_sendmsg. Both hold the socket's lock.
	sockmapBytes = []Place{
		ofAttach(inBoth("sk_psock_strp_parse")[0], uapi.AttachSkSkbStreamParser),
		inBoth("sk_psock_verdict_recv")[0],
	}
)

// inSoftIRQs is where programs run in softirqs, or in a task that keeps them away: the network's
// functions disable them before they run a program that redirects packets or chooses a socket.
func inSoftIRQs(kernel string) []Place {
	return []Place{{SoftIRQ: true, Never: true, Kernel: kernel, Evidence: since.Source}}
}

// inTasks is where programs run for the system call of a task.
func inTasks(kernel string) []Place {
	return []Place{{Task: true, Preempted: since.MigrateDisable, Kernel: kernel, Evidence: since.Source}}
}

// inBoth is where programs run in softirqs for packets that arrive, and in tasks that send some.
func inBoth(kernel string) []Place {
	return []Place{{Task: true, SoftIRQ: true, Preempted: since.MigrateDisable, Kernel: kernel, Evidence: since.Source}}
}

func (p Place) by(kernel string) Place {
	p.Kernel = kernel
	return p
}

func guarded(p Place, g Guard, from, until since.Rule) Place {
	p.Guard, p.GuardFrom, p.GuardUntil = g, from, until
	return p
}

func ofAttach(p Place, a uapi.AttachType) Place {
	p.Attach = a
	return p
}
