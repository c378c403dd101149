package progtype

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/internal/uapi"
	"github.com/bpfrun/bpfrun/internal/uapi/since"
)

// knownTypes are the program types uapi names, without "unspec".
func knownTypes() []uapi.ProgType {
	var out []uapi.ProgType
	for t := uapi.ProgType(1); t.Known(); t++ {
		out = append(out, t)
	}
	return out
}

func TestEveryTypeHasACompleteRow(t *testing.T) {
	require.Len(t, All(), len(knownTypes()))
	for _, typ := range knownTypes() {
		r := Of(typ)
		t.Run(typ.String(), func(t *testing.T) {
			require.Equal(t, typ, r.Type)
			assert.NotZero(t, r.Since, "the release that brought it")
			assert.NotEmpty(t, r.Sections, "section names")
			assert.NotEmpty(t, r.Returns, "return range; anyReturn for any value")
			require.NotNil(t, r.Context)
			assert.True(t, r.Context.Layout != NoLayout || r.Target == OtherProgram, "context")
			if r.Context.Layout == StructLayout {
				assert.NotZero(t, r.Context.Size)
				assert.NotEmpty(t, r.Context.Fields)
			}
			assert.Equal(t, r.Takes.Has(TakesPacket), r.Layer != NoLayer, "packets begin somewhere")
			assert.Equal(t, r.Takes.Has(TakesTarget), r.Target != NoTarget, "a target that can be chosen is one that can be named")
			if r.Attach != 0 {
				assert.NotNil(t, r.Attached(r.Attach), "its attach type by default has a row")
			}
			for _, s := range r.Sections {
				assert.True(t, s.Attach == 0 || r.Attached(s.Attach) != nil, "section %s: attach type %v has a row", s.Name, s.Attach)
				assert.Equal(t, s.Flags.Has(HasTarget), r.Target != NoTarget, "section %s names a target", s.Name)
				if s.Flags.Has(Sleeps) {
					assert.NotZero(t, r.SleepableIn(s.Attach), "section %s sleeps", s.Name)
				}
			}
			for _, a := range r.Attaches {
				assert.NotZero(t, a.Since, "%v", a.Type)
				assert.GreaterOrEqual(t, a.Since, r.Since, "%v", a.Type)
			}
		})
	}
}

func TestEveryAttachTypeBelongsToAProgramType(t *testing.T) {
	for a := uapi.AttachType(0); a.Known(); a++ {
		var owners []uapi.ProgType
		for _, r := range All() {
			if r.Attached(a) != nil {
				owners = append(owners, r.Type)
			}
		}
		if a == uapi.AttachPerfEvent { // links of perf events
			assert.Equal(t, []uapi.ProgType{uapi.ProgTypeKprobe, uapi.ProgTypeTracepoint, uapi.ProgTypePerfEvent}, owners)
			continue
		}
		assert.Len(t, owners, 1, a.String())
	}
}

func TestFieldsOfContextsLieInThem(t *testing.T) {
	for _, r := range All() {
		end := 0
		for _, f := range r.Context.Fields {
			assert.GreaterOrEqual(t, f.Off, end, "%v: %s overlaps the field before it, or is out of order", r.Type, f.Name)
			assert.Zero(t, f.Off%f.Size, "%v: %s", r.Type, f.Name)
			end = f.Off + f.Size
		}
		assert.LessOrEqual(t, end, r.Context.Size, "%v", r.Type)
		accesses := []*Access{&r.Access}
		for _, a := range r.Attaches {
			if a.Access != nil {
				accesses = append(accesses, a.Access)
			}
		}
		groups := map[string]bool{}
		for _, f := range r.Context.Fields {
			groups[f.Group()] = true
		}
		for _, a := range accesses {
			for _, n := range append(append([]string{}, a.Hidden...), a.Written...) {
				assert.True(t, groups[n], "%v: access names %s, which the context does not have", r.Type, n)
			}
		}
	}
}

