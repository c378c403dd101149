//go:build linux && (amd64 || arm64)

package exec

import (
	"fmt"
	"net/netip"
	"os"
	osexec "os/exec"
	"regexp"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/bpfrun/bpfrun/internal/bpfsys"
	"github.com/bpfrun/bpfrun/internal/testing/recording"
	"github.com/bpfrun/bpfrun/internal/uapi"
)

func init() { tools["netlink words"] = netlinkWords }

// request is a message of NETLINK_ROUTE.
type request struct {
	name       string
	typ, flags uint16
	body       []byte
}

// netlinkRequests are messages that a network namespace with a device of index 2 accepts, or
// refuses for one reason.
func netlinkRequests() []request {
	const create = unix.NLM_F_CREATE | unix.NLM_F_EXCL
	attrs := func(b []byte, all ...any) []byte {
		for i := 0; i < len(all); i += 2 {
			b = appendAttribute(b, uint16(all[i].(int)), all[i+1].([]byte))
		}
		return b
	}
	u32 := func(v uint32) []byte { return le.AppendUint32(nil, v) }
	ip := func(text string) []byte { return netip.MustParseAddr(text).AsSlice() }
	link := func(index, flags, mask uint32) []byte {
		b := make([]byte, ifinfomsgSize)
		le.PutUint32(b[4:], index)
		le.PutUint32(b[8:], flags)
		le.PutUint32(b[12:], mask)
		return b
	}
	kind := func(name string) []byte { return attrs(nil, unix.IFLA_INFO_KIND, []byte(name+"\x00")) }
	route := func(family, bits byte) []byte {
		return []byte{family, bits, 0, 0, unix.RT_TABLE_MAIN, unix.RTPROT_BOOT, unix.RT_SCOPE_UNIVERSE, unix.RTN_UNICAST, 0, 0, 0, 0}
	}
	addr := func(family, bits byte) []byte { return append([]byte{family, bits, 0, 0}, u32(2)...) }
	near := func() []byte { return append(append([]byte{unix.AF_INET, 0, 0, 0}, u32(2)...), 0x80, 0, 0, 0) }
	const lo, clsact, ingress = 1, 0xfffffff1, uint32(bpfsys.TCIngress)
	return []request{
		{"pair", unix.RTM_NEWLINK, create, attrs(link(7, 0, 0), unix.IFLA_IFNAME, []byte("d7\x00"), unix.IFLA_MTU, u32(1400), unix.IFLA_TXQLEN, u32(9), unix.IFLA_LINKINFO, attrs(kind("veth"), unix.IFLA_INFO_DATA, attrs(nil, vethPeer, attrs(link(8, 0, 0), unix.IFLA_IFNAME, []byte("d8\x00")))))},
		{"unnamed pair", unix.RTM_NEWLINK, create, attrs(link(0, 0, 0), unix.IFLA_LINKINFO, kind("veth"))},
		{"up", unix.RTM_NEWLINK, 0, link(2, unix.IFF_UP, unix.IFF_UP)},
		{"set", unix.RTM_SETLINK, 0, attrs(link(2, 0, 0), unix.IFLA_ADDRESS, []byte{2, 0, 0, 0, 0, 7}, unix.IFLA_MTU, u32(1300))},
		{"delete", unix.RTM_DELLINK, 0, link(2, 0, 0)},
		{"name", unix.RTM_NEWLINKPROP, create, attrs(link(2, 0, 0), unix.IFLA_PROP_LIST|unix.NLA_F_NESTED, attrs(nil, unix.IFLA_ALT_IFNAME, []byte("other\x00")))},
		{"address", unix.RTM_NEWADDR, create, attrs(addr(unix.AF_INET, 24), unix.IFA_LOCAL, ip("10.9.0.1"), unix.IFA_ADDRESS, ip("10.9.0.1"))},
		{"delete address", unix.RTM_DELADDR, 0, attrs(addr(unix.AF_INET, 24), unix.IFA_LOCAL, ip("10.1.2.3"))},
		{"route", unix.RTM_NEWROUTE, create, attrs(route(unix.AF_INET, 24), unix.RTA_DST, ip("192.0.3.0"), unix.RTA_OIF, u32(2), unix.RTA_PRIORITY, u32(5))},
		{"route through", unix.RTM_NEWROUTE, create, attrs(route(unix.AF_INET, 32), unix.RTA_DST, ip("192.0.3.1"), unix.RTA_GATEWAY, ip("10.1.2.9"))},
		{"delete route", unix.RTM_DELROUTE, 0, attrs(append([]byte{unix.AF_INET, 24, 0, 0, unix.RT_TABLE_MAIN, 0, unix.RT_SCOPE_NOWHERE, 0}, 0, 0, 0, 0), unix.RTA_DST, ip("192.0.2.0"))},
		{"find route", unix.RTM_GETROUTE, 0, attrs(route(unix.AF_INET, 32), unix.RTA_DST, ip("192.0.2.7"))},
		{"neighbor", unix.RTM_NEWNEIGH, create, attrs(near(), unix.NDA_DST, ip("10.1.2.8"), unix.NDA_LLADDR, []byte{2, 0, 0, 0, 0, 8})},
		{"delete neighbor", unix.RTM_DELNEIGH, 0, attrs(near(), unix.NDA_DST, ip("10.1.2.9"))},
		{"queue", uint16(uapi.RouteNewqdisc), create, tcBody(lo, bpfsys.TCClsactMajor, clsact, 0, "clsact", nil)},
		{"delete queue", uint16(uapi.RouteDelqdisc), 0, tcBody(2, 0, clsact, 0, "clsact", nil)},
		{"filter", uint16(uapi.RouteNewtfilter), create, tcBody(2, 0, ingress, 1<<16|0x300, "bpf", attrs(nil, tcaBPFFD, u32(900), tcaBPFName, []byte("f\x00"), tcaBPFFlags, u32(tcBPFDirect)))},
		{"delete filter", uint16(uapi.RouteDeltfilter), 0, tcBody(2, 1, ingress, 1<<16|0x300, "bpf", nil)},
		{"get filter", uint16(uapi.RouteGettfilter), 0, tcBody(2, 1, ingress, 1<<16|0x300, "bpf", nil)},
		{"get link", unix.RTM_GETLINK, 0, link(2, 0, 0)},
	}
}

