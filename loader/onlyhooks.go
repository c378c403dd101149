package loader

import (
	"slices"
	"strings"

	"github.com/bpfrun/bpfrun/helpers/proto"
	"github.com/bpfrun/bpfrun/internal/progtype"
	"github.com/bpfrun/bpfrun/internal/uapi"
	"github.com/bpfrun/bpfrun/internal/uapi/since"
)

// lsm checks the hook of an LSM program (kernel/bpf/bpf_lsm.c).
func (r *rules) lsm() *Error {
	if progtype.Of(r.lp.Type).TargetOf(r.lp.Attach) != progtype.LSMHook {
		return nil
	}
	hook := strings.TrimPrefix(r.lp.AttachTo, "bpf_lsm_")
	release := r.releases[0]
	switch {
	case hook == "":
		return nil
	case since.Of(r.l.t.Version).Has(since.DisabledHooks) && progtype.DisabledLSM(hook, release):
		return failf(ErrNotAllowed, "no program may attach to the LSM hook %s on Linux %s", hook, r.l.t.VersionString()).
			hint("its return value is not an error number: use another hook, or fentry/bpf_lsm_%s to observe it", hook)
	case r.lp.Sleepable && !r.any(func(release uapi.Release) bool { return progtype.SleepableLSM(hook, release) }):
		return failf(ErrNotAllowed, "programs of the LSM hook %s cannot be sleepable on Linux %s", hook, r.l.t.VersionString()).
			hint("leave .s out of the section name")
	}
	return nil
}

func onlyHint(only proto.Only) string {
	if only == proto.SockStorageTracing {
		return "it is allowed in tp_btf and iterator programs, and in fentry and fexit of functions other than bpf_sk_storage*"
	}
	return "it is for LSM hooks that may sleep, such as lsm.s/file_open"
}

func (r *rules) any(has func(uapi.Release) bool) bool { return slices.ContainsFunc(r.releases, has) }