func TestAnUnknownTypePermitsNothing(t *testing.T) {
	r := Of(9999)
	require.Same(t, Of(uapi.ProgTypeUnspec), r)
	_, err := r.CheckAccess(0, 0, 0, 4, false)
	require.Error(t, err)
	assert.False(t, r.MaySleep(0, 0))
}

func TestSectionNames(t *testing.T) {
	for _, c := range []struct {
		name, section, target string
		typ                   uapi.ProgType
		attach                uapi.AttachType
		flags                 SectionFlags
	}{
		{"kprobe/vfs_read", "kprobe", "vfs_read", uapi.ProgTypeKprobe, 0, HasTarget},
		{"?fexit.s/vfs_read", "fexit.s", "vfs_read", uapi.ProgTypeTracing, uapi.AttachTraceFexit, HasTarget | AtReturn | Sleeps},
		{"cgroup/sock_create", "cgroup/sock_create", "", uapi.ProgTypeCgroupSock, uapi.AttachCgroupInetSockCreate, 0},
		{"lirc_mode2/grundig", "lirc_mode2", "grundig", uapi.ProgTypeLircMode2, uapi.AttachLircMode2, 0},
		{"classifier/ingress", "classifier", "ingress", uapi.ProgTypeSchedCls, 0, 0},
		{"tc/ingress", "tc/ingress", "", uapi.ProgTypeSchedCls, uapi.AttachTcxIngress, OptionalAttach},
		{"tcx/ingress", "tcx/ingress", "", uapi.ProgTypeSchedCls, uapi.AttachTcxIngress, 0},
		{"cgroup/sock", "cgroup/sock", "", uapi.ProgTypeCgroupSock, uapi.AttachCgroupInetSockCreate, 0},
		{"xdp/syn", "xdp", "syn", uapi.ProgTypeXDP, uapi.AttachXDP, 0},
		{"xdp_sock", "xdp", "", uapi.ProgTypeXDP, uapi.AttachXDP, 0},
		{"xdp.frags/devmap", "xdp.frags/devmap", "", uapi.ProgTypeXDP, uapi.AttachXDPDevmap, Frags},
		{"classifier_egress", "classifier", "", uapi.ProgTypeSchedCls, 0, 0},
		{"uretprobe.multi.s//bin/sh:main", "uretprobe.multi.s", "/bin/sh:main", uapi.ProgTypeKprobe, uapi.AttachTraceUprobeMulti, HasTarget | User | Pattern | AtReturn | Sleeps},
	} {
		s, target := ParseSection(c.name)
		require.NotNil(t, s, c.name)
		assert.Equal(t, Section{c.section, c.typ, c.attach, c.flags}, *s, c.name)
		assert.Equal(t, c.target, target, c.name)
	}
	for _, name := range []string{"kprobes/x", "filter", "loadbalancer", ".xdp", "tracepoints"} {
		s, _ := ParseSection(name)
		assert.Nil(t, s, "%s: a word that continues is another word", name)
	}
}