// changes calls f with each change of a request, and says what is changed.
func (r *request) changes(f func(what string, typ, flags uint16, body []byte)) {
	f("as it is", r.typ, r.flags, r.body)
	for n := 0; n < len(r.body); n += 4 {
		f(fmt.Sprint("only ", n, " bytes"), r.typ, r.flags, r.body[:n])
	}
	for _, flags := range []uint16{0, unix.NLM_F_CREATE, unix.NLM_F_EXCL, unix.NLM_F_REPLACE, unix.NLM_F_CREATE | unix.NLM_F_REPLACE, unix.NLM_F_CREATE | unix.NLM_F_APPEND, unix.NLM_F_CREATE | unix.NLM_F_EXCL | unix.NLM_F_REPLACE} {
		if r.typ&3 != 2 { // not of queries, to which some of these mean a list
			f(fmt.Sprintf("flags %#x", flags), r.typ, flags, r.body)
		}
	}
	for at := 0; at < len(r.body); at += 4 {
		old := le.Uint32(r.body[at:])
		for i, v := range [...]uint32{0, old + 1, old - 1, old + 4, old ^ 0x10000, old ^ 0x80, old + 1<<24, old | 1<<31} {
			if v != old && (i != 7 || v != old-1) {
				b := append([]byte(nil), r.body...)
				le.PutUint32(b[at:], v)
				f(fmt.Sprintf("word %d is %#x", at, v), r.typ, r.flags, b)
			}
		}
	}
}

