package proto

import (
	"strings"

	"github.com/bpfrun/bpfrun/internal/progtype"
	"github.com/bpfrun/bpfrun/internal/uapi"
	"github.com/bpfrun/bpfrun/internal/uapi/since"
)

// Permits reports whether programs of a hook may call a prototype with this restriction. The
// additional functions of [DPathTargets] are in [DPathFunctions].
func (o Only) Permits(release uapi.Release, c Caller) bool {
	switch o {
	case DPathTargets, SleepableHooks:
		return c.Attach != uapi.AttachLSMMac || c.Target == "" || progtype.SleepableLSM(strings.TrimPrefix(c.Target, "bpf_lsm_"), release)
	case OneMeaning:
		return c.Arch != "s390" || !since.Version{Release: release}.Has(since.SplitProbes)
	case SockStorageTracing:
		switch c.Attach {
		case uapi.AttachModifyReturn:
			return false
		case uapi.AttachTraceFentry, uapi.AttachTraceFexit:
			return !strings.HasPrefix(c.Target, "bpf_sk_storage")
		}
	}
	return true
}

// Permits is [Only.Permits] for kfuncs.
func (o KfuncOnly) Permits(c Caller) bool {
	switch o {
	case SessionPrograms:
		switch c.Attach {
		case uapi.AttachTraceKprobeSession, uapi.AttachTraceUprobeSession, uapi.AttachTraceFsession, uapi.AttachTraceFsessionMulti:
			return true
		}
		return false
	case QdiscOps:
		return c.Target == "Qdisc_ops"
	}
	return true
}