func TestReturnRanges(t *testing.T) {
	any, bit, zero := anything, Range{High: 1}, Range{}
	for _, c := range []struct {
		typ     uapi.ProgType
		attach  uapi.AttachType
		release uapi.Release
		hook    string
		returns HookReturn
		want    Range
	}{
		{uapi.ProgTypeCgroupSkb, uapi.AttachCgroupInetEgress, v510, "", 0, Range{High: 3}},
		{uapi.ProgTypeCgroupSkb, uapi.AttachCgroupInetIngress, v510, "", 0, bit},
		{uapi.ProgTypeCgroupSockAddr, uapi.AttachCgroupInet4Bind, uapi.R(5, 11), "", 0, bit},
		{uapi.ProgTypeCgroupSockAddr, uapi.AttachCgroupInet4Bind, v512, "", 0, Range{High: 3}},
		{uapi.ProgTypeCgroupSockAddr, uapi.AttachCgroupInet6Bind, v512, "", 0, Range{High: 3}},
		{uapi.ProgTypeCgroupSockAddr, uapi.AttachCgroupInet4Connect, 0, "", 0, bit},
		{uapi.ProgTypeCgroupSockAddr, uapi.AttachCgroupUdp6Recvmsg, 0, "", 0, Range{Low: 1, High: 1}},
		{uapi.ProgTypeCgroupSockAddr, uapi.AttachCgroupUnixGetsockname, 0, "", 0, Range{Low: 1, High: 1}},
		{uapi.ProgTypeCgroupSock, uapi.AttachCgroupInetSockCreate, 0, "", 0, bit},
		{uapi.ProgTypeSockOps, uapi.AttachCgroupSockOps, 0, "", 0, bit},
		{uapi.ProgTypeSkLookup, uapi.AttachSkLookup, 0, "", 0, bit},
		{uapi.ProgTypeNetfilter, uapi.AttachNetfilter, 0, "", 0, bit},
		{uapi.ProgTypeXDP, uapi.AttachXDP, 0, "", 0, any},
		{uapi.ProgTypeTracing, uapi.AttachTraceFentry, v510, "", ReturnsNumber, zero},
		{uapi.ProgTypeTracing, uapi.AttachTraceFexit, v510, "", ReturnsNumber, zero},
		{uapi.ProgTypeTracing, uapi.AttachTraceFsession, 0, "", 0, zero},
		{uapi.ProgTypeTracing, uapi.AttachModifyReturn, 0, "", 0, any},
		{uapi.ProgTypeTracing, uapi.AttachTraceRawTp, 0, "", 0, any},
		{uapi.ProgTypeTracing, uapi.AttachTraceIter, v510, "", 0, bit},
		{uapi.ProgTypeKprobe, 0, 0, "", 0, any},
		{uapi.ProgTypeKprobe, uapi.AttachTraceKprobeSession, uapi.R(6, 10), "", 0, any},
		{uapi.ProgTypeKprobe, uapi.AttachTraceKprobeSession, v611, "", 0, bit},
		{uapi.ProgTypeKprobe, uapi.AttachTraceUprobeSession, uapi.R(6, 13), "", 0, bit},
		{uapi.ProgTypeLSM, uapi.AttachLSMMac, uapi.R(6, 10), "file_open", ReturnsNumber, any},
		{uapi.ProgTypeLSM, uapi.AttachLSMMac, v611, "file_open", ReturnsNumber, Range{Low: -4095, Word: true}},
		{uapi.ProgTypeLSM, uapi.AttachLSMMac, v611, "inode_xattr_skipcap", ReturnsNumber, Range{High: 1, Word: true}},
		{uapi.ProgTypeLSM, uapi.AttachLSMMac, v611, "task_free", ReturnsVoid, any},
		{uapi.ProgTypeLSM, uapi.AttachLSMCgroup, v60, "socket_bind", ReturnsNumber, bit},
		{uapi.ProgTypeLSM, uapi.AttachLSMCgroup, v60, "task_free", ReturnsVoid, Range{Low: 1, High: 1}},
		{uapi.ProgTypeStructOps, 0, uapi.R(6, 14), "", ReturnsPointer, any},
		{uapi.ProgTypeStructOps, 0, uapi.R(6, 15), "", ReturnsPointer, zero},
		{uapi.ProgTypeStructOps, 0, uapi.R(6, 15), "", ReturnsNumber, any},
	} {
		got, bounded := Of(c.typ).ReturnRange(c.release, c.attach, c.hook, c.returns)
		assert.Equal(t, c.want != any, bounded, "%v %v %v", c.typ, c.attach, c.release)
		if bounded {
			assert.Equal(t, c.want, got, "%v %v %v", c.typ, c.attach, c.release)
		}
	}
	assert.True(t, Range{Low: -4095, Word: true}.Contains(0xffffffff), "the lower half of r0 is -1")
	assert.False(t, Range{Low: -4095}.Contains(0xffffffff))
	assert.False(t, Range{High: 3}.Contains(4))
	assert.True(t, Range{High: 3}.Contains(3))
}