// netlinkWords sends each of the requests with each of its changes, to a network namespace that is
// a new one after each message that was carried out.
func netlinkWords() error {
	runtime.LockOSThread()
	var c *conversation
	fresh := func() error {
		if c != nil {
			unix.Close(c.fd)
		}
		if err := unix.Unshare(unix.CLONE_NEWNET); err != nil {
			return err
		}
		var err error
		if c, err = converse(); err != nil {
			return err
		}
		by := map[string]request{}
		for _, r := range netlinkRequests() {
			by[r.name] = r
		}
		word := func(b ...byte) uint32 { return le.Uint32(b) }
		for _, step := range []struct {
			name string
			at   map[int]uint32 // words that differ from the request
		}{
			{"pair", map[int]uint32{4: 2, 20: word('d', '2', 0, 0), 68: 3, 84: word('d', '3', 0, 0)}}, {"up", nil}, {"up", map[int]uint32{4: 3}}, {"up", map[int]uint32{4: 1}},
			{"address", map[int]uint32{12: word(10, 1, 2, 3), 20: word(10, 1, 2, 3)}}, {"route", map[int]uint32{16: word(192, 0, 2, 0)}}, {"neighbor", map[int]uint32{16: word(10, 1, 2, 9)}}, {"queue", map[int]uint32{4: 2}},
		} {
			r := by[step.name]
			for at, v := range step.at {
				le.PutUint32(r.body[at:], v)
			}
			if _, e, err := c.ask(r.typ, r.flags, r.body); e != 0 || err != nil {
				return fmt.Errorf("%s: %v %v", step.name, e, err)
			}
		}
		return nil
	}
	if err := fresh(); err != nil {
		return err
	}
	for _, r := range netlinkRequests() {
		var failed error
		r.changes(func(what string, typ, flags uint16, body []byte) {
			if failed != nil {
				return
			}
			_, e, err := c.ask(typ, flags, body)
			switch {
			case err != nil:
				fmt.Printf("%s, %s: %v\n", r.name, what, err)
				failed = fresh()
			case e != 0:
				fmt.Printf("%s, %s: %s\n", r.name, what, unix.ErrnoName(e))
			default:
				fmt.Printf("%s, %s: ok\n", r.name, what)
				if typ&3 != 2 {
					failed = fresh()
				}
			}
		})
		if failed != nil {
			return failed
		}
	}
	return nil
}

const recordedWords = "testdata/netlinkwords-6.18.44.txt.gz"

// notAsRecorded says which answers differ from the recording's, and why.
var notAsRecorded = []struct{ lines, why string }{
	{"^delete.*, flags 0x[27]00$", "several at once (NLM_F_BULK) are refused from Linux 5.19 on, here never"},
	{"^pair, word (16|80) is 0x20007$", "broadcast addresses of devices are not looked at"},
	{"^name, word .* is 0x8", "which attributes those that are read strictly may have"},
	{"^delete route, word 4 ", "types of routes"},
	{"^route, word 28 is 0x70008$", "addresses that routes come from need not be local ones"},
	{"^find route, (only|word 1[26] )", "the route to no address"},
	{"^neighbor, word 20 ", "which of several mistakes is reported first"},
}

// TestChangedNetlinkMessagesAreAnsweredAsByTheKernel sends messages about devices, addresses,
// routes, neighbors and queueing disciplines with each word changed, and compares with the answers
// of a kernel. What is refused because it is not simulated is not compared.
func TestChangedNetlinkMessagesAreAnsweredAsByTheKernel(t *testing.T) {
	if *recording.Flag {
		self, err := os.Executable()
		require.NoError(t, err)
		out, err := osexec.Command(self, "tool", "netlink words").Output()
		require.NoError(t, err, "%s", out)
		recording.Write(t, recordedWords, string(out))
	}
	want := map[string]string{}
	for line := range strings.Lines(recording.Read(t, recordedWords)) {
		about, answer, _ := strings.Cut(strings.TrimSuffix(line, "\n"), ": ")
		want[about] = answer
	}
	r := start(t, "netlink words", "", func(c *Config) { c.Root = true })
	require.Zero(t, r.code, "%s", r.notes)
	compared := 0
	for line := range strings.Lines(r.out) {
		about, answer, _ := strings.Cut(strings.TrimSuffix(line, "\n"), ": ")
		known := (answer == "ENOTSUP" || answer == "EPERM") && want[about] != answer // a note says so
		for _, n := range notAsRecorded {
			known = known || regexp.MustCompile(n.lines).MatchString(about)
		}
		if !known {
			compared++
			assert.Equal(t, want[about], answer, about)
		}
	}
	t.Log(compared, "of", len(want))
}
