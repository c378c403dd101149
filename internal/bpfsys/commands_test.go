package bpfsys

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/internal/progtype"
	"github.com/bpfrun/bpfrun/internal/uapi"
	"github.com/bpfrun/bpfrun/internal/uapi/bpfattr"
	"github.com/bpfrun/bpfrun/internal/uapi/since"
)

// lastField is where the attributes of a command end, from a release on.
type lastField struct {
	since uapi.Release
	end   int
}

func at(steps []lastField, r uapi.Release) (end int) {
	for _, s := range steps {
		if r.Has(s.since) {
			end = s.end
		}
	}
	return end
}

// TestCommandsEndAtTheirLastFields compares what follows from fields and their releases with the
// *_LAST_FIELD of kernel/bpf/syscall.c.
func TestCommandsEndAtTheirLastFields(t *testing.T) {
	R := uapi.R
	ends := map[uapi.Cmd][]lastField{
		uapi.CmdMapCreate:               {{0, 64}, {R(5, 16), 72}, {R(6, 9), 80}, {R(6, 18), 92}},
		uapi.CmdMapLookupElem:           {{0, 32}},
		uapi.CmdMapUpdateElem:           {{0, 32}},
		uapi.CmdMapDeleteElem:           {{0, 16}},
		uapi.CmdMapGetNextKey:           {{0, 24}},
		uapi.CmdProgLoad:                {{0, 116}, {R(5, 14), 128}, {R(5, 17), 140}, {R(6, 4), 144}, {R(6, 9), 148}, {R(6, 14), 152}, {R(6, 18), 168}},
		uapi.CmdObjPin:                  {{0, 16}, {R(6, 5), 20}},
		uapi.CmdObjGet:                  {{0, 16}, {R(6, 5), 20}},
		uapi.CmdProgAttach:              {{0, 20}, {R(6, 6), 32}},
		uapi.CmdProgDetach:              {{0, 12}, {R(6, 6), 32}},
		uapi.CmdProgTestRun:             {{0, 72}, {R(5, 18), 76}},
		uapi.CmdProgGetNextId:           {{0, 8}},
		uapi.CmdMapGetNextId:            {{0, 8}},
		uapi.CmdProgGetFdById:           {{0, 4}},
		uapi.CmdMapGetFdById:            {{0, 12}},
		uapi.CmdObjGetInfoByFd:          {{0, 16}},
		uapi.CmdProgQuery:               {{0, 28}, {R(6, 0), 40}, {R(6, 6), 64}},
		uapi.CmdRawTracepointOpen:       {{0, 12}, {R(6, 10), 24}},
		uapi.CmdBtfLoad:                 {{0, 28}, {R(6, 4), 32}, {R(6, 9), 40}},
		uapi.CmdBtfGetFdById:            {{0, 4}, {R(6, 17), 16}},
		uapi.CmdTaskFdQuery:             {{0, 48}},
		uapi.CmdMapLookupAndDeleteElem:  {{0, 24}, {R(5, 14), 32}},
		uapi.CmdMapFreeze:               {{0, 4}},
		uapi.CmdBtfGetNextId:            {{0, 8}},
		uapi.CmdMapLookupBatch:          {{0, 56}},
		uapi.CmdMapLookupAndDeleteBatch: {{0, 56}},
		uapi.CmdMapUpdateBatch:          {{0, 56}},
		uapi.CmdMapDeleteBatch:          {{0, 56}},
		uapi.CmdLinkCreate:              {{0, 28}, {R(5, 18), 48}, {R(6, 6), 60}, {R(7, 2), 64}},
		uapi.CmdLinkUpdate:              {{0, 16}},
		uapi.CmdLinkGetFdById:           {{0, 4}},
		uapi.CmdLinkGetNextId:           {{0, 8}},
		uapi.CmdEnableStats:             {{0, 4}},
		uapi.CmdIterCreate:              {{0, 8}},
		uapi.CmdLinkDetach:              {{0, 4}},
		uapi.CmdProgBindMap:             {{0, 12}},
		uapi.CmdTokenCreate:             {{R(6, 9), 8}},
		uapi.CmdProgStreamReadByFd:      {{R(6, 17), 20}},
		uapi.CmdProgAssocStructOps:      {{R(7, 0), 12}},
	}
	sizes := []lastField{{0, 120}, {R(5, 14), 128}, {R(5, 17), 144}, {R(6, 9), 152}, {R(6, 18), 168}}
	releases := since.Releases()
	require.Equal(t, R(5, 10), releases[0])
	require.Equal(t, R(7, 2), releases[len(releases)-1])
	require.Len(t, commands(), len(uapi.Cmds()))
	for _, r := range append(releases, 0) { // 0 is a kernel whose release is unknown
		for _, cmd := range uapi.Cmds() {
			require.Contains(t, ends, cmd)
			c := &commands()[cmd]
			assert.Equal(t, ends[cmd][0].since, c.since(), cmd)
			if r.Has(c.since()) {
				assert.Equal(t, at(ends[cmd], r), c.end(r), "%s on %s", cmd, r)
			}
		}
		assert.Equal(t, at(sizes, r), bpfattr.Size(r), r.String())
	}
}

// TestFieldsCameWithWhatTheyAreFor: rules and attach types that need a field are as old as it is.
func TestFieldsCameWithWhatTheyAreFor(t *testing.T) {
	have := map[string]uapi.Release{}
	for _, c := range commands() {
		for _, f := range c.fields {
			have[f.Name] = f.Since
		}
	}
	for name, want := range map[string]uapi.Release{
		"map_token_fd":                         since.Tokens.From(),
		"value_type_btf_obj_fd":                since.OpsMapBTF.From(),
		"prog_token_fd":                        since.Tokens.From(),
		"btf_flags":                            since.Tokens.From(),
		"btf_token_fd":                         since.Tokens.From(),
		"token_create.bpffs_fd":                since.Tokens.From(),
		"log_true_size":                        since.LogRotates.From(),
		"btf_log_true_size":                    since.LogRotates.From(),
		"path_fd":                              since.PathFD.From(),
		"fd_by_id_token_fd":                    since.BTFByIDFlags.From(),
		"test.batch_size":                      since.XDPLive.From(),
		"link_create.perf_event.bpf_cookie":    since.PerfCookies.From(),
		"link_create.cgroup.expected_revision": since.CgroupMprog.From(),
		"link_create.netfilter.pf":             progtype.AttachSince(uapi.AttachNetfilter),
		"link_create.kprobe_multi.syms":        progtype.AttachSince(uapi.AttachTraceKprobeMulti),
		"link_create.uprobe_multi.path":        progtype.AttachSince(uapi.AttachTraceUprobeMulti),
		"link_create.tcx.relative_fd":          progtype.AttachSince(uapi.AttachTcxIngress),
		"target_ifindex":                       progtype.AttachSince(uapi.AttachTcxIngress),
		"expected_revision":                    progtype.AttachSince(uapi.AttachTcxIngress),
		"query.revision":                       progtype.AttachSince(uapi.AttachTcxIngress),
		"query.count":                          progtype.AttachSince(uapi.AttachTcxIngress),
		"query.prog_attach_flags":              progtype.AttachSince(uapi.AttachLSMCgroup),
		"link_create.netkit.relative_fd":       progtype.AttachSince(uapi.AttachNetkitPrimary),
		"link_create.tracing_multi.ids":        progtype.AttachSince(uapi.AttachTraceFentryMulti),
	} {
		require.Contains(t, have, name)
		assert.Equal(t, want, have[name], name)
	}
}