func TestCallbackRanges(t *testing.T) {
	for c, want := range map[Callback]Range{LoopCallback: {High: 1}, AsyncCallback: {}} {
		got, bounded := CallbackRange(c)
		assert.True(t, bounded)
		assert.Equal(t, want, got)
	}
	_, bounded := CallbackRange(TaskWorkCallback)
	assert.False(t, bounded)
}

func TestContextAccess(t *testing.T) {
	const ok = Reason(255)
	xdp, tc, cg, filter, addr, sockopt := uapi.ProgTypeXDP, uapi.ProgTypeSchedCls, uapi.ProgTypeCgroupSkb, uapi.ProgTypeSocketFilter, uapi.ProgTypeCgroupSockAddr, uapi.ProgTypeCgroupSockopt
	for _, c := range []struct {
		typ     uapi.ProgType
		attach  uapi.AttachType
		release uapi.Release
		off     int
		size    int
		write   bool
		want    Reason
	}{
		{xdp, uapi.AttachXDP, 0, 0, 4, false, ok},
		{xdp, uapi.AttachXDP, 0, 0, 8, false, NoField},
		{xdp, uapi.AttachXDP, 0, 0, 2, false, WrongWidth},
		{xdp, uapi.AttachXDP, 0, 20, 4, false, Forbidden},
		{xdp, uapi.AttachXDPDevmap, 0, 20, 4, false, ok},
		{xdp, uapi.AttachXDPDevmap, 0, 16, 4, true, Forbidden},
		{tc, 0, 0, 8, 4, true, ok}, {tc, 0, 0, 8, 2, true, WrongWidth}, {tc, 0, 0, 8, 2, false, ok}, {tc, 0, 0, 9, 1, false, ok},
		{tc, 0, 0, 88, 4, false, Forbidden}, {cg, 0, 0, 88, 4, false, ok}, {cg, 0, 0, 92, 2, false, WrongWidth},
		{tc, 0, uapi.R(5, 17), 180, 1, false, NoField}, {tc, 0, uapi.R(5, 18), 180, 1, false, ok}, {cg, 0, uapi.R(5, 18), 180, 1, false, Forbidden},
		{tc, 0, uapi.R(5, 15), 184, 8, false, NoField}, {tc, 0, uapi.R(5, 16), 184, 8, false, ok},
		{tc, 0, 0, 48, 8, true, ok}, {tc, 0, 0, 64, 8, true, NoField}, {tc, 0, 0, 49, 1, true, ok}, {tc, 0, 0, 50, 4, true, Unaligned},
		{filter, 0, 0, 76, 4, false, Forbidden}, {filter, 0, 0, 48, 4, true, ok}, {filter, 0, 0, 8, 4, true, Forbidden},
		{addr, uapi.AttachCgroupInet4Connect, 0, 4, 4, true, ok}, {addr, uapi.AttachCgroupInet4Connect, 0, 8, 4, false, Forbidden},
		{addr, uapi.AttachCgroupInet6Connect, 0, 8, 8, true, ok}, {addr, uapi.AttachCgroupInet6Connect, 0, 16, 8, false, ok},
		{addr, uapi.AttachCgroupInet6Connect, 0, 12, 8, false, NoField}, {addr, uapi.AttachCgroupInet6Connect, 0, 4, 4, false, Forbidden},
		{addr, uapi.AttachCgroupUdp4Sendmsg, 0, 40, 4, true, ok}, {addr, uapi.AttachCgroupUdp4Recvmsg, 0, 40, 4, false, Forbidden},
		{addr, uapi.AttachCgroupUnixConnect, 0, 24, 4, true, ok}, {addr, uapi.AttachCgroupUnixConnect, 0, 4, 4, false, Forbidden},
		{sockopt, uapi.AttachCgroupGetsockopt, 0, 36, 4, true, ok}, {sockopt, uapi.AttachCgroupSetsockopt, 0, 36, 4, false, Forbidden},
		{sockopt, uapi.AttachCgroupSetsockopt, 0, 24, 4, true, ok}, {sockopt, uapi.AttachCgroupGetsockopt, 0, 24, 4, true, Forbidden},
		{uapi.ProgTypeCgroupSock, uapi.AttachCgroupInetSockCreate, 0, 16, 4, true, ok},
		{uapi.ProgTypeCgroupSock, uapi.AttachCgroupInet4PostBind, 0, 16, 4, false, Forbidden},
		{uapi.ProgTypeCgroupSock, uapi.AttachCgroupInet4PostBind, 0, 24, 4, false, ok},
		{uapi.ProgTypeCgroupSock, uapi.AttachCgroupInet6PostBind, 0, 24, 4, false, Forbidden},
		{uapi.ProgTypeCgroupSock, uapi.AttachCgroupInetSockCreate, 0, 48, 2, false, ok},
		{uapi.ProgTypeCgroupSock, uapi.AttachCgroupInetSockCreate, 0, 48, 4, false, ok},
		{uapi.ProgTypeCgroupSock, uapi.AttachCgroupInetSockCreate, 0, 50, 2, false, NoField},
		{uapi.ProgTypeSkLookup, 0, uapi.R(5, 16), 64, 4, false, NoField}, {uapi.ProgTypeSkLookup, 0, uapi.R(5, 17), 64, 4, false, ok},
		{uapi.ProgTypeSkLookup, 0, 0, 36, 4, false, ok}, {uapi.ProgTypeSkLookup, 0, 0, 36, 4, true, NoField}, {uapi.ProgTypeSkLookup, 0, 0, 40, 4, true, Forbidden},
		{uapi.ProgTypeSkReuseport, 0, uapi.R(5, 13), 40, 8, false, NoField}, {uapi.ProgTypeSkReuseport, 0, uapi.R(5, 14), 40, 8, false, ok},
		{uapi.ProgTypeSkReuseport, 0, 0, 20, 1, false, WrongWidth}, {uapi.ProgTypeSkReuseport, 0, 0, 20, 2, false, ok},
		{uapi.ProgTypeSockOps, 0, uapi.R(6, 1), 216, 8, false, NoField}, {uapi.ProgTypeSockOps, 0, uapi.R(6, 2), 216, 8, false, ok},
		{uapi.ProgTypeSkSkb, 0, 0, 8, 4, false, Forbidden}, {uapi.ProgTypeSkSkb, 0, 0, 32, 4, true, ok},
		{uapi.ProgTypeFlowDissector, 0, 0, 144, 8, false, ok}, {uapi.ProgTypeFlowDissector, 0, 0, 0, 4, false, Forbidden},
		{uapi.ProgTypeKprobe, 0, uapi.R(6, 18), 8, 8, true, Forbidden}, {uapi.ProgTypeKprobe, 0, uapi.R(6, 19), 8, 8, true, ok},
		{uapi.ProgTypeTracepoint, 0, 0, 4, 4, false, NoField}, {uapi.ProgTypeTracepoint, 0, 0, 8, 1, false, ok}, {uapi.ProgTypeTracepoint, 0, 0, 8192, 8, false, NoField},
		{uapi.ProgTypeTracing, uapi.AttachTraceFentry, 0, 96, 8, false, NoField}, {uapi.ProgTypeTracing, uapi.AttachTraceFentry, 0, 88, 8, true, Forbidden},
		{uapi.ProgTypeSyscall, 0, 0, 1000, 8, true, ok}, {uapi.ProgTypeSyscall, 0, 0, 1001, 8, true, Unaligned},
		{uapi.ProgTypeNetfilter, 0, 0, 8, 8, false, ok}, {uapi.ProgTypeNetfilter, 0, 0, 8, 4, false, WrongWidth},
	} {
		_, err := Of(c.typ).CheckAccess(c.release, c.attach, c.off, c.size, c.write)
		if c.want == ok {
			assert.NoError(t, err, "%+v", c)
			continue
		}
		var e *AccessError
		if assert.True(t, errors.As(err, &e), "%+v", c) {
			assert.Equal(t, c.want, e.Reason, "%+v: %v", c, err)
		}
	}
}

