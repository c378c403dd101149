package bpfsys

import (
	"github.com/bpfrun/bpfrun/uapi"

	"github.com/bpfrun/bpfrun/uapi/since"
)

const (
	// commonAttrs is the flag in the command number for a second struct of attributes (BPF_COMMON_ATTRS).
	commonAttrs = 1 << 16
)

// commands lists enum bpf_cmd, with the last field of each command by release (*_LAST_FIELD in kernel/bpf/syscall.c).
var commands []command

func init() {
	commands = []command{
		uapi.CmdMapCreate:               {0, []end{{0, 64}, {uapi.R(5, 16), 72}, {uapi.R(6, 9), 80}, {uapi.R(6, 18), 92}}, (*System).mapCreate},
		uapi.CmdMapLookupElem:           {0, upTo(32), (*System).mapLookup},
		uapi.CmdMapUpdateElem:           {0, upTo(32), (*System).mapUpdate},
		uapi.CmdMapDeleteElem:           {0, upTo(16), (*System).mapDelete},
		uapi.CmdMapGetNextKey:           {0, upTo(24), (*System).mapNextKey},
		uapi.CmdProgLoad:                {0, []end{{0, 116}, {uapi.R(5, 14), 128}, {uapi.R(5, 17), 140}, {uapi.R(6, 4), 144}, {uapi.R(6, 9), 148}, {uapi.R(6, 14), 152}, {uapi.R(6, 18), 168}}, (*System).progLoad},
		uapi.CmdObjPin:                  {0, []end{{0, 16}, {uapi.R(6, 5), 20}}, (*System).objPin},
		uapi.CmdObjGet:                  {0, []end{{0, 16}, {uapi.R(6, 5), 20}}, (*System).objGet},
		uapi.CmdProgAttach:              {0, []end{{0, 20}, {uapi.R(6, 6), 32}}, (*System).progAttach},
		uapi.CmdProgDetach:              {0, []end{{0, 12}, {uapi.R(6, 6), 32}}, (*System).progDetach},
		uapi.CmdProgTestRun:             {0, []end{{0, 72}, {uapi.R(5, 18), 76}}, (*System).testRun},
		uapi.CmdProgGetNextId:           {0, upTo(8), func(s *System, _ Caller, a *attr) Result { return s.nextID(a, KindProg) }},
		uapi.CmdMapGetNextId:            {0, upTo(8), func(s *System, _ Caller, a *attr) Result { return s.nextID(a, KindMap) }},
		uapi.CmdProgGetFdById:           {0, upTo(4), func(s *System, _ Caller, a *attr) Result { return s.byIDFile(a, KindProg) }},
		uapi.CmdMapGetFdById:            {0, upTo(12), func(s *System, _ Caller, a *attr) Result { return s.byIDFile(a, KindMap) }},
		uapi.CmdObjGetInfoByFd:          {0, upTo(16), (*System).infoByFD},
		uapi.CmdProgQuery:               {0, []end{{0, 28}, {uapi.R(6, 0), 40}, {uapi.R(6, 6), 64}}, (*System).progQuery},
		uapi.CmdRawTracepointOpen:       {0, []end{{0, 12}, {uapi.R(6, 10), 24}}, (*System).rawTracepointOpen},
		uapi.CmdBtfLoad:                 {0, []end{{0, 28}, {uapi.R(6, 4), 32}, {uapi.R(6, 9), 40}}, (*System).btfLoad},
		uapi.CmdBtfGetFdById:            {0, []end{{0, 4}, {uapi.R(6, 17), 16}}, func(s *System, _ Caller, a *attr) Result { return s.byIDFile(a, KindBTF) }},
		uapi.CmdTaskFdQuery:             {0, upTo(48), (*System).taskFDQuery},
		uapi.CmdMapLookupAndDeleteElem:  {0, []end{{0, 24}, {uapi.R(5, 14), 32}}, (*System).mapLookupDelete},
		uapi.CmdMapFreeze:               {0, upTo(4), (*System).mapFreeze},
		uapi.CmdBtfGetNextId:            {0, upTo(8), func(s *System, _ Caller, a *attr) Result { return s.nextID(a, KindBTF) }},
		uapi.CmdMapLookupBatch:          {0, upTo(56), func(s *System, c Caller, a *attr) Result { return s.batchLookup(c, a, false) }},
		uapi.CmdMapLookupAndDeleteBatch: {0, upTo(56), func(s *System, c Caller, a *attr) Result { return s.batchLookup(c, a, true) }},
		uapi.CmdMapUpdateBatch:          {0, upTo(56), (*System).batchUpdate},
		uapi.CmdMapDeleteBatch:          {0, upTo(56), (*System).batchDelete},
		uapi.CmdLinkCreate:              {0, []end{{0, 28}, {uapi.R(5, 18), 48}, {uapi.R(6, 6), 60}}, (*System).linkCreate},
		uapi.CmdLinkUpdate:              {0, upTo(16), (*System).linkUpdate},
		uapi.CmdLinkGetFdById:           {0, upTo(4), func(s *System, _ Caller, a *attr) Result { return s.byIDFile(a, KindLink) }},
		uapi.CmdLinkGetNextId:           {0, upTo(8), func(s *System, _ Caller, a *attr) Result { return s.nextID(a, KindLink) }},
		uapi.CmdEnableStats:             {0, upTo(4), (*System).enableStats},
		uapi.CmdIterCreate:              {0, upTo(8), (*System).iterCreate},
		uapi.CmdLinkDetach:              {0, upTo(4), (*System).linkDetach},
		uapi.CmdProgBindMap:             {0, upTo(12), (*System).bindMap},
		uapi.CmdTokenCreate:             {uapi.R(6, 9), upTo(8), (*System).tokenCreate},
		uapi.CmdProgStreamReadByFd:      {uapi.R(6, 17), upTo(20), (*System).streamRead},
		uapi.CmdProgAssocStructOps:      {uapi.R(7, 0), upTo(12), (*System).assocStructOps},
	}
}

// CommandName returns the name of a command, such as "BPF_MAP_CREATE", or "" if no release has that number.
func CommandName(cmd uint32) string {
	if cmd &^= commonAttrs; uint64(cmd) < uint64(len(commands)) {
		return uapi.Cmd(cmd).String()
	}
	return ""
}

// Call implements bpf(2) with its three arguments and the two of BPF_COMMON_ATTRS. All arguments and memory of the caller are untrusted.
func (s *System) Call(c Caller, cmd uint32, addr uint64, size uint32, common uint64, commonSize uint32) Result {
	s.mu.Lock()
	defer s.mu.Unlock()
	defer s.endGrace()
	s.follow()
	return s.do(c, cmd, addr, size, common, commonSize)
}

func (s *System) do(c Caller, cmd uint32, addr uint64, size uint32, common uint64, commonSize uint32) Result {
	a, e := s.readAttr(c, addr, size)
	if e != 0 {
		return fail(e)
	}
	if cmd&commonAttrs != 0 && s.has(since.CommonAttrs) {
		// Feature probes for common attributes pass none.
		if common == 0 || commonSize == 0 {
			return fail(uapi.EFAULT)
		}
		return Result{Errno: uapi.EOPNOTSUPP, Note: "BPF_COMMON_ATTRS with attributes is not simulated"}
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
		s.cfg.Trace(uapi.Cmd(cmd).String(), r)
	}
	return r
}

// OnElements reports whether a command accesses the elements of one map and refers to no other object.
func OnElements(cmd uint32) bool {
	return cmd >= uint32(uapi.CmdMapLookupElem) && cmd <= uint32(uapi.CmdMapGetNextKey)
}
