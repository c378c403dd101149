package bpfsys

import "github.com/bpfrun/bpfrun/uapi"

const (
	// commonAttrs in the command number says that a second struct follows (BPF_COMMON_ATTRS).
	commonAttrs = 1 << 16
)

// commands is enum bpf_cmd with the last field of each command in its releases (kernel/bpf/syscall.c, *_LAST_FIELD).
var commands []command

func init() {
	commands = []command{
		{"BPF_MAP_CREATE", 0, []end{{0, 64}, {uapi.R(5, 16), 72}, {uapi.R(6, 9), 80}, {uapi.R(6, 18), 92}}, (*System).mapCreate},
		{"BPF_MAP_LOOKUP_ELEM", 0, upTo(32), (*System).mapLookup},
		{"BPF_MAP_UPDATE_ELEM", 0, upTo(32), (*System).mapUpdate},
		{"BPF_MAP_DELETE_ELEM", 0, upTo(16), (*System).mapDelete},
		{"BPF_MAP_GET_NEXT_KEY", 0, upTo(24), (*System).mapNextKey},
		{"BPF_PROG_LOAD", 0, []end{{0, 116}, {uapi.R(5, 14), 128}, {uapi.R(5, 17), 140}, {uapi.R(6, 4), 144}, {uapi.R(6, 9), 148}, {uapi.R(6, 14), 152}, {uapi.R(6, 18), 168}}, (*System).progLoad},
		{"BPF_OBJ_PIN", 0, []end{{0, 16}, {uapi.R(6, 5), 20}}, (*System).objPin},
		{"BPF_OBJ_GET", 0, []end{{0, 16}, {uapi.R(6, 5), 20}}, (*System).objGet},
		{"BPF_PROG_ATTACH", 0, []end{{0, 20}, {uapi.R(6, 6), 32}}, (*System).progAttach},
		{"BPF_PROG_DETACH", 0, []end{{0, 12}, {uapi.R(6, 6), 32}}, (*System).progDetach},
		{"BPF_PROG_TEST_RUN", 0, []end{{0, 72}, {uapi.R(5, 18), 76}}, (*System).testRun},
		{"BPF_PROG_GET_NEXT_ID", 0, upTo(8), func(s *System, _ Caller, a *attr) Result { return s.nextID(a, KindProg) }},
		{"BPF_MAP_GET_NEXT_ID", 0, upTo(8), func(s *System, _ Caller, a *attr) Result { return s.nextID(a, KindMap) }},
		{"BPF_PROG_GET_FD_BY_ID", 0, upTo(4), func(s *System, _ Caller, a *attr) Result { return s.byIDFile(a, KindProg) }},
		{"BPF_MAP_GET_FD_BY_ID", 0, upTo(12), func(s *System, _ Caller, a *attr) Result { return s.byIDFile(a, KindMap) }},
		{"BPF_OBJ_GET_INFO_BY_FD", 0, upTo(16), (*System).infoByFD},
		{"BPF_PROG_QUERY", 0, []end{{0, 28}, {uapi.R(6, 0), 40}, {uapi.R(6, 6), 64}}, (*System).progQuery},
		{"BPF_RAW_TRACEPOINT_OPEN", 0, []end{{0, 12}, {uapi.R(6, 10), 24}}, (*System).rawTracepointOpen},
		{"BPF_BTF_LOAD", 0, []end{{0, 28}, {uapi.R(6, 4), 32}, {uapi.R(6, 9), 40}}, (*System).btfLoad},
		{"BPF_BTF_GET_FD_BY_ID", 0, []end{{0, 4}, {uapi.R(6, 17), 16}}, func(s *System, _ Caller, a *attr) Result { return s.byIDFile(a, KindBTF) }},
		{"BPF_TASK_FD_QUERY", 0, upTo(48), (*System).taskFDQuery},
		{"BPF_MAP_LOOKUP_AND_DELETE_ELEM", 0, []end{{0, 24}, {uapi.R(5, 14), 32}}, (*System).mapLookupDelete},
		{"BPF_MAP_FREEZE", 0, upTo(4), (*System).mapFreeze},
		{"BPF_BTF_GET_NEXT_ID", 0, upTo(8), func(s *System, _ Caller, a *attr) Result { return s.nextID(a, KindBTF) }},
		{"BPF_MAP_LOOKUP_BATCH", 0, upTo(56), func(s *System, c Caller, a *attr) Result { return s.batchLookup(c, a, false) }},
		{"BPF_MAP_LOOKUP_AND_DELETE_BATCH", 0, upTo(56), func(s *System, c Caller, a *attr) Result { return s.batchLookup(c, a, true) }},
		{"BPF_MAP_UPDATE_BATCH", 0, upTo(56), (*System).batchUpdate},
		{"BPF_MAP_DELETE_BATCH", 0, upTo(56), (*System).batchDelete},
		{"BPF_LINK_CREATE", 0, []end{{0, 28}, {uapi.R(5, 18), 48}, {uapi.R(6, 6), 60}}, (*System).linkCreate},
		{"BPF_LINK_UPDATE", 0, upTo(16), (*System).linkUpdate},
		{"BPF_LINK_GET_FD_BY_ID", 0, upTo(4), func(s *System, _ Caller, a *attr) Result { return s.byIDFile(a, KindLink) }},
		{"BPF_LINK_GET_NEXT_ID", 0, upTo(8), func(s *System, _ Caller, a *attr) Result { return s.nextID(a, KindLink) }},
		{"BPF_ENABLE_STATS", 0, upTo(4), (*System).enableStats},
		{"BPF_ITER_CREATE", 0, upTo(8), (*System).iterCreate},
		{"BPF_LINK_DETACH", 0, upTo(4), (*System).linkDetach},
		{"BPF_PROG_BIND_MAP", 0, upTo(12), (*System).bindMap},
		{"BPF_TOKEN_CREATE", uapi.R(6, 9), upTo(8), (*System).tokenCreate},
		{"BPF_PROG_STREAM_READ_BY_FD", uapi.R(6, 17), upTo(20), (*System).streamRead},
		{"BPF_PROG_ASSOC_STRUCT_OPS", uapi.R(7, 0), upTo(12), (*System).assocStructOps},
	}
}