func TestPrivateStacks(t *testing.T) {
	for _, c := range []struct {
		typ     uapi.ProgType
		attach  uapi.AttachType
		release uapi.Release
		arch    string
		want    bool
	}{
		{uapi.ProgTypePerfEvent, 0, uapi.R(6, 12), "x86", false}, {uapi.ProgTypePerfEvent, 0, uapi.R(6, 13), "x86", true},
		{uapi.ProgTypePerfEvent, 0, uapi.R(6, 16), "arm64", false}, {uapi.ProgTypePerfEvent, 0, uapi.R(6, 17), "arm64", true},
		{uapi.ProgTypeKprobe, 0, 0, "", true}, {uapi.ProgTypeKprobe, 0, 0, "s390", false},
		{uapi.ProgTypeTracing, uapi.AttachTraceFentry, 0, "", true}, {uapi.ProgTypeTracing, uapi.AttachTraceIter, 0, "", false},
		{uapi.ProgTypeLSM, uapi.AttachLSMMac, 0, "", false}, {uapi.ProgTypeStructOps, 0, 0, "", false}, {uapi.ProgTypeXDP, 0, 0, "", false},
	} {
		assert.Equal(t, c.want, Of(c.typ).HasPrivateStack(since.Version{Release: c.release}.Has, c.arch, c.attach), "%+v", c)
	}
}

