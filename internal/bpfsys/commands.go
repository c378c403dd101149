package bpfsys

import (
	"sync"

	"github.com/bpfrun/bpfrun/internal/uapi"
	"github.com/bpfrun/bpfrun/internal/uapi/bpfattr"
	"github.com/bpfrun/bpfrun/internal/uapi/since"
)

const (
	// commonAttrs is the flag in the command number for a second struct of attributes
	// (BPF_COMMON_ATTRS).
	commonAttrs = 1 << 16
)

// command is a bpf(2) command. Bytes after the last field that the release knows must be zero
// (CHECK_ATTR).
type command struct {
	fields []bpfattr.Field
	do     func(*System, Caller, *bpfattr.Union) Result
}

// since returns the release that brought the command: that of its attributes.
func (c *command) since() uapi.Release { return bpfattr.Since(c.fields) }

// end returns where the last field that a release knows ends (*_LAST_FIELD in
// kernel/bpf/syscall.c).
func (c *command) end(r uapi.Release) int { return bpfattr.End(c.fields, r) }

// on returns the command that takes a struct of the union, or some of its fields.
func on[V any](part bpfattr.Part[V], do func(*System, Caller, V) Result) command {
	return command{part.Fields, func(s *System, c Caller, u *bpfattr.Union) Result { return do(s, c, part.View(u)) }}
}

// commands returns enum bpf_cmd. It is set in init because commands make commands: syscall programs
// call bpf(2).
var commands func() []command

func init() { commands = sync.OnceValue(allCommands) }

func allCommands() []command {
	element, attach, object := bpfattr.ElemPart, bpfattr.AttachPart, bpfattr.ObjectIDPart
	nextID := func(kind Kind) command {
		return on(object.Only("start_id", "next_id"), func(s *System, _ Caller, a bpfattr.ObjectID) Result { return s.nextID(a, kind) })
	}
	byID := func(kind Kind, fields ...string) command {
		return on(object.Only(fields...), func(s *System, c Caller, a bpfattr.ObjectID) Result { return s.byIDFile(c, a, kind) })
	}
	lookupBatch := func(del bool) command {
		return on(bpfattr.BatchPart, func(s *System, c Caller, a bpfattr.Batch) Result { return s.batchLookup(c, a, del) })
	}
	lookupDelete := element.Only("map_fd", "key", "value", "flags").Later("flags", since.LookupDeleteFlags.From())
	return []command{
		uapi.CmdMapCreate:               on(bpfattr.MapCreatePart, (*System).mapCreate),
		uapi.CmdMapLookupElem:           on(element, (*System).mapLookup),
		uapi.CmdMapUpdateElem:           on(element, (*System).mapUpdate),
		uapi.CmdMapDeleteElem:           on(element.Only("map_fd", "key"), (*System).mapDelete),
		uapi.CmdMapGetNextKey:           on(element.Only("map_fd", "key", "next_key"), (*System).mapNextKey),
		uapi.CmdProgLoad:                on(bpfattr.ProgLoadPart, (*System).progLoad),
		uapi.CmdObjPin:                  on(bpfattr.ObjPart, (*System).objPin),
		uapi.CmdObjGet:                  on(bpfattr.ObjPart, (*System).objGet),
		uapi.CmdProgAttach:              on(attach, (*System).progAttach),
		uapi.CmdProgDetach:              on(attach.Only("target_fd", "attach_bpf_fd", "attach_type", "expected_revision"), (*System).progDetach),
		uapi.CmdProgTestRun:             on(bpfattr.TestPart, (*System).testRun),
		uapi.CmdProgGetNextId:           nextID(KindProg),
		uapi.CmdMapGetNextId:            nextID(KindMap),
		uapi.CmdProgGetFdById:           byID(KindProg, "prog_id"),
		uapi.CmdMapGetFdById:            byID(KindMap, "map_id", "open_flags"),
		uapi.CmdObjGetInfoByFd:          on(bpfattr.InfoPart, (*System).infoByFD),
		uapi.CmdProgQuery:               on(bpfattr.QueryPart, (*System).progQuery),
		uapi.CmdRawTracepointOpen:       on(bpfattr.RawTracepointPart, (*System).rawTracepointOpen),
		uapi.CmdBtfLoad:                 on(bpfattr.BtfLoadPart, (*System).btfLoad),
		uapi.CmdBtfGetFdById:            byID(KindBTF, "btf_id", "fd_by_id_token_fd"),
		uapi.CmdTaskFdQuery:             on(bpfattr.TaskFdQueryPart, (*System).taskFDQuery),
		uapi.CmdMapLookupAndDeleteElem:  on(lookupDelete, (*System).mapLookupDelete),
		uapi.CmdMapFreeze:               on(element.Only("map_fd"), (*System).mapFreeze),
		uapi.CmdBtfGetNextId:            nextID(KindBTF),
		uapi.CmdMapLookupBatch:          lookupBatch(false),
		uapi.CmdMapLookupAndDeleteBatch: lookupBatch(true),
		uapi.CmdMapUpdateBatch:          on(bpfattr.BatchPart, (*System).batchUpdate),
		uapi.CmdMapDeleteBatch:          on(bpfattr.BatchPart, (*System).batchDelete),
		uapi.CmdLinkCreate:              on(bpfattr.LinkCreatePart, (*System).linkCreate),
		uapi.CmdLinkUpdate:              on(bpfattr.LinkUpdatePart, (*System).linkUpdate),
		uapi.CmdLinkGetFdById:           byID(KindLink, "link_id"),
		uapi.CmdLinkGetNextId:           nextID(KindLink),
		uapi.CmdEnableStats:             on(bpfattr.EnableStatsPart, (*System).enableStats),
		uapi.CmdIterCreate:              on(bpfattr.IterCreatePart, (*System).iterCreate),
		uapi.CmdLinkDetach:              on(bpfattr.LinkDetachPart, (*System).linkDetach),
		uapi.CmdProgBindMap:             on(bpfattr.ProgBindMapPart, (*System).bindMap),
		uapi.CmdTokenCreate:             on(bpfattr.TokenCreatePart, (*System).tokenCreate),
		uapi.CmdProgStreamReadByFd:      on(bpfattr.ProgStreamReadPart, (*System).streamRead),
		uapi.CmdProgAssocStructOps:      on(bpfattr.ProgAssocStructOpsPart, (*System).assocStructOps),
	}
}

// CommandName returns the name of a command, such as "BPF_MAP_CREATE", or "" if no release has that
// number.
func CommandName(cmd uint32) string {
	if cmd &^= commonAttrs; uint64(cmd) < uint64(len(commands())) {
		return uapi.Cmd(cmd).String()
	}
	return ""
}

// Call implements bpf(2) with its three arguments and the two of BPF_COMMON_ATTRS. All arguments
// and memory of the caller are untrusted.
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
	if uint64(cmd) >= uint64(len(commands())) {
		return fail(uapi.EINVAL)
	}
	k := &commands()[cmd]
	if !s.release.Has(k.since()) || !a.ZeroFrom(k.end(s.release)) {
		return fail(uapi.EINVAL)
	}
	r := k.do(s, c, a)
	if s.cfg.Trace != nil {
		s.cfg.Trace(uapi.Cmd(cmd).String(), r)
	}
	return r
}

// OnElements reports whether a command accesses the elements of one map and refers to no other
// object.
func OnElements(cmd uint32) bool {
	return cmd >= uint32(uapi.CmdMapLookupElem) && cmd <= uint32(uapi.CmdMapGetNextKey)
}