// CommandName names a command: "BPF_MAP_CREATE"; "" for a number no release has.
func CommandName(cmd uint32) string {
	if cmd &^= commonAttrs; uint64(cmd) < uint64(len(commands)) {
		return commands[cmd].name
	}
	return ""
}

// Call is bpf(2) with its first three arguments, and the two of BPF_COMMON_ATTRS. Everything the caller passes is untrusted.
func (s *System) Call(c Caller, cmd uint32, addr uint64, size uint32, common uint64, commonSize uint32) Result {
	s.mu.Lock()
	defer s.mu.Unlock()
	a, e := s.readAttr(c, addr, size)
	if e != 0 {
		return fail(e)
	}
	if cmd&commonAttrs != 0 && s.release.Has(uapi.R(7, 0)) {
		// A program that asks whether there are common attributes passes none.
		if common == 0 || commonSize == 0 {
			return fail(uapi.EFAULT)
		}
		return Result{Errno: uapi.EOPNOTSUPP, Note: "BPF_COMMON_ATTRS with attributes is not served"}
	}
	if uint64(cmd) >= uint64(len(commands)) || !s.release.Has(commands[cmd].since) {
		return fail(uapi.EINVAL)
	}
	k := &commands[cmd]
	if !zeroFrom(a.b[:], k.end(s.release)) {
		return fail(uapi.EINVAL)
	}
	r := k.do(s, c, a)
	if s.cfg.Trace != nil {
		s.cfg.Trace(k.name, r)
	}
	return r
}

// OnElements reports whether a command is about the elements of one map: it neither sees nor names other objects.
func OnElements(cmd uint32) bool {
	const lookup, nextKey = 1, 4
	return cmd >= lookup && cmd <= nextKey
}