func TestSleepable(t *testing.T) {
	for _, c := range []struct {
		typ     uapi.ProgType
		attach  uapi.AttachType
		release uapi.Release
		want    bool
	}{
		{uapi.ProgTypeKprobe, 0, uapi.R(5, 19), false}, {uapi.ProgTypeKprobe, 0, v60, true},
		{uapi.ProgTypeTracing, uapi.AttachTraceFentry, v510, true},
		{uapi.ProgTypeTracing, uapi.AttachTraceRawTp, uapi.R(6, 2), true}, {uapi.ProgTypeTracing, uapi.AttachTraceRawTp, uapi.R(6, 3), false},
		{uapi.ProgTypeTracing, uapi.AttachTraceIter, v510, true}, {uapi.ProgTypeTracing, uapi.AttachTraceIter, uapi.R(5, 9), false},
		{uapi.ProgTypeTracing, uapi.AttachTraceRawTp, uapi.R(7, 1), false}, {uapi.ProgTypeTracing, uapi.AttachTraceRawTp, v72, true},
		{uapi.ProgTypeLSM, uapi.AttachLSMMac, v510, true}, {uapi.ProgTypeLSM, uapi.AttachLSMCgroup, 0, false},
		{uapi.ProgTypeStructOps, 0, uapi.R(6, 2), false}, {uapi.ProgTypeStructOps, 0, uapi.R(6, 3), true},
		{uapi.ProgTypeXDP, 0, 0, false}, {uapi.ProgTypeSyscall, 0, uapi.R(5, 14), true},
	} {
		assert.Equal(t, c.want, Of(c.typ).MaySleep(c.release, c.attach), "%+v", c)
	}
	assert.True(t, Of(uapi.ProgTypeSyscall).SleepableIn(0).Always)
}

// TestSleepableHooksOfReleases: on both sides of the releases that took hooks into the kernel's list
// or out of it.
func TestSleepableHooksOfReleases(t *testing.T) {
	for _, c := range []struct {
		hook    string
		release uapi.Release
		want    bool
	}{
		{"file_open", uapi.R(5, 11), true},
		{"task_getsecid_subj", uapi.R(5, 16), true}, {"task_getsecid_subj", uapi.R(5, 17), false},
		{"current_getsecid_subj", uapi.R(5, 16), false}, {"current_getsecid_subj", uapi.R(5, 17), true}, {"current_getsecid_subj", uapi.R(6, 13), false},
		{"kernel_read_file", uapi.R(5, 17), false}, {"kernel_read_file", uapi.R(5, 18), true},
		{"userns_create", uapi.R(5, 14), false}, {"userns_create", uapi.R(5, 15), true}, {"userns_create", uapi.R(6, 0), false}, {"userns_create", uapi.R(6, 1), true},
		{"path_unlink", uapi.R(6, 7), false}, {"path_unlink", uapi.R(6, 8), true},
		{"bpf_map_create", uapi.R(6, 8), false}, {"bpf_map_create", uapi.R(6, 9), true}, {"bpf_map_alloc_security", uapi.R(6, 8), true},
		{"bpf_map_alloc_security", uapi.R(6, 9), false}, {"bpf_prog_free", uapi.R(6, 9), true}, {"bpf_prog_free", uapi.R(6, 12), false},
		{"file_post_open", uapi.R(6, 10), false}, {"file_post_open", uapi.R(6, 11), true},
		{"task_to_inode", uapi.R(6, 0), true}, {"task_to_inode", uapi.R(6, 1), false}, {"task_to_inode", uapi.R(6, 2), true}, {"task_to_inode", 0, false},
		{"inet_conn_established", uapi.R(6, 12), false}, {"inet_conn_established", uapi.R(6, 13), true}, {"inet_conn_established", uapi.R(6, 18), false},
		{"bdev_setintegrity", uapi.R(7, 0), false}, {"bdev_setintegrity", uapi.R(7, 1), true},
	} {
		assert.Equal(t, c.want, SleepableLSM(c.hook, c.release), "%s on %v", c.hook, c.release)
	}
}

func TestVerdictNames(t *testing.T) {
	for _, c := range []struct {
		typ  uapi.ProgType
		ret  int32
		want string
	}{
		{uapi.ProgTypeXDP, 2, "XDP_PASS"}, {uapi.ProgTypeXDP, 9, ""}, {uapi.ProgTypeSchedCls, -1, "TC_ACT_UNSPEC"}, {uapi.ProgTypeLSM, -1, "-EPERM"},
		{uapi.ProgTypeLSM, -5000, ""}, {uapi.ProgTypeCgroupSkb, 1, "allow"}, {uapi.ProgTypeCgroupSkb, 2, ""}, {uapi.ProgTypeKprobe, 0, ""},
		{uapi.ProgTypeNetfilter, 1, "NF_ACCEPT"},
	} {
		assert.Equal(t, c.want, VerdictName(c.typ, c.ret), "%+v", c)
	}
	for _, typ := range []uapi.ProgType{uapi.ProgTypeXDP, uapi.ProgTypeSchedCls, uapi.ProgTypeLSM, uapi.ProgTypeCgroupDevice, uapi.ProgTypeLwtIn} {
		for v := int32(-4200); v < 300; v++ {
			if name := VerdictName(typ, v); name != "" {
				got, ok := ParseVerdict(typ, name)
				assert.True(t, ok && got == v, "%v %s: %d", typ, name, got)
			}
		}
	}
	_, ok := ParseVerdict(uapi.ProgTypeKprobe, "XDP_PASS")
	assert.False(t, ok)
}

func TestSets(t *testing.T) {
	s := SetOf(uapi.ProgTypeXDP, uapi.ProgTypeNetfilter)
	assert.True(t, s.Has(uapi.ProgTypeXDP) && s.Has(uapi.ProgTypeNetfilter))
	assert.False(t, s.Has(uapi.ProgTypeKprobe) || s.Has(9999))
	typed := Where(func(r *Row) bool { return r.Args == PointerArgs })
	assert.Equal(t, SetOf(uapi.ProgTypeTracing, uapi.ProgTypeLSM, uapi.ProgTypeStructOps), typed)
}
